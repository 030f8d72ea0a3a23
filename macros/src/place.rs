//! Where a token stands.

use proc_macro::{Span, TokenStream, TokenTree};

/// `::core::panic::Location::caller()`, as if it stood where the token does. What `macro_rules!` write is the caller's line of the whole macro, whatever
/// tokens they write it with, unless all of the call is the caller's own; and that a procedural macro alone can do.
pub(crate) fn of(token: TokenStream) -> TokenStream {
    let span = token
        .into_iter()
        .next()
        .map_or_else(Span::call_site, |token| token.span());
    let call: TokenStream = "::core::panic::Location::caller()"
        .parse()
        .expect("an expression");
    call.into_iter()
        .map(|mut token: TokenTree| {
            token.set_span(span);
            token
        })
        .collect()
}
