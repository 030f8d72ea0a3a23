//! Makes modules of the kernels: the imports swapped for aerodrome's, the marks turned into
//! attributes.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let programs = Path::new("programs");
    println!("cargo::rerun-if-changed=programs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for (family, swap) in [
        ("with_std", std_locks as fn(&str) -> String),
        ("with_parking_lot", parking_lot),
    ] {
        let mut modules = String::new();
        let mut table = String::new();
        for kernel in sorted(programs)? {
            let name = file_stem(&kernel);
            modules += &format!("pub mod {name} {{\n");
            for variant in sorted(&kernel)? {
                if variant
                    .extension()
                    .is_none_or(|extension| extension != "rs")
                {
                    continue;
                }
                let stem = file_stem(&variant);
                let source = swap(&fs::read_to_string(&variant)?);
                let place = out.join(format!("{family}_{name}_{stem}.rs"));
                fs::write(&place, source)?;
                modules += &format!("    #[path = {place:?}]\n    pub mod {stem};\n");
                table += &format!("    ({name:?}, {stem:?}, {name}::{stem}::run),\n");
            }
            modules += "}\n";
        }
        let all = "/// Every kernel: its folder, its variant, and what runs it.\npub const ALL: &[(&str, &str, fn())]";
        fs::write(
            out.join(format!("{family}.rs")),
            format!("{modules}{all} = &[\n{table}];\n"),
        )?;
    }
    Ok(())
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| {
        path.is_dir() || path.extension().is_some_and(|extension| extension == "rs")
    });
    paths.sort();
    Ok(paths)
}

fn file_stem(path: &Path) -> String {
    path.file_stem()
        .expect("a name")
        .to_string_lossy()
        .into_owned()
}

/// What a user does: swaps imports, and marks what is atomic.
fn std_locks(source: &str) -> String {
    source
        .lines()
        .map(|line| match line.trim_start() {
            inner if inner.starts_with("//!") => inner.replace("//!", "//"),
            "// ATOMIC" => "#[aerodrome::atomic]".to_owned(),
            // The block follows on the same or the next line.
            "// ATOMIC_BLOCK" => "aerodrome::atomic_block!".to_owned(),
            inner if inner.starts_with("use std::") => line
                .replace("use std::sync", "use aerodrome::sync")
                .replace("use std::thread", "use aerodrome::thread"),
            _ => line.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// The same with parking_lot's locks, which are not poisoned.
fn parking_lot(source: &str) -> String {
    const LOCKS: [&str; 8] = [
        "Mutex",
        "RwLock",
        "Condvar",
        "MutexGuard",
        "RwLockReadGuard",
        "RwLockWriteGuard",
        "Once",
        "WaitTimeoutResult",
    ];
    let mut in_schedule = false;
    std_locks(source)
        .lines()
        .map(|line| {
            in_schedule = (in_schedule || line.contains("--- schedule control"))
                && !line.contains("--- end of schedule");
            if in_schedule {
                return line.to_owned();
            }
            if let Some(list) = line.strip_prefix("use aerodrome::sync::") {
                let list = list.trim_end_matches(';').trim_matches(['{', '}']);
                if !list.contains("::") {
                    let (locks, rest): (Vec<_>, Vec<_>) =
                        list.split(", ").partition(|name| LOCKS.contains(name));
                    let import = |path, names: Vec<&str>| match names.is_empty() {
                        true => String::new(),
                        false => format!("use aerodrome::{path}::{{{}}};", names.join(", ")),
                    };
                    return import("parking_lot", locks) + &import("sync", rest);
                }
            }
            let line = swap_wait(line).unwrap_or_else(|| line.to_owned());
            [".lock()", ".read()", ".write()"]
                .into_iter()
                .fold(line, |line, call| {
                    line.replace(&format!("{call}.unwrap()"), call)
                })
        })
        .chain(["#[allow(dead_code)]
fn wait<'a, T>(
    condvar: &aerodrome::parking_lot::Condvar,
    mut guard: aerodrome::parking_lot::MutexGuard<'a, T>,
) -> aerodrome::parking_lot::MutexGuard<'a, T> {
    condvar.wait(&mut guard);
    guard
}"
        .to_owned()])
        .collect::<Vec<_>>()
        .join("\n")
}

/// `guard = condvar.wait(guard).unwrap();` with a condition variable that takes its guard by
/// reference.
fn swap_wait(line: &str) -> Option<String> {
    let (before, after) = line.split_once(".wait(")?;
    let (target, condvar) = before.split_once(" = ")?;
    let guard = after.strip_suffix(").unwrap();")?;
    Some(format!("{target} = wait(&{condvar}, {guard});"))
}
