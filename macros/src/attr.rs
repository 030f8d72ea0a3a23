//! The arguments of the attributes: `key = value`, separated by commas.

use crate::error::Error;
use crate::item::{is_punct, see_through};
use proc_macro::{Delimiter, Ident, Literal, Span, TokenStream, TokenTree};

/// What `#[atomic(..)]`, `#[operation(..)]` and `#[test(..)]` may be given.
#[derive(Default)]
pub(crate) struct Arguments {
    /// `name = "transfer"`: what reports call the block.
    pub(crate) name: Option<Literal>,
    /// `crate = path`: where aerodrome is, for those who rename or re-export it.
    pub(crate) krate: Option<TokenStream>,
    /// `runs = 20`: how often a test runs.
    pub(crate) runs: Option<u32>,
    /// `pub`: of an impl block's methods only the public ones; where it stands.
    pub(crate) public: Option<Span>,
    /// `future`: what the returned future does is atomic; where it stands.
    pub(crate) future: Option<Span>,
    /// `read`, `write` or `update`: what an operation does.
    pub(crate) access: Option<Ident>,
    /// `of = self.field`: the object of an operation.
    pub(crate) object: Option<TokenStream>,
}

/// An argument that an attribute knows, and how it is written.
pub(crate) type Known = (&'static str, &'static str);

pub(crate) const NAME: Known = ("name", "name = \"..\"");
pub(crate) const CRATE: Known = ("crate", "crate = path::to::aerodrome");
pub(crate) const RUNS: Known = ("runs", "runs = 20");
pub(crate) const PUBLIC: Known = ("pub", "pub");
pub(crate) const FUTURE: Known = ("future", "future");
pub(crate) const READ: Known = ("read", "read");
pub(crate) const WRITE: Known = ("write", "write");
pub(crate) const UPDATE: Known = ("update", "update");
pub(crate) const OF: Known = ("of", "of = self.object");

impl Arguments {
    /// Reads the arguments of `attribute`. A wrong one is left out and becomes an error, the others
    /// still count.
    pub(crate) fn read(
        attribute: &str,
        known: &[Known],
        tokens: TokenStream,
        errors: &mut Vec<Error>,
    ) -> Self {
        let mut arguments = Arguments::default();
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for argument in tokens
            .split(|token| is_punct(token, ','))
            .filter(|argument| !argument.is_empty())
        {
            if let Err(error) = arguments.take(attribute, known, argument) {
                errors.push(error);
            }
        }
        arguments
    }

    fn take(
        &mut self,
        attribute: &str,
        known: &[Known],
        argument: &[TokenTree],
    ) -> Result<(), Error> {
        let forms = || {
            let forms: Vec<String> = known.iter().map(|(_, form)| format!("`{form}`")).collect();
            format!("`#[{attribute}]` knows {}", forms.join(" and "))
        };
        let span = argument[0].span();
        let TokenTree::Ident(key) = &argument[0] else {
            let found = format!("expected an argument, found `{}`", argument[0]);
            return Err(Error::new(span, found, forms()));
        };
        let Some((key, form)) = known.iter().find(|(name, _)| *name == key.to_string()) else {
            let found = format!("unknown argument `{key}`");
            return Err(Error::new(span, found, forms()));
        };
        let value = match (argument.get(1), key == form) {
            (None, true) => &[],
            (Some(equals), false) if is_punct(equals, '=') => &argument[2..],
            (Some(more), true) => {
                let found = format!("expected nothing after `{key}`, found `{more}`");
                return Err(Error::new(more.span(), found, format!("write `{form}`")));
            }
            (_, false) => {
                let found = format!("expected a value for `{key}`");
                return Err(Error::new(span, found, format!("write `{form}`")));
            }
        };
        let given = match *key {
            "pub" => self.public.replace(span).is_some(),
            "future" => self.future.replace(span).is_some(),
            "name" => self.name.replace(string(span, form, value)?).is_some(),
            "crate" => self.krate.replace(path(span, form, value)?).is_some(),
            "of" => self.object.replace(field(span, form, value)?).is_some(),
            "runs" => self.runs.replace(count(span, form, value)?).is_some(),
            _ => self.access.replace(Ident::new(key, span)).is_some(),
        };
        match given {
            true => Err(Error::new(
                span,
                format!("`{key}` is given twice"),
                "remove one of them",
            )),
            false => Ok(()),
        }
    }
}

