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

/// The words and their places; the last is [`Token::End`].
pub(super) fn tokens(source: &str) -> Result<Vec<(Token, Span)>, (String, Span)> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = if starts_name(first) {
            let length = name_length(rest);
            let name = &rest[..length];
            match WORDS.iter().find(|word| **word == name) {
                Some(word) => (Token::Fixed(word), length),
                None => (Token::Name(name.to_string()), length),
            }
        } else if first.is_ascii_digit() {
            let length = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            if let Some(c) = rest[length..].chars().next().filter(|c| starts_name(*c)) {
                let place = Span {
                    start: at + length,
                    end: at + length + c.len_utf8(),
                };
                return Err((
                    format!("expected an operator after the number, found `{c}`"),
                    place,
                ));
            }
            (Token::Number(rest[..length].to_string()), length)
        } else if first == '\'' {
            let Some(length) = rest[1..].find('\'') else {
                let place = Span {
                    start: at,
                    end: source.len(),
                };
                return Err((
                    "expected `'` at the end of the name, found the end of the property".into(),
                    place,
                ));
            };
            (Token::Name(rest[1..=length].to_string()), length + 2)
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            (Token::Fixed(symbol), symbol.len())
        } else {
            let hint = match first {
                '=' => "; equality is `==`",
                '&' => "; \"and\" is `&&`",
                '|' => "; \"or\" is `||`",
                '/' | '%' => "; there is no division",
                _ => "",
            };
            let place = Span {
                start: at,
                end: at + first.len_utf8(),
            };
            return Err((
                format!("expected an operator, a name or a number, found `{first}`{hint}"),
                place,
            ));
        };
        tokens.push((
            token,
            Span {
                start: at,
                end: at + length,
            },
        ));
        at += length;
    }
    let end = source.trim_end().len();
    tokens.push((Token::End, Span { start: end, end }));
    Ok(tokens)
}
