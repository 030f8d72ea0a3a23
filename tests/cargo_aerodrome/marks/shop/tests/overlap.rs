use shop::{cache::Cache, stock::Stock};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

/// Runs `second` while `first` is between its two steps; sockets, because they are not tracked.
fn overlap(first: impl FnOnce(&mut dyn FnMut()) + Send, second: impl FnOnce() + Send) {
    let (mut one, mut two) = UnixStream::pair().unwrap();
    thread::scope(|s| {
        s.spawn(move || {
            first(&mut || {
                one.write_all(&[1]).unwrap();
                one.read_exact(&mut [0]).unwrap();
            })
        });
        s.spawn(move || {
            two.read_exact(&mut [0]).unwrap();
            second();
            two.write_all(&[1]).unwrap();
        });
    });
}

#[test]
fn two_customers_ask_for_the_price() {
    assert_eq!(shop::LOT.park(), 1);
    let cache = &Cache::default();
    let first = |between: &mut dyn FnMut()| {
        cache.price(|| {
            between();
            7
        });
    };
    overlap(first, || drop(cache.price(|| 8)));
}

#[test]
fn two_pieces_arrive() {
    let stock = &Stock::default();
    overlap(|between| stock.add(between), || stock.add(|| ()));
}
