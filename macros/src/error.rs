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

    /// `::core::compile_error! { "message" }`, which may stand wherever an item may: in modules, blocks, traits and impls.
    pub(crate) fn tokens(&self) -> TokenStream {
        let punct = |symbol, spacing| TokenTree::from(Punct::new(symbol, spacing));
        let ident = |name| TokenTree::from(Ident::new(name, Span::call_site()));
        let message = TokenStream::from(TokenTree::from(Literal::string(&self.message)));
        [
            punct(':', Spacing::Joint),
            punct(':', Spacing::Alone),
            ident("core"),
            punct(':', Spacing::Joint),
            punct(':', Spacing::Alone),
            ident("compile_error"),
            punct('!', Spacing::Alone),
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
