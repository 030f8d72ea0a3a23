//! Puts the marks into the items.
//!
//! A marked function begins its transaction and then runs its own block:
//!
//! ```text
//! fn withdraw(&self) -> bool {
//!     ::aerodrome::__transaction! { .. }      // nothing without `check`, else `let _transaction = begin(..);`
//!     { /* the body as it was */ }
//! }
//! ```
//!
//! An `async fn` wraps its body into a future of ours, and awaits that:
//!
//! ```text
//! async fn withdraw(&self) -> bool {
//!     ::aerodrome::__atomic_async! { (bool) (at: here()) { /* the body as it was */ } }
//! }
//! ```
//!
//! No closure, so `return` and `?` leave the function, and the compiler sees the body with the
//! return type it is checked against. The inner braces stand where the author's stood but count as
//! written here, in edition 2024, whose rule is what a transaction needs: temporaries of the last
//! expression (a lock guard, most often) die at the end of their block, before the transaction
//! does, whatever edition the author writes.

use crate::attr::{self, Arguments, called};
use crate::error::Error;
use crate::item::{self, Function, Kind, braces, is_punct, see_through};
use proc_macro::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};

pub(crate) fn atomic(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Vec::new();
    let known = [attr::NAME, attr::FUTURE, attr::PUBLIC, attr::CRATE];
    let arguments = Arguments::read("atomic", &known, arguments, &mut errors);
    let tokens = unwrapped(item);
    let item = match item::read(&tokens) {
        Kind::Function(function) => {
            if let Some(span) = arguments.public {
                errors.push(Error::new(
                    span,
                    format!(
                        "`pub` expected an `impl` block, found `fn {}`",
                        function.name
                    ),
                    "remove it: a function is marked whether it is public or not",
                ));
            }
            mark(&tokens, &function, &arguments, false, &mut errors)
        }
        Kind::Impl(members) => mark_impl(&tokens, members, &arguments, &mut errors),
        Kind::Other(found, span) => {
            errors.push(Error::new(
                span,
                format!("`#[atomic]` expected a function with a body or an `impl` block, found {found}"),
                "mark the function whose steps must happen as one, or the `impl` block with the methods; \
                 for a part of a function there is `atomic_block! { .. }`",
            ));
            tokens.into_iter().collect()
        }
    };
    finish(errors, item)
}

pub(crate) fn not_atomic(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    let error = Error::new(
        Span::call_site(),
        "`#[not_atomic]` expected a method of an `impl` block that is marked `#[atomic]`",
        "remove it: only what is marked `#[atomic]` is atomic",
    );
    finish(vec![error], item)
}

/// An operation records itself and then runs its own block:
///
/// ```text
/// #[track_caller]
/// fn push(&self, job: Job) {
///     ::aerodrome::__operation! { update, self.object }
///     { /* the body as it was */ }
/// }
/// ```
pub(crate) fn operation(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Vec::new();
    let known = [attr::READ, attr::WRITE, attr::UPDATE, attr::OF, attr::CRATE];
    let arguments = Arguments::read("operation", &known, arguments, &mut errors);
    let tokens = unwrapped(item);
    let expanded = match item::read(&tokens) {
        Kind::Function(function) => operation_function(&tokens, &function, &arguments),
        Kind::Other(found, span) => Err(no_operation(span, found)),
        Kind::Impl(_) => Err(no_operation(tokens[0].span(), "an `impl` block")),
    };
    let item = expanded.unwrap_or_else(|error| {
        // A mistake in the arguments may be why one is missing.
        if errors.is_empty() {
            errors.push(error);
        }
        tokens.into_iter().collect()
    });
    finish(errors, item)
}

fn no_operation(span: Span, found: &str) -> Error {
    Error::new(
        span,
        format!("`#[operation]` expected a method with a body, found {found}"),
        "mark each method that is one access of its object: `#[operation(read)]`, `write` or `update`",
    )
}

