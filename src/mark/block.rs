//! What a mark is in a checked build: the block, and the transactions it begins.

use std::collections::HashSet;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use crate::record;

/// A block that is meant to be atomic; one static for each mark in the source.
///
/// Aligned so that the recorder can code its address in few bits.
#[derive(Debug)]
#[repr(align(8))]
pub struct Block {
    given_name: Option<&'static str>,
    /// The name of the function around it, once somebody has asked.
    function_name: OnceLock<Box<str>>,
    /// The path of a type that is declared in the block, and thereby of the function around it.
    path: fn() -> &'static str,
    module: &'static str,
    /// The source file.
    pub file: &'static str,
    /// The line in the file, from 1: the function's name, or the start of the `atomic_block!`.
    pub line: u32,
    /// The column in the line, from 1.
    pub column: u32,
    /// [`UNUSED`], [`EMPTY`] or [`TRACKED`].
    uses: AtomicU8,
    /// The block that was used before this one, in the list of all that were.
    before: AtomicPtr<Block>,
}

/// No run has ended yet.
const UNUSED: u8 = 0;
/// Runs have ended, and none recorded anything.
const EMPTY: u8 = 1;
/// Some run recorded something.
const TRACKED: u8 = 2;

impl Block {
    /// A block in the module `module`; `Here` is a type declared inside it.
    pub const fn new<Here>(
        given_name: Option<&'static str>,
        module: &'static str,
        place: &'static Location<'static>,
    ) -> Self {
        Block {
            given_name,
            function_name: OnceLock::new(),
            path: std::any::type_name::<Here>,
            module,
            file: place.file(),
            line: place.line(),
            column: place.column(),
            uses: AtomicU8::new(UNUSED),
            before: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// What a report calls the block: the name it was given, or that of the function around it,
    /// `Account::withdraw`.
    ///
    /// The first call may allocate.
    pub fn name(&self) -> &str {
        self.given_name.unwrap_or_else(|| {
            let function_name = || function_name((self.path)(), self.module).into();
            self.function_name.get_or_init(function_name)
        })
    }
}

/// The name of a function from the path of a type declared in it, without modules, generic
/// arguments and closures.
///
/// An attribute on a method does not see the type that the method belongs to, but the compiler's
/// names for types do. How they are written is not promised, so whatever does not look as expected
/// stays in the name as it is.
fn function_name(path: &str, module: &str) -> String {
    let inside = path
        .strip_prefix(module)
        .and_then(|rest| rest.strip_prefix("::"))
        .unwrap_or(path);
    let mut segments = segments(inside);
    segments.pop();
    let mut names: Vec<String> = segments
        .into_iter()
        .filter(|segment| !segment.starts_with("{{"))
        .map(|segment| {
            match segment
                .strip_prefix('<')
                .and_then(|inner| inner.strip_suffix('>'))
            {
                Some(implementation) => self_type(implementation),
                None => without_arguments(segment).to_owned(),
            }
        })
        .collect();
    // A `#[aerodrome::test]` is a function inside another one of the same name.
    names.dedup();
    if names.is_empty() {
        path.to_owned()
    } else {
        names.join("::")
    }
}

/// The type in `impl Type`, `impl Trait for Type` and `Type as Trait`, without modules.
fn self_type(implementation: &str) -> String {
    let full = match implementation.strip_prefix("impl ") {
        Some(header) => {
            split_outside(header, " for ").map_or(header, |(_, implementor)| implementor)
        }
        None => split_outside(implementation, " as ")
            .map_or(implementation, |(implementor, _)| implementor),
    };
    let last = segments(full).pop().unwrap_or(full);
    let is_path = |text: &str| {
        text.chars()
            .all(|symbol| symbol.is_alphanumeric() || symbol == '_' || symbol == ':')
    };
    if is_path(without_arguments(full)) {
        without_arguments(last).to_owned()
    } else {
        format!("<{}>", without_modules(full))
    }
}

/// Whether a position is outside of all brackets, for each position in turn. The `>` of an arrow
/// closes nothing.
fn outside(text: &str) -> impl Iterator<Item = (usize, bool)> {
    let (mut depth, mut before) = (0_usize, ' ');
    text.char_indices().map(move |(at, symbol)| {
        let is_outside = depth == 0;
        match symbol {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if before == '-' => {}
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = symbol;
        (at, is_outside)
    })
}

fn split_outside<'t>(text: &'t str, separator: &str) -> Option<(&'t str, &'t str)> {
    let (at, _) =
        outside(text).find(|&(at, is_outside)| is_outside && text[at..].starts_with(separator))?;
    Some((&text[..at], &text[at + separator.len()..]))
}

fn segments(path: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    let mut rest = path;
    while let Some((first, others)) = split_outside(rest, "::") {
        segments.push(first);
        rest = others;
    }
    segments.push(rest);
    segments
}

/// `Cache<_, 4>` as `Cache`.
fn without_arguments(name: &str) -> &str {
    match name.find('<') {
        Some(at) if at > 0 && name.ends_with('>') => &name[..at],
        _ => name,
    }
}

/// `&[bank::Account]` as `&[Account]`.
fn without_modules(name: &str) -> String {
    let mut short = String::new();
    for piece in name.split_inclusive("::") {
        match piece.strip_suffix("::") {
            Some(module) => short.push_str(
                module.trim_end_matches(|symbol: char| symbol.is_alphanumeric() || symbol == '_'),
            ),
            None => short.push_str(piece),
        }
    }
    short
}

/// A run of a block, from [`begin`] until this is dropped, on the strand that began it.
#[derive(Debug)]
#[must_use = "the transaction ends when this is dropped"]
pub struct Transaction(PhantomData<*const ()>);

/// Begins a run of a block.
///
/// # Panics
///
/// With the report, if a violation was found that this strand is to deliver.
#[inline]
#[track_caller]
pub fn begin(block: &'static Block) -> Transaction {
    record::begin(block);
    Transaction(PhantomData)
}

impl Drop for Transaction {
    #[inline(always)]
    fn drop(&mut self) {
        end();
    }
}

/// A run of a block ends.
#[inline(always)]
pub(crate) fn end() {
    if !record::try_end() {
        end_slow();
    }
}

/// A run of a block ends that is part of another's transaction, or recorded nothing, or panics.
#[inline(never)]
extern "C" fn end_slow() {
    if let Some(block) = record::end() {
        block.has_recorded_nothing();
    }
}

/// The block that was used last, and by way of [`Block::before`] all others that were. A list
/// through the blocks themselves, because a recording strand neither allocates nor waits.
static USED: AtomicPtr<Block> = AtomicPtr::new(ptr::null_mut());

impl Block {
    /// A run of the block records something.
    pub(crate) fn has_recorded(&'static self) {
        // Most often that is known.
        if self.uses.load(Ordering::Relaxed) != TRACKED
            && self.uses.swap(TRACKED, Ordering::Relaxed) == UNUSED
        {
            self.enlist();
        }
    }

    /// A run of the block has recorded nothing.
    fn has_recorded_nothing(&'static self) {
        let uses = &self.uses;
        if uses.load(Ordering::Relaxed) == UNUSED
            && uses
                .compare_exchange(UNUSED, EMPTY, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            self.enlist();
        }
    }

    /// Puts the block into the list; done once, by whoever has found it unused.
    fn enlist(&'static self) {
        let this = ptr::from_ref(self).cast_mut();
        let mut last = USED.load(Ordering::Relaxed);
        loop {
            self.before.store(last, Ordering::Relaxed);
            match USED.compare_exchange_weak(last, this, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => last = other,
            }
        }
    }

    /// Whether some run recorded something.
    fn is_tracked(&self) -> bool {
        self.uses.load(Ordering::Relaxed) == TRACKED
    }

    /// The type that the block's function is a method of, with the file that it is in.
    fn owner(&self) -> Option<(&str, &'static str)> {
        let (owner, _) = self.name().rsplit_once("::")?;
        Some((owner, self.file))
    }
}

/// The blocks that ran, the earliest first.
fn used_blocks() -> Vec<&'static Block> {
    let mut blocks = Vec::new();
    let mut next = USED.load(Ordering::Acquire);
    // SAFETY: the list has statics in it, and each was written before it was put in.
    while let Some(block) = unsafe { next.as_ref() } {
        blocks.push(block);
        next = block.before.load(Ordering::Relaxed);
    }
    blocks.reverse();
    blocks
}

/// The blocks that ran and never recorded anything, where that is strange: a type with a method
/// that did has constructors and getters beside it.
pub(crate) fn untracked_blocks() -> Vec<&'static Block> {
    let (tracked, empty): (Vec<_>, Vec<_>) = used_blocks()
        .into_iter()
        .partition(|block| block.is_tracked());
    let owners: HashSet<_> = tracked.iter().filter_map(|block| block.owner()).collect();
    let is_strange = |block: &&Block| !block.owner().is_some_and(|owner| owners.contains(&owner));
    empty.into_iter().filter(is_strange).collect()
}

