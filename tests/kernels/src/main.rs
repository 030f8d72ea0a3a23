//! Runs one kernel: `kernel std|parking_lot KERNEL VARIANT`.

use std::process::ExitCode;

use aerodrome_kernels::{with_parking_lot, with_std};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let found = match &arguments[..] {
        [library, kernel, variant] => match library.as_str() {
            "std" => Some(with_std::ALL),
            "parking_lot" => Some(with_parking_lot::ALL),
            _ => None,
        }
        .and_then(|all| {
            let mut kernels = all.iter();
            kernels.find(|(name, of, _)| name == kernel && of == variant)
        }),
        _ => None,
    };
    match found {
        Some((_, _, run)) => {
            run();
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("expected `std|parking_lot KERNEL VARIANT`, found {arguments:?}");
            ExitCode::from(2)
        }
    }
}