fn operation_function(
    tokens: &[TokenTree],
    function: &Function,
    arguments: &Arguments,
) -> Result<TokenStream, Error> {
    let name = &function.name;
    let Some(access) = &arguments.access else {
        return Err(Error::new(
            Span::call_site(),
            "`#[operation]` expected `read`, `write` or `update`, found nothing",
            "say what the method does to its object: `#[operation(update)]`",
        ));
    };
    let allowed = ["unsafe", "extern"];
    let forbidden = |word: &&Ident| !allowed.contains(&word.to_string().as_str());
    if let Some(word) = function.qualifiers.iter().find(forbidden) {
        return Err(no_operation(word.span(), &format!("`{word} fn {name}`")));
    }
    let Some(body) = &function.body else {
        let found = format!("only the declaration of `{name}`");
        return Err(no_operation(name.span(), &found));
    };
    let object = arguments.object.clone();
    let object = object.unwrap_or_else(|| source("self.object", Span::call_site()));
    let mut call = path(arguments, "::__operation!");
    let mut record = TokenStream::from(TokenTree::from(access.clone()));
    record.extend(source(",", Span::call_site()));
    record.extend(object);
    call.extend([group(Delimiter::Brace, record, Span::call_site())]);
    // Only functions of Rust's own calling convention can say where they were called.
    let is_extern = function
        .qualifiers
        .iter()
        .any(|it| it.to_string() == "extern");
    let located = match is_extern || has_attribute(tokens, "track_caller") {
        true => TokenStream::new(),
        false => source("#[track_caller]", Span::mixed_site()),
    };
    Ok(located
        .into_iter()
        .chain(with_start(tokens, function, body, call))
        .collect())
}

pub(crate) fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Vec::new();
    let arguments = Arguments::read(
        "aerodrome::test",
        &[attr::RUNS, attr::CRATE],
        arguments,
        &mut errors,
    );
    let tokens = unwrapped(item);
    let expanded = match item::read(&tokens) {
        Kind::Function(function) => test_function(&tokens, &function, &arguments),
        Kind::Other(found, span) => Err(no_test(span, found)),
        Kind::Impl(_) => Err(no_test(tokens[0].span(), "an `impl` block")),
    };
    match expanded {
        Ok(expanded) => finish(errors, expanded),
        Err(error) => {
            errors.push(error);
            finish(errors, tokens.into_iter().collect())
        }
    }
}

fn finish(errors: Vec<Error>, item: TokenStream) -> TokenStream {
    errors.iter().map(Error::tokens).chain([item]).collect()
}

/// The tokens of an item, also of one that a macro has passed on as `$item`.
fn unwrapped(item: TokenStream) -> Vec<TokenTree> {
    let tokens: Vec<TokenTree> = item.into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Group(group)] if group.delimiter() == Delimiter::None => {
            unwrapped(group.stream())
        }
        _ => tokens,
    }
}

/// Source text as tokens that stand at `span`.
fn source(text: &str, span: Span) -> TokenStream {
    placed(
        text.parse().expect("the text is written in this file"),
        span,
    )
}

fn placed(tokens: TokenStream, span: Span) -> TokenStream {
    let place = |mut token: TokenTree| {
        if let TokenTree::Group(group) = &token {
            token = Group::new(group.delimiter(), placed(group.stream(), span)).into();
        }
        token.set_span(span);
        token
    };
    tokens.into_iter().map(place).collect()
}

/// The path to aerodrome, followed by `rest`.
///
/// Its tokens count as written here, in edition 2024: `::aerodrome` is the crate of that name, also
/// in edition 2015, where an author's `::aerodrome` would be a name in the root module.
fn path(arguments: &Arguments, rest: &str) -> TokenStream {
    let krate = arguments
        .krate
        .clone()
        .unwrap_or_else(|| source("::aerodrome", Span::mixed_site()));
    krate
        .into_iter()
        .chain(source(rest, Span::mixed_site()))
        .collect()
}

fn group(delimiter: Delimiter, stream: TokenStream, span: Span) -> TokenTree {
    let mut group = Group::new(delimiter, stream);
    group.set_span(span);
    group.into()
}

