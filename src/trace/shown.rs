//! Names and messages as they are shown.
//!
//! Names come from programs and files. A control character in one would be a terminal's command,
//! and a line break would make a line that nobody has written.

use std::borrow::Cow;

use annotate_snippets::normalize_untrusted_str;

/// A name without control characters and line breaks.
pub(crate) fn clean(name: &str) -> String {
    if name.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return name.to_owned();
    }
    // The other function knows those of ASCII alone, and leaves the line break.
    let name = visible(name).replace(['\n', '\u{2028}', '\u{2029}'], "\u{240a}");
    normalize_untrusted_str(&name)
}

/// A message of several lines, each of them clean.
#[cfg(any(test, feature = "check", feature = "cli"))]
pub(crate) fn clean_lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(clean).collect();
    lines.join("\n")
}

/// The text without the control characters beyond ASCII (C1), each of which is one other character.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let is_c1 = |c: char| matches!(c, '\u{80}'..='\u{9f}');
    if text.contains(is_c1) {
        Cow::Owned(text.replace(is_c1, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_has_no_control_characters() {
        let controls: String = (0..0x110000)
            .filter_map(char::from_u32)
            .filter(|c| c.is_control())
            .collect();
        assert_eq!(controls.chars().count(), 65);
        let shown = clean(&controls);
        assert!(!shown.contains(char::is_control), "{shown:?}");
        let shown = clean_lines(&controls);
        assert_eq!(
            shown.chars().filter(|c| c.is_control()).collect::<String>(),
            "\n"
        );
    }

    #[test]
    fn everything_else_is_shown_as_it_is() {
        for name in ["", "Cache::get", "größe", "線程 1"] {
            assert_eq!(clean(name), name);
        }
        assert_eq!(
            clean("a\u{9b}1m\u{1b}b\nc"),
            "a\u{fffd}1m\u{241b}b\u{240a}c"
        );
        assert_eq!(clean_lines("a\u{9b}\nb"), "a\u{fffd}\nb");
    }
}
