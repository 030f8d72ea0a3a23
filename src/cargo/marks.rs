//! Marks that stand in no source: finds the functions that are meant, and where the attribute goes.
//!
//! An attribute is put behind the last token before the function, on that token's line, so that the
//! function's own lines and columns stay as they are in reports.
//!
//! What a macro is given is read as items where it looks like items, because `cfg_if!` and its like
//! pass them on. A function that a macro writes by itself has no place for an attribute; a pattern
//! that nothing else matches says so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned;

use super::pattern::Pattern;

/// The path works in every edition: the wrapper adds the crate.
const ATTRIBUTE: &str = " #[aerodrome::atomic]";

/// What is to be marked.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) atomic: Vec<Pattern>,
    pub(super) not_atomic: Vec<Pattern>,
    /// All public methods with a `self`, whatever the patterns say.
    pub(super) public_methods: bool,
}

impl Marks {
    /// Everything that decides which functions are marked, and nothing else.
    pub(super) fn rules(&self) -> BTreeSet<String> {
        let atomic = self.atomic.iter().map(|it| format!("atomic {}", it.text));
        let except = self.not_atomic.iter();
        let except = except.map(|it| format!("not-atomic {}", it.text));
        let all = self.public_methods.then(|| "pub".to_owned());
        atomic.chain(except).chain(all).collect()
    }
}

/// A file and a line in it.
pub(super) type Line = (PathBuf, usize);

/// What the walk through the sources has found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The marked functions, with their paths, by the lines of their names.
    pub(super) functions: BTreeMap<Line, String>,
    /// The functions that each pattern has matched.
    pub(super) matched: BTreeMap<String, BTreeSet<Line>>,
    /// The root files of the crates into which attributes go.
    pub(super) roots: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, File>,
    /// Functions that a pattern may mean and that cannot be marked.
    obstacles: Vec<Obstacle>,
    /// Files that cannot be parsed, and why.
    unread: BTreeMap<Line, String>,
}

/// A file into which attributes go.
#[derive(Debug, Default)]
struct File {
    text: String,
    /// A file may be a module of several crates.
    places: BTreeSet<usize>,
}

/// A function that cannot be marked.
#[derive(Debug)]
struct Obstacle {
    pattern: String,
    name: String,
    line: Line,
    why: &'static str,
}

impl Found {
    /// The files that have marks, with them.
    pub(super) fn files(&self) -> impl Iterator<Item = (&Path, String)> {
        let files = self.files.iter();
        files.map(|(path, file)| (&**path, with_attributes(&file.text, &file.places)))
    }

    /// What is wrong with a pattern that has matched nothing.
    pub(super) fn why_not(&self, pattern: &str) -> String {
        let obstacles = self.obstacles.iter().filter(|it| it.pattern == pattern);
        let told = obstacles.map(|it| {
            let (file, line) = &it.line;
            format!("; `{}` at {}:{line} {}", it.name, file.display(), it.why)
        });
        let unread = self.unread.iter().map(|((file, line), why)| {
            format!("; {}:{line} is not understood: {why}", file.display())
        });
        told.take(3).chain(unread.take(3)).collect()
    }
}

/// The text with an attribute at each place.
fn with_attributes(text: &str, places: &BTreeSet<usize>) -> String {
    let mut marked = String::with_capacity(text.len() + places.len() * ATTRIBUTE.len());
    let mut from = 0;
    for &place in places {
        marked.push_str(&text[from..place]);
        marked.push_str(ATTRIBUTE);
        // At the start of a file, what comes next has no space before it.
        if place == 0 {
            marked.push(' ');
        }
        from = place;
    }
    marked + &text[from..]
}

