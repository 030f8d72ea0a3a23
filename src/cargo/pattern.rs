//! Patterns: which functions are meant, by the end of their paths.

/// The end of a function's path; `*` stands for any part of one name.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    segments: Vec<String>,
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Pattern, String> {
        let segments: Vec<String> = text.split("::").map(str::to_owned).collect();
        let is_name = |segment: &String| {
            let allowed = |symbol: char| symbol.is_alphanumeric() || "_*".contains(symbol);
            !segment.is_empty() && segment.chars().all(allowed)
        };
        if !segments.iter().all(is_name) {
            let expected = "expected a path such as `bank::Account::*`";
            return Err(format!("{expected}, found `{text}`"));
        }
        Ok(Pattern {
            text: text.to_owned(),
            segments,
        })
    }

    pub(super) fn matches(&self, path: &[String]) -> bool {
        let Some(start) = path.len().checked_sub(self.segments.len()) else {
            return false;
        };
        let mut pairs = self.segments.iter().zip(&path[start..]);
        pairs.all(|(pattern, name)| wildcard(pattern, name))
    }

    /// Whether a function of this name may be meant, whatever the rest of its path.
    pub(super) fn may_match(&self, name: &str) -> bool {
        self.segments.last().is_some_and(|it| wildcard(it, name))
    }
}

/// Whether a name is what a pattern with `*` says: begins with the part before the first star,
/// ends with the part behind the last, and has the others between them in this order. Each is taken
/// where it comes first, which leaves the most for those behind it.
fn wildcard(pattern: &str, name: &str) -> bool {
    let Some((first, others)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let (others, last) = others.rsplit_once('*').unwrap_or(("", others));
    let rest = name.strip_prefix(first);
    let Some(mut rest) = rest.and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    others.split('*').all(|part| match rest.split_once(part) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::{Pattern, wildcard};

    #[test]
    fn patterns_are_ends_of_paths() {
        let path = ["bank", "inner", "Account", "get_all"].map(str::to_owned);
        for (pattern, matches) in [
            ("get_all", true),
            ("Account::get_*", true),
            ("inner::*::get_all", true),
            ("*::*::*::*", true),
            ("*_a*l", true),
            ("bank::get_all", false),
            ("get", false),
            ("a::bank::inner::Account::get_all", false),
        ] {
            let found = Pattern::parse(pattern).unwrap().matches(&path);
            assert_eq!(found, matches, "{pattern}");
        }
        assert!(Pattern::parse("a::").is_err() && Pattern::parse("a b").is_err());
    }

    /// By the definition: a star is some number of any characters.
    fn by_definition(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern, name) {
            ([b'*', after @ ..], _) => {
                by_definition(after, name)
                    || name
                        .split_first()
                        .is_some_and(|(_, rest)| by_definition(pattern, rest))
            }
            ([first, after @ ..], [found, rest @ ..]) => {
                first == found && by_definition(after, rest)
            }
            (pattern, name) => pattern.is_empty() && name.is_empty(),
        }
    }

    /// All words of up to `length` letters.
    fn words(letters: &str, length: usize) -> Vec<String> {
        let mut words = vec![String::new()];
        for at in 0.. {
            match words.get(at) {
                Some(word) if word.len() < length => {
                    let longer: Vec<_> = letters.chars().map(|it| format!("{word}{it}")).collect();
                    words.extend(longer);
                }
                _ => break,
            }
        }
        words
    }

    #[test]
    fn stars_stand_for_any_part_of_a_name() {
        let names = words("ab", 5);
        for pattern in words("ab*", 5) {
            for name in &names {
                let expected = by_definition(pattern.as_bytes(), name.as_bytes());
                assert_eq!(wildcard(&pattern, name), expected, "{pattern} {name}");
            }
        }
        assert!(wildcard("ä*ö", "äßö") && !wildcard("ä*ö", "äß"));
    }

    #[test]
    fn many_stars_take_no_longer_than_the_name_is_long() {
        let pattern = "*a".repeat(1_000) + "b";
        assert!(!wildcard(&pattern, &"a".repeat(10_000)));
        assert!(wildcard(&pattern, &("a".repeat(10_000) + "b")));
    }
}