/// A body apart: the attributes inside it, which must stay the first thing in the function, and the
/// rest.
fn split_body(body: &Group) -> (Vec<TokenTree>, Vec<TokenTree>) {
    let mut attributes: Vec<TokenTree> = body.stream().into_iter().collect();
    let mut at = 0;
    while let Some(3) = item::attribute(&attributes[at..]) {
        at += 3;
    }
    let rest = attributes.split_off(at);
    (attributes, rest)
}

/// The function with its mark, or as it was where it cannot have one.
fn mark(
    tokens: &[TokenTree],
    function: &Function,
    arguments: &Arguments,
    in_impl: bool,
    errors: &mut Vec<Error>,
) -> TokenStream {
    let (form, body) = match markable(tokens, function, arguments, in_impl) {
        Ok(markable) => markable,
        Err(error) => {
            errors.push(error);
            return tokens[..function.end].iter().cloned().collect();
        }
    };
    let mut mark = TokenStream::new();
    if let Some(name) = &arguments.name {
        mark.extend(source("name:", Span::call_site()));
        mark.extend([TokenTree::from(name.clone())]);
        mark.extend(source(",", Span::call_site()));
    }
    mark.extend(source("at:", Span::call_site()));
    mark.extend(source("here()", function.name.span()));
    match form {
        Form::Plain => {
            let mut call = path(arguments, "::__transaction!");
            call.extend([group(Delimiter::Brace, mark, Span::call_site())]);
            with_start(tokens, function, body, call)
        }
        Form::Async => {
            let returned = returned(tokens, function);
            let call = path(arguments, "::__atomic_async!");
            wrapped(tokens, function, body, call, returned, mark)
        }
        Form::Future => {
            let call = path(arguments, "::__atomic_future!");
            wrapped(tokens, function, body, call, TokenStream::new(), mark)
        }
        Form::Boxed => {
            let call = path(arguments, "::__atomic_future!");
            wrapped(
                tokens,
                function,
                body,
                call,
                source("boxed", Span::mixed_site()),
                mark,
            )
        }
    }
}

/// What a marked function is.
enum Form {
    Plain,
    Async,
    /// It returns `impl Future`.
    Future,
    /// It returns `Pin<Box<dyn Future>>`.
    Boxed,
}

/// The function with its body in a call of a macro: `call! { (first) (mark) { body } }`.
fn wrapped(
    tokens: &[TokenTree],
    function: &Function,
    body: &Group,
    call: TokenStream,
    first: TokenStream,
    mark: TokenStream,
) -> TokenStream {
    let span = Span::call_site();
    let (attributes, rest) = split_body(body);
    let block = group(
        Delimiter::Brace,
        rest.into_iter().collect(),
        body.span().resolved_at(Span::mixed_site()),
    );
    let arguments = [
        group(Delimiter::Parenthesis, first, span),
        group(Delimiter::Parenthesis, mark, span),
        block,
    ];
    let arguments = group(Delimiter::Brace, arguments.into_iter().collect(), span);
    let body = group(
        Delimiter::Brace,
        attributes
            .into_iter()
            .chain(call)
            .chain([arguments])
            .collect(),
        body.span(),
    );
    tokens[..function.signature.end]
        .iter()
        .cloned()
        .chain([body])
        .collect()
}

/// The type that a function returns, if it says one.
fn returned_tokens<'a>(tokens: &'a [TokenTree], function: &Function) -> &'a [TokenTree] {
    let signature = &tokens[function.signature.clone()];
    let mut depth = 0_usize;
    let mut start = None;
    for (at, token) in signature.iter().enumerate() {
        let after_dash = at > 0 && is_punct(&signature[at - 1], '-');
        match token {
            token if is_punct(token, '<') => depth += 1,
            token if is_punct(token, '>') && !after_dash => depth = depth.saturating_sub(1),
            token if is_punct(token, '>') && depth == 0 && start.is_none() => start = Some(at + 1),
            TokenTree::Ident(word) if depth == 0 && word.to_string() == "where" => {
                return start.map_or(&[], |start| &signature[start..at]);
            }
            _ => {}
        }
    }
    start.map_or(&[], |start| &signature[start..])
}