/// Finds what is marked in a crate, from its root file on.
pub(super) fn mark_crate(name: &str, root: &Path, marks: &Marks, found: &mut Found) {
    let folder = root.parent().unwrap_or(Path::new(".")).to_owned();
    let mut pending = vec![(root.to_owned(), folder, vec![name.to_owned()])];
    while let Some((file, folder, path)) = pending.pop() {
        // The compiler says what is wrong with a file better than this could.
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let (places, modules) = mark_file(&file, &text, &folder, path, marks, found);
        pending.extend(modules);
        if !places.is_empty() {
            found.roots.insert(root.to_owned());
            let file = found.files.entry(file).or_default();
            file.text = text;
            file.places.extend(places);
        }
    }
}

/// A module in another file: the file, the folder of its modules, its path.
type Module = (PathBuf, PathBuf, Vec<String>);

/// Where attributes go in a file, and its modules.
fn mark_file(
    file: &Path,
    text: &str,
    folder: &Path,
    path: Vec<String>,
    marks: &Marks,
    found: &mut Found,
) -> (Vec<usize>, Vec<Module>) {
    let parsed = match syn::parse_file(text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let line = (file.to_owned(), error.span().start().line);
            found.unread.insert(line, error.to_string());
            return Default::default();
        }
    };
    let mut walk = Walk {
        marks,
        file,
        path,
        found,
        places: Vec::new(),
        modules: Vec::new(),
    };
    let after = parsed.attrs.last();
    let after = after.map_or(0, |it| it.span().byte_range().end);
    walk.items(&parsed.items, after, folder);
    (walk.places, walk.modules)
}

/// What a mark depends on.
struct Function<'a> {
    signature: &'a syn::Signature,
    attributes: &'a [syn::Attribute],
    /// A public method with a `self`.
    is_public_method: bool,
    /// Whether the block around it has marked it.
    is_marked: bool,
}

impl Function<'_> {
    fn has(&self, mark: &str) -> bool {
        self.attributes.iter().any(|it| is_mark(it, mark))
    }

    /// Whether the source marks it.
    fn is_marked(&self) -> bool {
        let is_exempt = self.has("not_atomic") || self.has("operation");
        let is_const = self.signature.constness.is_some();
        self.has("atomic") || self.is_marked && !is_exempt && !is_const
    }

    /// Why it cannot be a transaction.
    fn obstacle(&self) -> Option<&'static str> {
        let why = [
            (self.signature.constness.is_some(), "is `const`"),
            (self.signature.asyncness.is_some(), "is `async`"),
            (self.has("not_atomic"), "is marked `#[not_atomic]`"),
            (self.has("operation"), "is marked `#[operation]`"),
        ];
        why.into_iter().find_map(|(is, why)| is.then_some(why))
    }
}

fn is_mark(attribute: &syn::Attribute, mark: &str) -> bool {
    let last = attribute.path().segments.last();
    last.is_some_and(|name| name.ident == mark)
}

/// A walk over the items of a file.
struct Walk<'a> {
    marks: &'a Marks,
    file: &'a Path,
    /// The path of the module, from the crate's name on.
    path: Vec<String>,
    found: &'a mut Found,
    /// Where attributes go.
    places: Vec<usize>,
    modules: Vec<Module>,
}

