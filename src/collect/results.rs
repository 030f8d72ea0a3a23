//! Whether the program goes by the result of an addition: known from the source at the call.
//!
//! `count.fetch_sub(1, ..);` as a statement drops the result; anywhere else something may be
//! decided on it. A place is looked up when an addition there first reaches zero. What is called
//! there may be a function of the program's own, whose place stands for all calls inside
//! (`#[track_caller]`): nothing is known of these.

use rustc_hash::FxHashMap;

use crate::report::source::Workspace;
use crate::trace::{Names, SiteId, SiteInfo};

/// What is known of the places at which additions have reached zero.
#[derive(Debug, Default)]
pub(super) struct Results {
    used: FxHashMap<SiteId, bool>,
    workspace: Option<Workspace>,
    has_complained: bool,
}

impl Results {
    /// Whether the result is used at the place; not, where nothing is known of that, which the
    /// first time is to be said.
    #[inline]
    pub(super) fn are_used(&mut self, site: SiteId, names: &dyn Names) -> Result<bool, String> {
        match self.used.get(&site) {
            Some(&is_used) => Ok(is_used),
            None => self.look_up(site, names),
        }
    }

    #[cold]
    fn look_up(&mut self, site: SiteId, names: &dyn Names) -> Result<bool, String> {
        let Some(SiteInfo::Source { file, line, column }) = names.site(site) else {
            return Ok(*self.used.entry(site).or_insert(false));
        };
        let workspace = self.workspace.get_or_insert_with(Workspace::find);
        let text = workspace.text(&file);
        let is_used = text.and_then(|text| is_used(&text, line, column));
        self.used.insert(site, is_used.unwrap_or(false));
        if is_used.is_none() && !std::mem::replace(&mut self.has_complained, true) {
            return Err(format!(
                "no `fetch_add` or `fetch_sub` was found in the source at {file}:{line}:{column}: \
                 whether its result is used is not known, here and perhaps elsewhere, \
                 and it is taken to commute with others"
            ));
        }
        Ok(is_used.unwrap_or(false))
    }
}

/// Whether the result of the addition that is called at this place is used; nothing where there is
/// none.
fn is_used(text: &str, line: u32, column: u32) -> Option<bool> {
    let before: usize = text
        .split_inclusive('\n')
        .take(line as usize - 1)
        .map(str::len)
        .sum();
    let mut chars = text[before..].char_indices();
    let place = before + chars.nth(column as usize - 1)?.0;
    let tokens = tokens(text);
    let first = tokens.binary_search_by_key(&place, |token| token.at).ok()?;
    // `fetch_sub(..)`, or `AtomicUsize::fetch_sub(..)`.
    let path = tokens[first..].iter().take_while(|token| {
        let is_colon = token.text == ":";
        is_colon || token.is_word()
    });
    let open = first + path.count();
    let name = tokens.get(open.checked_sub(1)?)?.text;
    if !matches!(name, "fetch_add" | "fetch_sub") || tokens.get(open)?.text != "(" {
        return None;
    }
    Some(!is_statement(&tokens, first, closing(&tokens, open)?))
}