/// The type that an `async fn` returns, for its body to be checked against; nothing where it has no
/// name.
fn returned(tokens: &[TokenTree], function: &Function) -> TokenStream {
    let returned = returned_tokens(tokens, function);
    if returned.is_empty() {
        return source("()", Span::mixed_site());
    }
    if words(returned).iter().any(|word| word == "impl") {
        return TokenStream::new();
    }
    returned.iter().cloned().collect()
}

/// All names in the tokens, also in groups.
fn words(tokens: &[TokenTree]) -> Vec<String> {
    let mut words = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Ident(word) => words.push(word.to_string()),
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                words.extend(self::words(&inner));
            }
            _ => {}
        }
    }
    words
}

/// How a function returns a future, if it does, or its mark has told.
fn returned_future(tokens: &[TokenTree], function: &Function, is_told: bool) -> Option<Form> {
    let words = words(returned_tokens(tokens, function));
    let is_future = words.iter().any(|word| word.ends_with("Future"));
    match words.first().map(String::as_str) {
        Some("impl") if is_future => Some(Form::Future),
        Some("Pin" | "std" | "core" | "BoxFuture" | "LocalBoxFuture") if is_future => {
            Some(Form::Boxed)
        }
        // By another name.
        Some(_) if is_told => Some(Form::Boxed),
        _ => None,
    }
}

/// The function with `start` before its body, which becomes a block of its own.
fn with_start(
    tokens: &[TokenTree],
    function: &Function,
    body: &Group,
    start: TokenStream,
) -> TokenStream {
    let (attributes, rest) = split_body(body);
    let block = group(
        Delimiter::Brace,
        rest.into_iter().collect(),
        body.span().resolved_at(Span::mixed_site()),
    );
    let body = group(
        Delimiter::Brace,
        attributes.into_iter().chain(start).chain([block]).collect(),
        body.span(),
    );
    tokens[..function.signature.end]
        .iter()
        .cloned()
        .chain([body])
        .collect()
}

/// What a function that can be a transaction is, and its body.
fn markable<'a>(
    tokens: &[TokenTree],
    function: &'a Function,
    arguments: &Arguments,
    in_impl: bool,
) -> Result<(Form, &'a Group), Error> {
    let or_exempt = if in_impl {
        "; or exempt the method with `#[not_atomic]`"
    } else {
        ""
    };
    let name = &function.name;
    let mut form = Form::Plain;
    for qualifier in &function.qualifiers {
        let help = match qualifier.to_string().as_str() {
            "const" => {
                "a transaction begins and ends at run time: remove `const`, or mark the function that calls this one"
            }
            "gen" => {
                "what gives values away in between is not atomic: put the steps between two `yield`s into a \
                 function of their own and mark that"
            }
            "async" => {
                form = Form::Async;
                continue;
            }
            _ => continue,
        };
        return Err(Error::new(
            qualifier.span(),
            format!("`#[atomic]` expected a plain function, found `{qualifier} fn {name}`"),
            format!("{help}{or_exempt}"),
        ));
    }
    let returned = returned_future(tokens, function, arguments.future.is_some());
    match (returned, arguments.future, &form) {
        (Some(returned), Some(_), Form::Plain) => form = returned,
        (Some(_), None, Form::Plain) => {
            return Err(Error::new(
                name.span(),
                format!(
                    "`#[atomic]` found `fn {name}`, which returns a future: only making it would be atomic"
                ),
                format!(
                    "write `#[atomic(future)]` for what the future does; under `#[async_trait]`, which has made \
                     this of an `async fn`, the same, or put `#[atomic]` above it{or_exempt}"
                ),
            ));
        }
        (_, Some(span), _) => {
            return Err(Error::new(
                span,
                format!(
                    "`future` expected a function that returns `impl Future` or `Pin<Box<dyn Future>>`, found `fn {name}`"
                ),
                "remove it: an `async fn` is marked without it",
            ));
        }
        _ => {}
    }
    let body = function.body.as_ref().ok_or_else(|| {
        Error::new(
            name.span(),
            format!(
                "`#[atomic]` expected a function with a body, found only the declaration of `{name}`"
            ),
            "mark the function where it is implemented",
        )
    })?;
    Ok((form, body))
}

