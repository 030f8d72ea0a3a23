//! `aerodrome.toml`: which functions are meant to be atomic, and what is not tracked.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::Failure;
use super::arguments::Options;
use super::marks::Marks;
use super::pattern::Pattern;

const FILE: &str = "aerodrome.toml";
const KEYS: [&str; 4] = ["atomic", "not-atomic", "untracked", "track"];

#[derive(Default)]
pub(super) struct Settings {
    pub(super) marks: Marks,
    /// Members of the workspace, by the names of their packages.
    pub(super) untracked: Vec<String>,
    /// Dependencies, likewise.
    pub(super) track: Vec<String>,
}

/// The settings of the file beside the workspace's manifest and of the command line.
pub(super) fn find(root: &Path, options: &Options) -> Result<Settings, Failure> {
    let path = root.join(FILE);
    let mut settings = match fs::read_to_string(&path) {
        Ok(text) => read(&text).map_err(Failure::at(&path))?,
        Err(error) if error.kind() == ErrorKind::NotFound => Settings::default(),
        Err(error) => return Err(Failure::at(&path)(error)),
    };
    let parse = |patterns: &[String], option: &str| {
        let parse = |text: &String| Pattern::parse(text);
        let parsed: Result<Vec<_>, _> = patterns.iter().map(parse).collect();
        parsed.map_err(|message| Failure::new(format!("{option}: {message}")))
    };
    let marks = &mut settings.marks;
    marks.atomic.extend(parse(&options.atomic, "--atomic")?);
    marks
        .not_atomic
        .extend(parse(&options.not_atomic, "--not-atomic")?);
    settings.untracked.extend(options.untracked.iter().cloned());
    settings.track.extend(options.track.iter().cloned());
    Ok(settings)
}

/// What a key of the file is a list of.
enum List<'a> {
    Patterns(&'a mut Vec<Pattern>),
    Packages(&'a mut Vec<String>),
}

fn read(text: &str) -> Result<Settings, String> {
    let document: toml_edit::DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    let mut settings = Settings::default();
    for (key, item) in document.iter() {
        let (what, list) = match key {
            "atomic" => ("pattern", List::Patterns(&mut settings.marks.atomic)),
            "not-atomic" => ("pattern", List::Patterns(&mut settings.marks.not_atomic)),
            "untracked" => ("package", List::Packages(&mut settings.untracked)),
            "track" => ("package", List::Packages(&mut settings.track)),
            _ => return Err(format!("expected one of {KEYS:?}, found `{key}`")),
        };
        let array = item.as_array().ok_or_else(|| {
            format!(
                "{key}: expected a list of {what}s, found a {}",
                item.type_name()
            )
        })?;
        let texts = array.iter().map(|value| {
            let text = value.as_str().map(str::to_owned);
            text.ok_or_else(|| {
                let found = value.type_name();
                format!("{key}: expected a {what} in quotes, found {found}")
            })
        });
        let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
        match list {
            List::Packages(packages) => packages.extend(texts),
            List::Patterns(patterns) => {
                for text in &texts {
                    let pattern = Pattern::parse(text);
                    patterns.push(pattern.map_err(|message| format!("{key}: {message}"))?);
                }
            }
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn patterns_and_packages_are_read() {
        let text = "atomic = [\"bank::Account::*\", \"get\"]\nnot-atomic = [\"new\"]\n\
                    untracked = [\"arena\"]\ntrack = [\"moka\", \"bb8\"]";
        let settings = read(text).unwrap();
        let marks = settings.marks;
        assert_eq!((marks.atomic.len(), marks.not_atomic.len()), (2, 1));
        assert_eq!(settings.untracked, ["arena"]);
        assert_eq!(settings.track, ["moka", "bb8"]);
    }

    #[test]
    fn errors_say_what_was_expected() {
        let error = |text| read(text).err().unwrap();
        assert!(error("atomc = []").contains("found `atomc`"));
        assert!(error("atomic = 7").contains("expected a list of patterns, found a integer"));
        assert!(error("atomic = [7]").contains("expected a pattern in quotes"));
        assert!(error("untracked = [7]").contains("expected a package in quotes"));
        assert!(error("atomic = [\"a::b::\"]").contains("`a::b::`"));
        assert!(error("atomic = [").contains("line 1"));
        for text in ["==1\n[.]\n", "[.]", "[[.]]\n=", "=", "a.=1", "\u{0}"] {
            assert!(error(text).contains("TOML parse error"), "{text:?}");
        }
    }
}
