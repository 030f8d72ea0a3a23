//! Marks that stand in no source: finds the functions that are meant, and where the attribute goes.
//!
//! An attribute is put behind the last token before the function, on that token's line, so that the
//! function's own lines and columns stay as they are in reports.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;

/// The path works in every edition: the wrapper adds the crate.
const ATTRIBUTE: &str = " #[aerodrome::atomic]";

/// The end of a function's path; `*` stands for any part of one name.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    text: String,
    segments: Vec<String>,
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Pattern, String> {
        let segments: Vec<String> = text.split("::").map(str::to_owned).collect();
        let is_name = |segment: &String| {
            let allowed = |symbol: char| symbol.is_alphanumeric() || "_*".contains(symbol);
            !segment.is_empty() && segment.chars().all(allowed)
        };
        if !segments.iter().all(is_name) {
            let expected = "expected a path such as `bank::Account::*`";
            return Err(format!("{expected}, found `{text}`"));
        }
        Ok(Pattern {
            text: text.to_owned(),
            segments,
        })
    }

    fn matches(&self, path: &[String]) -> bool {
        let Some(start) = path.len().checked_sub(self.segments.len()) else {
            return false;
        };
        let pairs = self.segments.iter().zip(&path[start..]);
        pairs
            .into_iter()
            .all(|(pattern, name)| wildcard(pattern, name))
    }
}

/// Whether a name is what a pattern with `*` says.
fn wildcard(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            let starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            starts.into_iter().any(|at| wildcard(after, &rest[at..]))
        }),
    }
}

/// What is to be marked.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) atomic: Vec<Pattern>,
    pub(super) not_atomic: Vec<Pattern>,
    /// Every public method of a type, whatever the patterns say.
    pub(super) public_methods: bool,
    /// The patterns that something was found for.
    used: RefCell<BTreeSet<String>>,
    /// The paths of the functions that were marked.
    marked: RefCell<BTreeSet<String>>,
}

impl Marks {
    pub(super) fn is_empty(&self) -> bool {
        self.atomic.is_empty() && !self.public_methods
    }

    /// The patterns of `atomic` that no function has matched.
    pub(super) fn unused(&self) -> Vec<&str> {
        let used = self.used.borrow();
        let unused = self
            .atomic
            .iter()
            .filter(|pattern| !used.contains(&pattern.text));
        unused.map(|pattern| pattern.text.as_str()).collect()
    }

    /// The functions that were marked.
    pub(super) fn marked(&self) -> BTreeSet<String> {
        self.marked.borrow().clone()
    }

    fn wants(&self, path: &[String], function: &Function) -> bool {
        let matching = self.atomic.iter().filter(|pattern| pattern.matches(path));
        let mut wanted = self.public_methods && function.is_public_method;
        for pattern in matching {
            self.used.borrow_mut().insert(pattern.text.clone());
            wanted = true;
        }
        wanted && !self.not_atomic.iter().any(|pattern| pattern.matches(path))
    }
}

/// What a mark depends on.
struct Function<'a> {
    signature: &'a syn::Signature,
    attributes: &'a [syn::Attribute],
    is_public_method: bool,
    /// Whether an attribute of its impl block makes another function of it, if it is `async`.
    is_desugared: bool,
}

/// Whether a type is one by which a function returns a future. Such a function makes the future and
/// does nothing yet.
fn is_future(returned: &syn::ReturnType) -> bool {
    let syn::ReturnType::Type(_, returned) = returned else {
        return false;
    };
    let ends_in = |path: &syn::Path, names: &dyn Fn(&str) -> bool| {
        let last = path.segments.last();
        last.is_some_and(|last| names(&last.ident.to_string()))
    };
    match &**returned {
        syn::Type::ImplTrait(hidden) => hidden.bounds.iter().any(|bound| {
            matches!(bound, syn::TypeParamBound::Trait(it) if ends_in(&it.path, &|name| name == "Future"))
        }),
        syn::Type::Path(named) => {
            ends_in(&named.path, &|name| name == "Pin" || name.ends_with("BoxFuture"))
        }
        _ => false,
    }
}

/// Whether an item has the attribute that makes plain functions of its `async` ones.
fn is_async_trait(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let last = attribute.path().segments.last();
        last.is_some_and(|name| name.ident == "async_trait")
    })
}

impl Function<'_> {
    /// Whether it can be a transaction, and has no mark yet.
    fn can_be_marked(&self) -> bool {
        let has_mark = |attribute: &syn::Attribute| {
            let last = attribute.path().segments.last();
            let marks = ["atomic", "not_atomic", "operation"];
            last.is_some_and(|name| marks.iter().any(|mark| name.ident == mark))
        };
        self.signature.constness.is_none()
            && !(self.is_desugared && self.signature.asyncness.is_some())
            && !is_future(&self.signature.output)
            && !self.attributes.iter().any(has_mark)
    }
}

/// A source file with its marks.
pub(super) struct Marked {
    pub(super) file: PathBuf,
    pub(super) text: String,
}

