//! The attributes of [aerodrome](https://docs.rs/aerodrome). Use them through that crate, where
//! they are documented.
//!
//! They read raw tokens: with neither `syn` nor `quote` a program that is built without checking
//! compiles no third-party crate for its marks. `attr` reads an attribute's arguments, `item` finds
//! a function's parts, `expand` puts the mark in. For `macro_rules!`, `place` tells where one of
//! their tokens stands. Whatever goes wrong, the item itself is given back too, so that one mistake
//! is one error.

mod attr;
mod error;
mod expand;
mod item;
mod place;

use proc_macro::TokenStream;

/// Marks a function, or every method of an `impl` block, as atomic.
#[proc_macro_attribute]
pub fn atomic(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::atomic(arguments, item)
}

/// Takes a method out of an `impl` block that is marked `#[atomic]`.
#[proc_macro_attribute]
pub fn not_atomic(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::not_atomic(arguments, item)
}

/// Makes a method one access of the object in its type.
#[proc_macro_attribute]
pub fn operation(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::operation(arguments, item)
}

/// A `#[test]` whose transactions are judged at its end.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::test(arguments, item)
}

/// A `#[test]` as it is, which can be explored. Stands in the place of std's where the whole of std
/// is aerodrome's.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn plain_test(_: TokenStream, item: TokenStream) -> TokenStream {
    expand::plain_test(item)
}

/// `place!(Receiver, token)`: calls `Receiver.here()` where the token stands that was given to
/// `macro_rules!`, while any other call would be located where the whole macro is called.
#[doc(hidden)]
#[proc_macro]
pub fn place(arguments: TokenStream) -> TokenStream {
    place::of(arguments)
}