fn mark_impl(
    tokens: &[TokenTree],
    members: usize,
    arguments: &Arguments,
    errors: &mut Vec<Error>,
) -> TokenStream {
    if let Some(name) = &arguments.name {
        errors.push(Error::new(
            name.span(),
            "`name` expected one function, found an `impl` block",
            "remove it: methods are named after their type; or mark a method with `#[atomic(name = \"..\")]`",
        ));
    }
    if let Some(span) = arguments.future {
        errors.push(Error::new(
            span,
            "`future` expected one function, found an `impl` block",
            "remove it, and mark the method that returns a future with `#[atomic(future)]`",
        ));
    }
    let arguments = Arguments {
        krate: arguments.krate.clone(),
        // A trait's methods are as public as the trait.
        public: arguments
            .public
            .filter(|_| !item::is_of_trait(&tokens[..members])),
        ..Arguments::default()
    };
    let body = braces(&tokens[members]).expect("`read` has found braces here");
    let stream = mark_members(body.stream(), &arguments, errors);
    tokens[..members]
        .iter()
        .cloned()
        .chain([group(Delimiter::Brace, stream, body.span())])
        .collect()
}

fn mark_members(
    members: TokenStream,
    arguments: &Arguments,
    errors: &mut Vec<Error>,
) -> TokenStream {
    let tokens: Vec<TokenTree> = members.into_iter().collect();
    let mut rest = tokens.as_slice();
    let mut marked = TokenStream::new();
    while let Some(first) = rest.first() {
        let whole_item = match first {
            TokenTree::Group(inner) if item::is_whole_item(inner) => Some(inner),
            _ => None,
        };
        if let Some(inner) = whole_item {
            let stream = mark_members(inner.stream(), arguments, errors);
            marked.extend([group(Delimiter::None, stream, inner.span())]);
            rest = &rest[1..];
            continue;
        }
        match item::read(rest) {
            Kind::Function(function) => {
                let (exempt, member) = without_exemption(&rest[..function.end]);
                let Kind::Function(function_alone) = item::read(&member) else {
                    unreachable!("only an attribute is gone")
                };
                // A method with a mark of its own, say for its name, gets no second one.
                let exempt = exempt || arguments.public.is_some() && !item::is_public(&member);
                let is_marked =
                    has_attribute(&member, "atomic") || has_attribute(&member, "operation");
                // A `const fn` can perform no tracked operation: there is nothing to mark.
                let is_const = function_alone
                    .qualifiers
                    .iter()
                    .any(|word| word.to_string() == "const");
                marked.extend(if exempt || is_marked || is_const {
                    member.into_iter().collect()
                } else {
                    mark(&member, &function_alone, arguments, true, errors)
                });
                rest = &rest[function.end..];
            }
            _ => {
                let end = item::member_end(rest);
                marked.extend(rest[..end].iter().cloned());
                rest = &rest[end..];
            }
        }
    }
    marked
}

/// The positions and lengths of the attributes in front of an item.
fn attributes(tokens: &[TokenTree]) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length = item::attribute(&tokens[at..])?;
        at += length;
        Some((at - length, length))
    })
}

fn is_called(tokens: &[TokenTree], (at, length): (usize, usize), name: &str) -> bool {
    called(&tokens[at + length - 1]).is_some_and(|last| last.to_string() == name)
}

fn has_attribute(tokens: &[TokenTree], name: &str) -> bool {
    attributes(tokens).any(|attribute| is_called(tokens, attribute, name))
}

/// Whether a method is marked `#[not_atomic]`, and the method without that.
fn without_exemption(tokens: &[TokenTree]) -> (bool, Vec<TokenTree>) {
    match attributes(tokens).find(|&attribute| is_called(tokens, attribute, "not_atomic")) {
        Some((at, length)) => (true, [&tokens[..at], &tokens[at + length..]].concat()),
        None => (false, tokens.to_vec()),
    }
}

fn no_test(span: Span, found: &str) -> Error {
    Error::new(
        span,
        format!("`#[aerodrome::test]` expected a plain function without parameters, found {found}"),
        "write `#[aerodrome::test] fn what_it_shows() { .. }`",
    )
}

