use app::Pool;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

#[test]
fn two_tasks_take_a_connection() {
    assert_eq!(app::flags(), [0; 2]);
    let pool = &Pool::default();
    // Sockets arrange the schedule, because they are not tracked.
    let (mut one, mut two) = UnixStream::pair().unwrap();
    thread::scope(|s| {
        s.spawn(move || {
            pool.take(|| {
                one.write_all(&[1]).unwrap();
                one.read_exact(&mut [0]).unwrap();
            })
        });
        s.spawn(move || {
            two.read_exact(&mut [0]).unwrap();
            pool.take(|| ());
            two.write_all(&[1]).unwrap();
        });
    });
    assert_eq!(app::double(pool), 2);
}

#[test]
fn a_generator_is_seeded() {
    fastrand::seed(7);
    assert_eq!(fastrand::get_seed(), 7);
}
