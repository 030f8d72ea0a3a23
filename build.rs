//! Says what the compiler has: `#[cfg(since = "1.86")]` is what needs std of Rust 1.86.

use std::env;
use std::process::Command;

/// The minor versions that something of ours waits for.
const VERSIONS: [u32; 7] = [86, 87, 88, 89, 91, 92, 95];

fn main() {
    println!("cargo::rerun-if-env-changed=RUSTC");
    let minor = minor_version().expect("`rustc --version` says `rustc 1.`, and the minor version");
    for version in VERSIONS {
        println!("cargo::rustc-check-cfg=cfg(since, values(\"1.{version}\"))");
        if version <= minor {
            println!("cargo::rustc-cfg=since=\"1.{version}\"");
        }
    }
}

fn minor_version() -> Option<u32> {
    let rustc = env::var_os("RUSTC")?;
    let output = Command::new(rustc).arg("--version").output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    let rest = version.strip_prefix("rustc 1.")?;
    rest.split('.').next()?.parse().ok()
}
