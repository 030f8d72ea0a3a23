//! Finds the parts of an item that the marks need: a function's qualifiers, name and body, an impl
//! block's members.
//!
//! Nothing else is understood, and nothing is rebuilt: types, patterns and expressions pass through
//! as they came. What comes out of a `macro_rules!` macro (`$vis`, `$body:block`, `$item`) is
//! wrapped in groups without delimiters: they are looked into here, and kept in what is given back,
//! because they also hold a type such as `$t` in `&$t` together.

use crate::attr::called;
use proc_macro::{Delimiter, Group, Ident, Span, TokenTree};

/// A function, with or without a body; indices point into the tokens it was read from.
pub(crate) struct Function {
    /// `const`, `async`, `unsafe` and the like, in front of `fn`.
    pub(crate) qualifiers: Vec<Ident>,
    pub(crate) name: Ident,
    /// The tokens between the name and the body: generics, parameters, return type, where clause.
    pub(crate) signature: std::ops::Range<usize>,
    pub(crate) body: Option<Group>,
    /// The index after the body, or after the semicolon.
    pub(crate) end: usize,
}

/// What an attribute can stand on, as far as the marks tell things apart.
pub(crate) enum Kind {
    Function(Function),
    /// The index of the braces of an impl block.
    Impl(usize),
    /// Something else: what it is called, and where.
    Other(&'static str, Span),
}

pub(crate) fn is_punct(token: &TokenTree, symbol: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == symbol)
}

/// The tokens without the groups that only mark what a `macro_rules!` macro has put in.
pub(crate) fn see_through(tokens: &[TokenTree]) -> Vec<TokenTree> {
    let mut flat = Vec::with_capacity(tokens.len());
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                flat.extend(see_through(&group.stream().into_iter().collect::<Vec<_>>()));
            }
            other => flat.push(other.clone()),
        }
    }
    flat
}

/// The braces that a token is, directly or as a macro's `$body:block`.
pub(crate) fn braces(token: &TokenTree) -> Option<Group> {
    let TokenTree::Group(group) = token else {
        return None;
    };
    match group.delimiter() {
        Delimiter::Brace => Some(group.clone()),
        Delimiter::None => match see_through(std::slice::from_ref(token)).as_slice() {
            [TokenTree::Group(inner)] if inner.delimiter() == Delimiter::Brace => {
                Some(inner.clone())
            }
            _ => None,
        },
        _ => None,
    }
}

/// How many tokens the attribute at the start has: `#[..]` or `#![..]`.
pub(crate) fn attribute(tokens: &[TokenTree]) -> Option<usize> {
    match tokens {
        [hash, bang, list, ..]
            if is_punct(hash, '#') && is_punct(bang, '!') && called(list).is_some() =>
        {
            Some(3)
        }
        [hash, list, ..] if is_punct(hash, '#') && called(list).is_some() => Some(2),
        _ => None,
    }
}

/// The index after the attributes and the visibility.
fn head(tokens: &[TokenTree]) -> usize {
    let mut at = 0;
    while let Some(length) = attribute(&tokens[at..]) {
        at += length;
    }
    match tokens.get(at) {
        Some(TokenTree::Ident(word)) if word.to_string() == "pub" => {
            let restricted = matches!(tokens.get(at + 1), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
            at + 1 + usize::from(restricted)
        }
        // A macro's `$vis`, which may be empty.
        Some(group @ TokenTree::Group(_)) => match see_through(std::slice::from_ref(group)).first()
        {
            None => at + 1,
            Some(TokenTree::Ident(word)) if word.to_string() == "pub" => at + 1,
            _ => at,
        },
        _ => at,
    }
}

/// Whether an item is `pub`, without a restriction.
pub(crate) fn is_public(tokens: &[TokenTree]) -> bool {
    let mut at = 0;
    while let Some(length) = attribute(&tokens[at..]) {
        at += length;
    }
    let visibility = see_through(&tokens[at..head(tokens)]);
    matches!(visibility.as_slice(), [TokenTree::Ident(word)] if word.to_string() == "pub")
}

/// Whether the header of an impl block has a trait in it: a `for` that is no `for<'a>`.
pub(crate) fn is_of_trait(header: &[TokenTree]) -> bool {
    let flat = see_through(header);
    let mut depth = 0_usize;
    flat.iter().enumerate().any(|(at, token)| {
        match token {
            token if is_punct(token, '<') => depth += 1,
            token if is_punct(token, '>') && !(at > 0 && is_punct(&flat[at - 1], '-')) => {
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        let is_for = matches!(token, TokenTree::Ident(word) if word.to_string() == "for");
        is_for && depth == 0 && !flat.get(at + 1).is_some_and(|next| is_punct(next, '<'))
    })
}

/// Whether a group is a macro's `$item`; a `$vis` looks alike, but has nothing behind the
/// visibility.
pub(crate) fn is_whole_item(group: &Group) -> bool {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    group.delimiter() == Delimiter::None && head(&tokens) < tokens.len()
}

/// Reads the item that starts the tokens.
pub(crate) fn read(tokens: &[TokenTree]) -> Kind {
    let mut at = head(tokens);
    let mut qualifiers = Vec::new();
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(word)) => match word.to_string().as_str() {
                "fn" => return function(tokens, at, qualifiers),
                "impl" => return impl_block(tokens, at, word.span()),
                "const" | "async" | "gen" | "unsafe" | "safe" | "default" | "extern" => {
                    qualifiers.push(word.clone())
                }
                other => {
                    let kind = match qualifiers.last() {
                        Some(last) if last.to_string() == "const" => "a constant",
                        Some(last) if last.to_string() == "extern" => "an `extern crate`",
                        _ => other_kind(other),
                    };
                    return Kind::Other(kind, word.span());
                }
            },
            // The ABI of `extern "C"`.
            Some(TokenTree::Literal(_)) if !qualifiers.is_empty() => {}
            Some(token) if braces(token).is_some() && !qualifiers.is_empty() => {
                return Kind::Other("an `extern` block", qualifiers[0].span());
            }
            token => {
                return Kind::Other(
                    "something else",
                    token.map_or_else(Span::call_site, TokenTree::span),
                );
            }
        }
        at += 1;
    }
}

