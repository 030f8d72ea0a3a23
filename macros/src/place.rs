//! Where a token stands.

use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// `Receiver, token` becomes `Receiver.here()`, called where the token stands.
///
/// What `macro_rules!` write is located at the call of the whole macro, unless the method and its
/// arguments are tokens of the caller's; only a procedural macro can make such tokens.
pub(crate) fn of(arguments: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = arguments.into_iter().collect();
    let span = tokens
        .pop()
        .map_or_else(Span::call_site, |token| token.span());
    let comma = tokens
        .pop()
        .expect("the macros of aerodrome write `receiver, token`");
    let mut dot = TokenTree::from(Punct::new('.', Spacing::Alone));
    dot.set_span(comma.span());
    let mut arguments = Group::new(Delimiter::Parenthesis, TokenStream::new());
    arguments.set_span(span);
    tokens.extend([dot, Ident::new("here", span).into(), arguments.into()]);
    tokens.into_iter().collect()
}