/// The one literal that a value must be; literals that come out of a `macro_rules!` macro are
/// wrapped in a group.
fn literal(value: &[TokenTree]) -> Option<Literal> {
    match see_through(value).as_slice() {
        [TokenTree::Literal(literal)] => Some(literal.clone()),
        _ => None,
    }
}

fn wrong(span: Span, expected: &str, form: &str, value: &[TokenTree]) -> Error {
    let found: TokenStream = value.iter().cloned().collect();
    let found = if value.is_empty() {
        "nothing".to_owned()
    } else {
        format!("`{found}`")
    };
    let span = value.first().map_or(span, TokenTree::span);
    Error::new(
        span,
        format!("expected {expected}, found {found}"),
        format!("write `{form}`"),
    )
}

fn string(span: Span, form: &str, value: &[TokenTree]) -> Result<Literal, Error> {
    let text = literal(value).map(|literal| (literal.to_string(), literal));
    match text {
        Some((text, literal))
            if text.starts_with(['"', 'r']) && text.ends_with(['"', '#']) && !is_empty(&text) =>
        {
            Ok(literal)
        }
        _ => Err(wrong(span, "a string that is not empty", form, value)),
    }
}

/// Whether the source text of a string literal has nothing between its quotes.
fn is_empty(text: &str) -> bool {
    text.trim_start_matches('r').trim_matches('#') == "\"\""
}

fn count(span: Span, form: &str, value: &[TokenTree]) -> Result<u32, Error> {
    let count =
        literal(value).and_then(|literal| literal.to_string().replace('_', "").parse().ok());
    count
        .filter(|&count| count > 0)
        .ok_or_else(|| wrong(span, "a number from 1 to 4294967295", form, value))
}

/// A path, made of names and `::` only; `$crate` is one name.
fn path(span: Span, form: &str, value: &[TokenTree]) -> Result<TokenStream, Error> {
    let flat = see_through(value);
    let ends_in_name = matches!(flat.last(), Some(TokenTree::Ident(_)));
    let is_part = |token: &TokenTree| matches!(token, TokenTree::Ident(_)) || is_punct(token, ':');
    match ends_in_name && flat.iter().all(is_part) {
        true => Ok(flat.into_iter().collect()),
        false => Err(wrong(span, "a path", form, value)),
    }
}

/// A field of `self`, made of names, numbers and dots only.
fn field(span: Span, form: &str, value: &[TokenTree]) -> Result<TokenStream, Error> {
    let flat = see_through(value);
    let is_self = matches!(flat.first(), Some(TokenTree::Ident(it)) if it.to_string() == "self");
    let is_part = |token: &TokenTree| match token {
        TokenTree::Ident(_) | TokenTree::Literal(_) => true,
        token => is_punct(token, '.'),
    };
    match is_self && flat.len() > 2 && flat.iter().all(is_part) {
        true => Ok(flat.into_iter().collect()),
        false => Err(wrong(span, "a field of `self`", form, value)),
    }
}

/// The last name in the path of an attribute, such as `not_atomic` in `#[aerodrome::not_atomic]`.
pub(crate) fn called(attribute: &TokenTree) -> Option<Ident> {
    let TokenTree::Group(group) = attribute else {
        return None;
    };
    if group.delimiter() != Delimiter::Bracket {
        return None;
    }
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    see_through(&tokens)
        .into_iter()
        .take_while(|token| matches!(token, TokenTree::Ident(_)) || is_punct(token, ':'))
        .filter_map(|token| match token {
            TokenTree::Ident(name) => Some(name),
            _ => None,
        })
        .last()
}