/// The test as a plain `#[test]` around the function as it was, which `run_test` runs and judges:
///
/// ```text
/// #[::core::prelude::v1::test]
/// fn name() -> ::aerodrome::__private::ExitCode {        // no return type where the function has none: `#[should_panic]` needs that
///     fn name() -> Result<(), Error> { /* the body as it was */ }
///     ::aerodrome::__private::run_test(1, name)
/// }
/// ```
fn test_function(
    tokens: &[TokenTree],
    function: &Function,
    arguments: &Arguments,
) -> Result<TokenStream, Error> {
    let name = &function.name;
    let returns_unit = test_returns_unit(tokens, function)?;
    let signature = &tokens[function.signature.clone()];
    let Some(body) = &function.body else {
        return Err(no_test(name.span(), &format!("`{name}` without a body")));
    };
    if let Some((at, _)) =
        attributes(tokens).find(|&attribute| is_called(tokens, attribute, "test"))
    {
        return Err(Error::new(
            tokens[at + 1].span(),
            "`#[aerodrome::test]` found another `#[test]` on the same function",
            "remove one of them: `#[aerodrome::test]` is a `#[test]`",
        ));
    }

    // A transaction of the test's own belongs into each run: around them all it would be open when
    // they are judged.
    let (marks, kept): (Vec<_>, Vec<_>) =
        attributes(tokens).partition(|&attribute| is_called(tokens, attribute, "atomic"));
    let attribute_tokens = |list: &[(usize, usize)]| -> TokenStream {
        list.iter()
            .flat_map(|&(at, length)| tokens[at..at + length].iter().cloned())
            .collect()
    };
    let head = attributes(tokens)
        .map(|(at, length)| at + length)
        .last()
        .unwrap_or(0);

    let span = Span::mixed_site();
    let mut inner = attribute_tokens(&marks);
    inner.extend(source("fn", span));
    inner.extend([TokenTree::from(name.clone())]);
    inner.extend(signature.iter().cloned());
    inner.extend([TokenTree::from(body.clone())]);

    let runs = Literal::u32_unsuffixed(arguments.runs.unwrap_or(1));
    let mut run = path(arguments, "::__private::run_test");
    let call = [TokenTree::from(runs)]
        .into_iter()
        .chain(source(",", span))
        .chain([TokenTree::from(name.clone())]);
    run.extend([group(Delimiter::Parenthesis, call.collect(), span)]);
    if returns_unit {
        run = source("let _ =", span)
            .into_iter()
            .chain(run)
            .chain(source(";", span))
            .collect();
    }

    let mut outer = source("#[::core::prelude::v1::test]", span);
    outer.extend(attribute_tokens(&kept));
    outer.extend(tokens[head..function.signature.start].iter().cloned());
    outer.extend(source("()", span));
    if !returns_unit {
        outer.extend(source("->", span));
        outer.extend(path(arguments, "::__private::ExitCode"));
    }
    inner.extend(run);
    outer.extend([group(Delimiter::Brace, inner, body.span())]);
    Ok(outer)
}

/// Whether a test returns `()`, which has nothing to report; whatever else is returned is reported
/// after each run. An error where the harness could not call it.
fn test_returns_unit(tokens: &[TokenTree], function: &Function) -> Result<bool, Error> {
    let name = &function.name;
    if let Some(qualifier) = function.qualifiers.first() {
        let found = format!("`{qualifier} fn {name}`");
        return Err(no_test(qualifier.span(), &found));
    }
    let flat = see_through(&tokens[function.signature.clone()]);
    let returned = match flat.as_slice() {
        [TokenTree::Group(parameters), returned @ ..]
            if parameters.delimiter() == Delimiter::Parenthesis =>
        {
            if let Some(first) = parameters.stream().into_iter().next() {
                return Err(no_test(first.span(), &format!("parameters of `{name}`")));
            }
            returned
        }
        _ => {
            let found = format!("generic parameters of `{name}`");
            return Err(no_test(name.span(), &found));
        }
    };
    Ok(match returned {
        [] => true,
        [_, _, TokenTree::Group(unit)] => {
            unit.delimiter() == Delimiter::Parenthesis && unit.stream().is_empty()
        }
        _ => false,
    })
}
