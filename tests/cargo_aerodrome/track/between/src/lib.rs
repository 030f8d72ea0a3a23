//! Not tracked, and depends on what may be.

pub fn double(pool: &pool::Pool) -> u32 {
    2 * *pool.taken().lock().unwrap()
}