impl Walk<'_> {
    /// The items of a module; `after` is the end of the token before them.
    fn items(&mut self, items: &[syn::Item], mut after: usize, folder: &Path) {
        for item in items {
            match item {
                syn::Item::Fn(function) => {
                    let function = Function {
                        signature: &function.sig,
                        attributes: &function.attrs,
                        is_public_method: false,
                        is_marked: false,
                    };
                    self.function(&function, after);
                }
                syn::Item::Impl(block) => self.members(block),
                syn::Item::Trait(declared) => self.defaults(declared),
                syn::Item::Mod(module) => self.module(module, folder),
                syn::Item::Macro(item) if item.ident.is_some() => self.hidden(&item.mac.tokens),
                syn::Item::Macro(item) => {
                    let braces = item.mac.delimiter.span().open().byte_range().end;
                    self.given(&item.mac.tokens, braces, folder);
                }
                _ => {}
            }
            after = item.span().byte_range().end;
        }
    }

    /// What a macro is given: items, or items in braces, as those of `cfg_if!`.
    fn given(&mut self, tokens: &TokenStream, after: usize, folder: &Path) {
        if let Ok(file) = syn::parse2::<syn::File>(tokens.clone()) {
            return self.items(&file.items, after, folder);
        }
        self.note_names(tokens);
        for token in tokens.clone() {
            match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    let after = group.span_open().byte_range().end;
                    self.given(&group.stream(), after, folder);
                }
                _ => {}
            }
        }
    }

    /// What a macro writes by itself, at any depth.
    fn hidden(&mut self, tokens: &TokenStream) {
        self.note_names(tokens);
        for token in tokens.clone() {
            if let TokenTree::Group(group) = token {
                self.hidden(&group.stream());
            }
        }
    }

    /// Notes the functions among the tokens, as far as a pattern may mean them.
    fn note_names(&mut self, tokens: &TokenStream) {
        let mut is_behind_fn = false;
        for token in tokens.clone() {
            let word = match token {
                TokenTree::Ident(word) => word,
                _ => {
                    is_behind_fn = false;
                    continue;
                }
            };
            if is_behind_fn {
                let name = word.to_string();
                let marks = self.marks.atomic.iter();
                for pattern in marks.filter(|pattern| pattern.may_match(&name)) {
                    let why = "is written by a macro, where no mark can be put from outside";
                    self.found.obstacles.push(Obstacle {
                        pattern: pattern.text.clone(),
                        name: name.clone(),
                        line: (self.file.to_owned(), word.span().start().line),
                        why,
                    });
                }
            }
            is_behind_fn = word == "fn";
        }
    }

    fn function(&mut self, function: &Function, after: usize) {
        let name = &function.signature.ident;
        let line = (self.file.to_owned(), name.span().start().line);
        self.path.push(name.to_string());
        let matching = self.marks.atomic.iter();
        let matching: Vec<_> = matching.filter(|it| it.matches(&self.path)).collect();
        let is_wanted =
            !matching.is_empty() || self.marks.public_methods && function.is_public_method;
        let is_excepted = self
            .marks
            .not_atomic
            .iter()
            .any(|it| it.matches(&self.path));
        let obstacle = function.obstacle();
        let is_marked = function.is_marked();
        let gets_mark = !is_marked && obstacle.is_none() && is_wanted && !is_excepted;
        if gets_mark {
            self.places.push(after);
        }
        if gets_mark || is_marked {
            let path = self.path.join("::");
            self.found.functions.entry(line.clone()).or_insert(path);
        }
        for pattern in matching {
            let text = pattern.text.clone();
            match obstacle {
                Some(why) if !is_marked => self.found.obstacles.push(Obstacle {
                    pattern: text,
                    name: self.path.join("::"),
                    line: line.clone(),
                    why,
                }),
                _ => {
                    let lines = self.found.matched.entry(text).or_default();
                    lines.extend((gets_mark || is_marked).then(|| line.clone()));
                }
            }
        }
        self.path.pop();
    }

    fn members(&mut self, block: &syn::ItemImpl) {
        let syn::Type::Path(of) = &*block.self_ty else {
            return;
        };
        let Some(last) = of.path.segments.last() else {
            return;
        };
        self.path.push(last.ident.to_string());
        // `#[atomic(pub)]` marks the public ones.
        let mark = block.attrs.iter().find(|it| is_mark(it, "atomic"));
        let arguments = mark.and_then(|it| it.meta.require_list().ok());
        let only_public = arguments.is_some_and(|list| {
            let mut words = list.tokens.clone().into_iter();
            words.any(|word| word.to_string() == "pub")
        });
        let mut after = block.brace_token.span.open().byte_range().end;
        after = block
            .attrs
            .iter()
            .fold(after, |after, attribute| match attribute.style {
                syn::AttrStyle::Inner(_) => after.max(attribute.span().byte_range().end),
                syn::AttrStyle::Outer => after,
            });
        for member in &block.items {
            if let syn::ImplItem::Fn(method) = member {
                let is_public = matches!(method.vis, syn::Visibility::Public(_));
                let takes_self = method.sig.receiver().is_some();
                let function = Function {
                    signature: &method.sig,
                    attributes: &method.attrs,
                    is_public_method: is_public && takes_self,
                    is_marked: mark.is_some() && (is_public || !only_public),
                };
                self.function(&function, after);
            }
            after = member.span().byte_range().end;
        }
        self.path.pop();
    }

    fn defaults(&mut self, declared: &syn::ItemTrait) {
        self.path.push(declared.ident.to_string());
        let mut after = declared.brace_token.span.open().byte_range().end;
        for member in &declared.items {
            match member {
                syn::TraitItem::Fn(method) if method.default.is_some() => {
                    let function = Function {
                        signature: &method.sig,
                        attributes: &method.attrs,
                        is_public_method: false,
                        is_marked: false,
                    };
                    self.function(&function, after);
                }
                _ => {}
            }
            after = member.span().byte_range().end;
        }
        self.path.pop();
    }

    fn module(&mut self, module: &syn::ItemMod, folder: &Path) {
        let name = module.ident.to_string();
        self.path.push(name.clone());
        let given = module.attrs.iter().find_map(path_attribute);
        match &module.content {
            Some((braces, items)) => {
                let after = braces.span.open().byte_range().end;
                self.items(items, after, &folder.join(given.unwrap_or(name)));
            }
            None => {
                let found = match given {
                    Some(given) => {
                        let beside = self.file.parent().unwrap_or(Path::new("."));
                        let file = beside.join(given);
                        let modules = file.parent().unwrap_or(Path::new(".")).to_owned();
                        Some((file, modules))
                    }
                    None => module_file(folder, &name),
                };
                let path = self.path.clone();
                self.modules
                    .extend(found.map(|(file, folder)| (file, folder, path)));
            }
        }
        self.path.pop();
    }
}