/// How many blocks are open on this strand.
pub fn depth() -> usize {
    record::open_blocks().0 as usize
}

/// The block whose run is this strand's transaction.
pub fn outermost() -> Option<&'static Block> {
    record::open_blocks().1
}

#[cfg(test)]
mod tests {
    use super::function_name;

    #[test]
    fn a_function_is_named_with_its_type_and_without_its_module() {
        for (path, module, name) in [
            ("a::main::Here", "a", "main"),
            ("a::m::free::Here", "a::m", "free"),
            ("a::Account::withdraw::Here", "a", "Account::withdraw"),
            (
                "a::Account::withdraw::{{closure}}::Here",
                "a",
                "Account::withdraw",
            ),
            (
                "a::Account::withdraw::inner::Here",
                "a",
                "Account::withdraw::inner",
            ),
            ("a::Cache<_, 3>::get::Here", "a", "Cache::get"),
            ("a::Store::put::Here", "a", "Store::put"),
            ("<a::Account as a::Store>::del::Here", "a", "Account::del"),
            ("<a::Cache<_, 4> as a::Store>::del::Here", "a", "Cache::del"),
            (
                "<&[a::Account] as a::Store>::del::Here",
                "a",
                "<&[Account]>::del",
            ),
            (
                "<(u8, fn(u8) -> alloc::vec::Vec<u8>) as a::Store>::del::Here",
                "a",
                "<(u8, fn(u8) -> Vec<u8>)>::del",
            ),
            ("a::m::<impl a::Account>::far::Here", "a::m", "Account::far"),
            (
                "a::m::<impl a::Store for a::m::n::B>::del::Here",
                "a::m",
                "B::del",
            ),
            (
                "a::m::<impl a::Store for alloc::vec::Vec<_>>::del::Here",
                "a::m",
                "Vec::del",
            ),
            ("a::tests::adds_up::adds_up::Here", "a::tests", "adds_up"),
        ] {
            assert_eq!(function_name(path, module), name, "{path}");
        }
    }

    #[test]
    fn a_path_of_another_form_is_kept() {
        assert_eq!(function_name("", ""), "");
        assert_eq!(function_name("x<y::Here", "a"), "x<y::Here");
        assert_eq!(
            function_name("somewhere::else_::Here", "a"),
            "somewhere::else_"
        );
    }
}
