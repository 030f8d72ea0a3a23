//! `aerodrome.toml`: which functions are meant to be atomic.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::Failure;
use super::arguments::Options;
use super::marks::{Marks, Pattern};

const FILE: &str = "aerodrome.toml";
const KEYS: [&str; 2] = ["atomic", "not-atomic"];

/// The marks of the file beside the workspace's manifest and of the command line.
pub(super) fn marks(root: &Path, options: &Options) -> Result<Marks, Failure> {
    let path = root.join(FILE);
    let mut marks = match fs::read_to_string(&path) {
        Ok(text) => {
            read(&text).map_err(|message| Failure::new(format!("{}: {message}", path.display())))?
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Marks::default(),
        Err(error) => return Err(Failure::file(&path, &error)),
    };
    let parse = |patterns: &[String], option: &str| {
        let parse = |text: &String| Pattern::parse(text);
        let parsed: Result<Vec<_>, _> = patterns.iter().map(parse).collect();
        parsed.map_err(|message| Failure::new(format!("{option}: {message}")))
    };
    marks.atomic.extend(parse(&options.atomic, "--atomic")?);
    marks
        .not_atomic
        .extend(parse(&options.not_atomic, "--not-atomic")?);
    Ok(marks)
}

fn read(text: &str) -> Result<Marks, String> {
    let document: toml_edit::DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    let mut marks = Marks::default();
    for (key, item) in document.iter() {
        let patterns = match key {
            "atomic" => &mut marks.atomic,
            "not-atomic" => &mut marks.not_atomic,
            _ => return Err(format!("expected one of {KEYS:?}, found `{key}`")),
        };
        let array = item.as_array().ok_or_else(|| {
            format!(
                "{key}: expected a list of patterns, found a {}",
                item.type_name()
            )
        })?;
        for value in array {
            let text = value.as_str().ok_or_else(|| {
                format!(
                    "{key}: expected a pattern in quotes, found {}",
                    value.type_name()
                )
            })?;
            let pattern = Pattern::parse(text).map_err(|message| format!("{key}: {message}"))?;
            patterns.push(pattern);
        }
    }
    Ok(marks)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn patterns_are_read() {
        let marks =
            read("atomic = [\"bank::Account::*\", \"get\"]\nnot-atomic = [\"new\"]").unwrap();
        assert_eq!((marks.atomic.len(), marks.not_atomic.len()), (2, 1));
    }

    #[test]
    fn errors_say_what_was_expected() {
        let error = |text| read(text).err().unwrap();
        assert!(error("atomc = []").contains("found `atomc`"));
        assert!(error("atomic = 7").contains("expected a list of patterns, found a integer"));
        assert!(error("atomic = [7]").contains("expected a pattern in quotes"));
        assert!(error("atomic = [\"a::b::\"]").contains("`a::b::`"));
        assert!(error("atomic = [").contains("line 1"));
    }
}
