use std::sync::Mutex;

fn main() {
    let year = Mutex::new(2026);
    println!("cargo::rustc-env=YEAR={}", year.into_inner().unwrap());
}