/// Whether an expression of these tokens, and what comes before it, is a statement of its own, or
/// is assigned to `_`.
fn is_statement(tokens: &[Token<'_>], first: usize, last: usize) -> bool {
    match tokens.get(last + 1).map(|token| token.text) {
        Some(";") => is_dropped(tokens, first),
        // The value of an unsafe block is what that is.
        Some("}") => opening(tokens, last + 1)
            .and_then(|open| open.checked_sub(1))
            .is_some_and(|at| tokens[at].text == "unsafe" && is_statement(tokens, at, last + 1)),
        _ => false,
    }
}

/// Whether nothing between the statement's beginning and this token takes the value.
fn is_dropped(tokens: &[Token<'_>], first: usize) -> bool {
    let mut at = first;
    while let Some(before) = at.checked_sub(1) {
        match tokens[before].text {
            ";" | "{" | "}" => return true,
            "=" => {
                let target = tokens[..before].iter().rev().take(2);
                let target: Vec<&str> = target.map(|token| token.text).collect();
                return matches!(target[..], ["_", "let" | ";" | "{" | "}"]);
            }
            "(" | "[" | "," | "|" => return false,
            "return" | "break" | "if" | "while" | "match" | "in" => return false,
            ")" | "]" => match opening(tokens, before) {
                Some(open) => at = open,
                None => return false,
            },
            _ => at = before,
        }
    }
    true
}

/// The closing bracket of an opening one.
fn closing(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    balance(tokens[open..].iter().map(|token| token.text)).map(|steps| open + steps)
}

/// The opening bracket of a closing one.
fn opening(tokens: &[Token<'_>], close: usize) -> Option<usize> {
    balance(tokens[..=close].iter().rev().map(|token| token.text)).map(|steps| close - steps)
}

/// After how many tokens the bracket that comes first is closed.
fn balance<'a>(mut tokens: impl Iterator<Item = &'a str>) -> Option<usize> {
    let mut depth = 0_i64;
    tokens.position(|text| {
        match text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// A word, a literal, or a character of punctuation.
#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    at: usize,
    text: &'a str,
}

impl Token<'_> {
    fn is_word(&self) -> bool {
        self.text.starts_with(is_of_word)
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The tokens of a source text, without comments.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => comment(rest),
            '"' => quoted(rest, '"'),
            '\'' => character(rest),
            'r' | 'b' | 'c' if raw(rest).is_some() => raw(rest).unwrap_or(rest.len()),
            c if is_of_word(c) => rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let token = &rest[..length];
        if !c.is_whitespace() && !token.starts_with("//") && !token.starts_with("/*") {
            tokens.push(Token { at, text: token });
        }
        at += length;
    }
    tokens
}

/// The length of a comment, in which others may be nested.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let step = match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (1, 2),
            [b'*', b'/', ..] => (-1, 2),
            _ => (0, 1),
        };
        (depth, at) = (depth + step.0, at + step.1);
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of what stands between two quotes, with them.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let mut chars = text.char_indices().skip(1);
    let end = chars.find(|&(_, c)| {
        let is_end = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// The length of a character, or of the quote that begins a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) | (_, Some('\'')) => quoted(text, '\''),
        _ => 1,
    }
}

/// The length of a raw string, if there is one.
fn raw(text: &str) -> Option<usize> {
    let start = text.find('r')?;
    let (prefix, rest) = (&text[..start], &text[start + 1..]);
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let content = rest[hashes..].strip_prefix('"')?;
    if !matches!(prefix, "" | "b" | "c") {
        return None;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let length = content
        .find(&end)
        .map_or(content.len(), |at| at + end.len());
    Some(text.len() - content.len() + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of the only `^` of a body, which marks a place and is not part of the source.
    #[track_caller]
    fn used(body: &str) -> Option<bool> {
        let marked = format!("fn f(&self) -> usize {{\n    {body}\n}}\n");
        let at = marked.find('^').expect("a place");
        let text = marked.replace('^', "");
        let line = marked[..at].matches('\n').count() as u32 + 1;
        let start = marked[..at].rfind('\n').map_or(0, |at| at + 1);
        let column = marked[start..at].chars().count() as u32 + 1;
        is_used(&text, line, column)
    }

    #[test]
    fn a_statement_of_its_own_drops_the_result() {
        for body in [
            "self.count.^fetch_sub(1, SeqCst);",
            "let a = 1; self\n.state(1, |x| x == 2)[3]\n.count\n.^fetch_sub(1, SeqCst) ;",
            "if a == b { work() } self.count.^fetch_sub(1, SeqCst);",
            "let _ = self.count.^fetch_add(f(\")\"), SeqCst);",
            "work(); _ = self.count.^fetch_add(')' as _, SeqCst);",
            "AtomicUsize::new(0); std::sync::AtomicUsize::^fetch_add(&x, 1, SeqCst);",
            "unsafe { (*p).count.^fetch_sub(1, SeqCst) };",
            "x(); ^AtomicUsize::fetch_sub(&self.count, 1, SeqCst); // == 1",
            "x(); count.^fetch_sub(1, SeqCst) /* == /* */ 1 */ ;",
            "let s = r#\"\"; (\"#; let c = '{'; let d: &'a T = e; count.^fetch_sub(1, SeqCst);",
            "let s = \"\u{e9}\\\"{\"; /* \u{e9} */ count.^fetch_sub(1, SeqCst);",
        ] {
            let is_path = body.contains("::^");
            assert_eq!(used(body), Some(false), "{body} {is_path}");
        }
    }

    #[test]
    fn anywhere_else_the_result_may_be_used() {
        for body in [
            "if self.count.^fetch_sub(1, SeqCst) == 1 { free() }",
            "let before = self.count.^fetch_sub(1, SeqCst);",
            "before = self.count.^fetch_sub(1, SeqCst);",
            "return self.count.^fetch_sub(1, SeqCst);",
            "self.count.^fetch_sub(1, SeqCst)",
            "unsafe { (*p).count.^fetch_sub(1, SeqCst) }",
            "self.count.^fetch_sub(1, SeqCst).min(3);",
            "note(self.count.^fetch_sub(1, SeqCst));",
            "note([0, self.count.^fetch_sub(1, SeqCst)]);",
            "match self.count.^fetch_sub(1, SeqCst) { _ => {} }",
            "let f = || self.count.^fetch_sub(1, SeqCst);",
            "assert_eq!(1, self.count.^fetch_sub(1, SeqCst));",
            "let (a, _) = self.count.^fetch_sub(1, SeqCst);",
        ] {
            assert_eq!(used(body), Some(true), "{body}");
        }
    }

    #[test]
    fn of_other_calls_nothing_is_known() {
        for body in [
            "self.^leave();",
            "decrement^!(self.count);",
            "let x = \"^fetch_sub(1)\";",
            "self.count.^fetch_sub;",
        ] {
            assert_eq!(used(body), None, "{body}");
        }
        assert_eq!(is_used("", 7, 1), None);
        assert_eq!(is_used("x", 1, 9), None);
    }
}
