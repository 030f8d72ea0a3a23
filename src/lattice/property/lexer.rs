//! The words of a property's text.

use super::Span;

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    /// The digits, which may not fit any type.
    Number(String),
    /// One of [`SYMBOLS`] or [`WORDS`].
    Fixed(&'static str),
    End,
}

/// Longer symbols come before their prefixes.
const SYMBOLS: [&str; 18] = [
    "->", "||", "&&", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "!", "(", ")", "[", ",", "]",
];

/// Names that are operators everywhere. `start` and `end` are not among them: they are operators
/// before a parenthesis.
const WORDS: [&str; 7] = [
    "previously",
    "once",
    "historically",
    "always",
    "since",
    "true",
    "false",
];

fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// How many bytes of `text`, which begins with a letter, are one name.
fn name_length(text: &str) -> usize {
    let mut length = 0;
    let mut rest = text;
    loop {
        let part = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        length += part;
        rest = &text[length..];
        let joint = if rest.starts_with("::") {
            2
        } else {
            usize::from(rest.starts_with('.'))
        };
        // A joint belongs to the name only where the name goes on.
        if joint == 0 || !rest[joint..].starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return length;
        }
        length += joint;
        rest = &text[length..];
    }
}

/// Whether the name needs no quotes.
pub(super) fn is_plain_name(name: &str) -> bool {
    name.starts_with(starts_name)
        && name_length(name) == name.len()
        && !WORDS.contains(&name)
        && !["start", "end"].contains(&name)
}

/// What is wrong, and where.
type Failure = (String, Span);

/// The words and their places; the last is [`Token::End`].
pub(super) fn tokens(source: &str) -> Result<Vec<(Token, Span)>, Failure> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = token(source, at, first)?;
        let (start, end) = (at, at + length);
        tokens.push((token, Span { start, end }));
        at = end;
    }
    let end = source.trim_end().len();
    tokens.push((Token::End, Span { start: end, end }));
    Ok(tokens)
}

/// The word that begins here, and how many bytes it has.
fn token(source: &str, start: usize, first: char) -> Result<(Token, usize), Failure> {
    let rest = &source[start..];
    if starts_name(first) {
        let length = name_length(rest);
        let name = &rest[..length];
        let word = WORDS.iter().find(|word| **word == name);
        let token = word.map_or_else(|| Token::Name(name.to_string()), |word| Token::Fixed(word));
        return Ok((token, length));
    }
    if first.is_ascii_digit() {
        return number(rest, start);
    }
    if first == '\'' {
        let Some(length) = rest[1..].find('\'') else {
            let end = source.len();
            let text = "expected `'` at the end of the name, found the end of the property";
            return Err((text.into(), Span { start, end }));
        };
        return Ok((Token::Name(rest[1..=length].to_string()), length + 2));
    }
    if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        return Ok((Token::Fixed(symbol), symbol.len()));
    }
    let hint = match first {
        '=' => "; equality is `==`",
        '&' => "; \"and\" is `&&`",
        '|' => "; \"or\" is `||`",
        '/' | '%' => "; there is no division",
        _ => "",
    };
    let end = start + first.len_utf8();
    let text = format!("expected an operator, a name or a number, found `{first}`{hint}");
    Err((text, Span { start, end }))
}

fn number(rest: &str, at: usize) -> Result<(Token, usize), Failure> {
    let digits = rest.find(|c: char| !c.is_ascii_digit());
    let length = digits.unwrap_or(rest.len());
    if let Some(c) = rest[length..].chars().next().filter(|c| starts_name(*c)) {
        let start = at + length;
        let end = start + c.len_utf8();
        let text = format!("expected an operator after the number, found `{c}`");
        return Err((text, Span { start, end }));
    }
    Ok((Token::Number(rest[..length].to_string()), length))
}