/// The files of a crate that have marks, from its root file on.
pub(super) fn mark_crate(name: &str, root: &Path, marks: &Marks) -> Vec<Marked> {
    let folder = root.parent().unwrap_or(Path::new(".")).to_owned();
    let mut marked = Vec::new();
    let mut pending = vec![(root.to_owned(), folder, vec![name.to_owned()])];
    while let Some((file, folder, path)) = pending.pop() {
        // The compiler says what is wrong with a file better than this could.
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let Ok(parsed) = syn::parse_file(&text) else {
            continue;
        };
        let mut walk = Walk {
            marks,
            file: &file,
            path,
            places: Vec::new(),
            modules: Vec::new(),
        };
        let after = parsed
            .attrs
            .last()
            .map_or(0, |it| it.span().byte_range().end);
        walk.items(&parsed.items, after, &folder);
        pending.append(&mut walk.modules);
        if let Some(text) = with_attributes(&text, walk.places) {
            marked.push(Marked { file, text });
        }
    }
    marked
}

/// The text with an attribute at each place, if there is any.
fn with_attributes(text: &str, mut places: Vec<usize>) -> Option<String> {
    places.sort_unstable();
    places.dedup();
    let mut rest = text;
    let mut marked = String::with_capacity(text.len() + places.len() * ATTRIBUTE.len());
    for place in places.iter().rev() {
        let (before, after) = rest.split_at(*place);
        marked.insert_str(0, after);
        marked.insert_str(0, ATTRIBUTE);
        // At the start of a file, what comes next has no space before it.
        if before.is_empty() {
            marked.insert(ATTRIBUTE.len(), ' ');
        }
        rest = before;
    }
    marked.insert_str(0, rest);
    (!places.is_empty()).then_some(marked)
}

/// A walk over the items of a file.
struct Walk<'a> {
    marks: &'a Marks,
    file: &'a Path,
    /// The path of the module, from the crate's name on.
    path: Vec<String>,
    /// Where attributes go.
    places: Vec<usize>,
    /// Modules in other files: the file, the folder of its modules, its path.
    modules: Vec<(PathBuf, PathBuf, Vec<String>)>,
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
                        is_desugared: false,
                    };
                    self.function(&function, after);
                }
                syn::Item::Impl(block) => self.members(block),
                syn::Item::Trait(declared) => self.defaults(declared),
                syn::Item::Mod(module) => self.module(module, folder),
                _ => {}
            }
            after = item.span().byte_range().end;
        }
    }

    fn function(&mut self, function: &Function, after: usize) {
        self.path.push(function.signature.ident.to_string());
        if function.can_be_marked() && self.marks.wants(&self.path, function) {
            self.places.push(after);
            self.marks.marked.borrow_mut().insert(self.path.join("::"));
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
                    is_desugared: is_async_trait(&block.attrs),
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
                        is_desugared: is_async_trait(&declared.attrs),
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
    use super::{Marks, Pattern, Walk, with_attributes};
    use std::path::Path;

    fn marked(text: &str, patterns: &[&str], except: &[&str]) -> String {
        let parse = |it: &&str| Pattern::parse(it).unwrap();
        let marks = Marks {
            atomic: patterns.iter().map(parse).collect(),
            not_atomic: except.iter().map(parse).collect(),
            ..Marks::default()
        };
        let parsed = syn::parse_file(text).unwrap();
        let mut walk = Walk {
            marks: &marks,
            file: Path::new("src/lib.rs"),
            path: vec!["bank".to_owned()],
            places: Vec::new(),
            modules: Vec::new(),
        };
        walk.items(&parsed.items, 0, Path::new("src"));
        with_attributes(text, walk.places).unwrap_or_else(|| text.to_owned())
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
            .replace(
                "pub fn get(&self) {}",
                "pub fn get(&self) {} #[aerodrome::atomic]",
            )
            .replace("fn set(&self) {}", "fn set(&self) {} #[aerodrome::atomic]");
        assert_eq!(text, expected);
        syn::parse_file(&text).unwrap();
    }

    #[test]
    fn async_functions_are_marked_where_they_stay_async() {
        const TEXT: &str = "\
impl Account {
    async fn get(&self) {}
    fn hidden(&self) -> impl Future<Output = u8> { async { 1 } }
    fn boxed(&self) -> Pin<Box<dyn Future<Output = u8>>> { todo!() }
}
#[async_trait::async_trait]
impl Store for Account {
    async fn put(&self) {}
    fn len(&self) {}
}
";
        let text = marked(TEXT, &["Account::*"], &[]);
        let expected = TEXT
            .replace(
                "Account {\n    async fn get",
                "Account { #[aerodrome::atomic]\n    async fn get",
            )
            .replace("put(&self) {}", "put(&self) {} #[aerodrome::atomic]");
        assert_eq!(text, expected);
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
    fn patterns_are_ends_of_paths() {
        let path = ["bank", "inner", "Account", "get_all"].map(str::to_owned);
        for (pattern, matches) in [
            ("get_all", true),
            ("Account::get_*", true),
            ("inner::*::get_all", true),
            ("*::*::*::*", true),
            ("*_a*l", true),
            ("bank::get_all", false),
            ("get", false),
            ("a::bank::inner::Account::get_all", false),
        ] {
            let found = Pattern::parse(pattern).unwrap().matches(&path);
            assert_eq!(found, matches, "{pattern}");
        }
        assert!(Pattern::parse("a::").is_err() && Pattern::parse("a b").is_err());
    }
}