fn other_kind(keyword: &str) -> &'static str {
    match keyword {
        "struct" => "a struct",
        "enum" => "an enum",
        "union" => "a union",
        "trait" | "auto" => "a trait",
        "mod" => "a module",
        "static" => "a static",
        "type" => "a type alias",
        "use" => "an import",
        "let" => "a variable",
        _ => "a macro",
    }
}

fn function(tokens: &[TokenTree], keyword: usize, qualifiers: Vec<Ident>) -> Kind {
    let Some(TokenTree::Ident(name)) = tokens.get(keyword + 1) else {
        return Kind::Other("a function without a name", tokens[keyword].span());
    };
    // The body is the first block outside angle brackets: `-> Array<{ N + 1 }>` has one inside.
    let mut depth = 0_usize;
    let mut after_dash = false;
    let mut end = tokens.len();
    let mut body = None;
    for (at, token) in tokens.iter().enumerate().skip(keyword + 2) {
        match token {
            TokenTree::Punct(punct) => match punct.as_char() {
                '<' => depth += 1,
                '>' if !after_dash => depth = depth.saturating_sub(1),
                ';' if depth == 0 => {
                    end = at;
                    break;
                }
                _ => {}
            },
            token if depth == 0 => {
                body = braces(token);
                if body.is_some() {
                    end = at;
                    break;
                }
            }
            _ => {}
        }
        after_dash = is_punct(token, '-');
    }
    let signature = keyword + 2..end;
    Kind::Function(Function {
        qualifiers,
        name: name.clone(),
        signature,
        body,
        end: tokens.len().min(end + 1),
    })
}

fn impl_block(tokens: &[TokenTree], keyword: usize, span: Span) -> Kind {
    match tokens.last() {
        Some(last) if tokens.len() > keyword + 1 && braces(last).is_some() => {
            Kind::Impl(tokens.len() - 1)
        }
        _ => Kind::Other("an `impl` without a body", span),
    }
}

/// The index after a member of an impl block that is no function: a constant, a type, a macro call.
pub(crate) fn member_end(tokens: &[TokenTree]) -> usize {
    let start = head(tokens);
    // Only a macro call can end with braces; the braces in a constant's value do not end it.
    let is_macro = |at: usize| {
        tokens
            .get(at.wrapping_sub(1))
            .is_some_and(|token| is_punct(token, '!'))
    };
    let ends =
        |at: usize| is_punct(&tokens[at], ';') || (is_macro(at) && braces(&tokens[at]).is_some());
    let is_item = matches!(tokens.get(start), Some(TokenTree::Ident(word)) if ["const", "type", "default"].contains(&word.to_string().as_str()));
    let end = match is_item {
        true => (start..tokens.len()).find(|&at| is_punct(&tokens[at], ';')),
        false => (start..tokens.len()).find(|&at| ends(at)),
    };
    end.map_or(tokens.len(), |end| end + 1)
}