/// The file of `mod name;`, and the folder of its own modules.
fn module_file(folder: &Path, name: &str) -> Option<(PathBuf, PathBuf)> {
    let inner = folder.join(name);
    let files = [folder.join(format!("{name}.rs")), inner.join("mod.rs")];
    let file = files.into_iter().find(|file| file.is_file())?;
    Some((file, inner))
}

/// The value of `#[path = ".."]`.
fn path_attribute(attribute: &syn::Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else {
        return None;
    };
    let syn::Expr::Lit(value) = &pair.value else {
        return None;
    };
    match &value.lit {
        syn::Lit::Str(path) if pair.path.is_ident("path") => Some(path.value()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Marks, Pattern, mark_file, with_attributes};
    use std::path::Path;

    fn found(text: &str, patterns: &[&str], except: &[&str]) -> (String, Found) {
        let parse = |it: &&str| Pattern::parse(it).unwrap();
        let marks = Marks {
            atomic: patterns.iter().map(parse).collect(),
            not_atomic: except.iter().map(parse).collect(),
            ..Marks::default()
        };
        let mut found = Found::default();
        let (file, folder) = (Path::new("src/lib.rs"), Path::new("src"));
        let path = vec!["bank".to_owned()];
        let (places, _) = mark_file(file, text, folder, path, &marks, &mut found);
        let text = with_attributes(text, &places.into_iter().collect());
        (text, found)
    }

    fn marked(text: &str, patterns: &[&str], except: &[&str]) -> String {
        found(text, patterns, except).0
    }

    const TEXT: &str = "\
fn first() {}
// A comment.
/// Documentation.
#[inline] pub fn second() {}
struct Account<T>(T);
impl<T> Account<T> {
    const fn new() {}
    // Looks.
    pub fn get(&self) {}
    async fn wait(&self) {}
    fn set(&self) {} fn swap(&self) {}
}
mod inner { fn first() {} }
";

    #[test]
    fn the_attribute_stands_behind_the_token_before() {
        let text = marked(TEXT, &["bank::second", "Account::*"], &["set"]);
        let expected = TEXT
            .replace(
                "fn first() {}\n//",
                "fn first() {} #[aerodrome::atomic]\n//",
            )
            .replace(
                "const fn new() {}",
                "const fn new() {} #[aerodrome::atomic]",
            )
            .replace("fn set(&self) {}", "fn set(&self) {} #[aerodrome::atomic]");
        assert_eq!(text, expected);
        syn::parse_file(&text).unwrap();
    }

    #[test]
    fn the_first_function_of_a_file_has_no_token_before() {
        let text = marked(TEXT, &["bank::first"], &[]);
        assert!(
            text.starts_with(" #[aerodrome::atomic] fn first() {}\n"),
            "{text}"
        );
        assert!(!text.contains("mod inner { #"));
    }

    #[test]
    fn items_that_a_macro_is_given_are_marked() {
        let text = "\
cfg_if! {
    if #[cfg(unix)] {
        mod unix { pub fn open() {} }
    } else if #[cfg(windows)] {
        fn open() {}
    } else { fn close() {} }
}
cfg_rt! { fn open() {} }
wrapped!(mod io { fn open() {} });
lazy_static! { static ref OPEN: u32 = { fn seven() -> u32 { 7 } seven() }; }
macro_rules! define { () => { fn open() {} } }
";
        let expected = text
            .replace("mod unix {", "mod unix { #[aerodrome::atomic]")
            .replace("mod io {", "mod io { #[aerodrome::atomic]")
            .replace("cfg_rt! {", "cfg_rt! { #[aerodrome::atomic]")
            .replace("(windows)] {", "(windows)] { #[aerodrome::atomic]");
        assert_eq!(marked(text, &["open"], &[]), expected);
    }

    #[test]
    fn what_a_pattern_has_matched_is_known() {
        let text = "\
#[std::atomic] impl A { fn get(&self) {} #[not_atomic] fn new() {} const fn zero() {} }
#[atomic(pub)] impl B { fn get(&self) {} pub fn set(&self) {} }
impl Load for B { fn get(&self) {} }
#[aerodrome::atomic] fn all() {}
";
        let (_, found) = found(text, &["B::get", "A::get", "all"], &["all"]);
        let paths: Vec<&str> = found.functions.values().map(String::as_str).collect();
        assert_eq!(
            paths,
            ["bank::A::get", "bank::B::get", "bank::B::get", "bank::all"]
        );
        let lines = |pattern| {
            let lines = found.matched[pattern].iter().map(|(_, line)| *line);
            lines.collect::<Vec<_>>()
        };
        assert_eq!(lines("B::get"), [2, 3]);
        assert_eq!((lines("A::get"), lines("all")), (vec![1], vec![4]));
    }

    #[test]
    fn why_a_pattern_has_matched_nothing_is_said() {
        let text = "\
const fn zero() {}
async fn wait() {}
macro_rules! define {
    ($name:ident) => { fn $name() { fn inner() {} } };
}
make! { fn outer(x in 0..1) {} }
";
        let why = |pattern| found(text, &[pattern], &[]).1.why_not(pattern);
        assert_eq!(why("zero"), "; `bank::zero` at src/lib.rs:1 is `const`");
        assert_eq!(why("wait"), "; `bank::wait` at src/lib.rs:2 is `async`");
        let by_macro = "is written by a macro, where no mark can be put from outside";
        assert_eq!(
            why("Type::in*r"),
            format!("; `inner` at src/lib.rs:4 {by_macro}")
        );
        assert_eq!(
            why("outer"),
            format!("; `outer` at src/lib.rs:6 {by_macro}")
        );
        assert_eq!(why("other"), "");
        let (_, found) = found("fn first() {}\n\nfn second( {}\n", &["first"], &[]);
        let why = found.why_not("first");
        assert!(
            why.starts_with("; src/lib.rs:3 is not understood: "),
            "{why}"
        );
    }
}
