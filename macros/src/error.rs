//! Errors as the tokens that make the compiler say them.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// What was expected and found, what to do about it, and where.
pub(crate) struct Error {
    span: Span,
    message: String,
}

impl Error {
    pub(crate) fn new(span: Span, found: impl AsRef<str>, help: impl AsRef<str>) -> Self {
        let (found, help) = (found.as_ref(), help.as_ref());
        Error {
            span,
            message: format!("{found}\nhelp: {help}"),
        }
    }

    /// `compile_error! { "message" }`, which may stand wherever an item may: in modules, blocks,
    /// traits and impls. Without a path: `::core` is no crate where the span is of edition 2015.
    pub(crate) fn tokens(&self) -> TokenStream {
        let message = TokenStream::from(TokenTree::from(Literal::string(&self.message)));
        [
            TokenTree::from(Ident::new("compile_error", self.span)),
            Punct::new('!', Spacing::Alone).into(),
            Group::new(Delimiter::Brace, message).into(),
        ]
        .into_iter()
        .map(|mut token| {
            token.set_span(self.span);
            token
        })
        .collect()
    }
}
