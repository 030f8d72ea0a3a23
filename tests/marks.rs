//! What the marks do to the code they stand on: nothing that it could see, except that a
//! transaction is open in it.
//!
//! The file is compiled twice, as edition 2024 and, by the package in `edition_2021`, as edition
//! 2021; warnings are errors in both.
#![deny(warnings)]
#![allow(
    clippy::boxed_local,
    clippy::mixed_attributes_style,
    clippy::never_loop,
    clippy::redundant_closure_call,
    clippy::type_complexity,
    clippy::unused_unit,
    reason = "needless forms are there because a mark must keep them"
)]

use aerodrome::{atomic, atomic_block};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// How many blocks are open here; nobody counts them in a build without checking.
fn depth() -> Option<usize> {
    #[cfg(feature = "check")]
    return Some(aerodrome::__private::depth());
    #[cfg(not(feature = "check"))]
    None
}

#[track_caller]
fn assert_depth(expected: usize) {
    if let Some(depth) = depth() {
        assert_eq!(depth, expected);
    }
}

/// The name and the line of the transaction that is open here.
#[track_caller]
fn assert_transaction(_name: &str, _line: u32) {
    #[cfg(feature = "check")]
    {
        let block = aerodrome::__private::outermost().expect("a transaction is open");
        assert_eq!(block.name(), _name);
        assert_eq!((block.file, block.line), (file!(), _line));
    }
}

/// Notes how many blocks are open when it is dropped.
struct Probe<'a>(&'a str, &'a RefCell<Vec<(String, Option<usize>)>>);

impl Probe<'_> {
    fn value(&self) -> u8 {
        7
    }
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        self.1.borrow_mut().push((self.0.to_owned(), depth()));
    }
}

type Drops = RefCell<Vec<(String, Option<usize>)>>;

#[track_caller]
fn assert_drops(drops: Drops, expected: &[(&str, usize)]) {
    let drops = drops.into_inner();
    let names: Vec<&str> = drops.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        expected.iter().map(|(name, _)| *name).collect::<Vec<_>>()
    );
    for ((name, depth), (_, expected)) in drops.iter().zip(expected) {
        if let Some(depth) = depth {
            assert_eq!(depth, expected, "{name}");
        }
    }
}

mod control_flow {
    use super::*;

    #[atomic]
    fn early(stop: bool) -> &'static str {
        assert_depth(1);
        if stop {
            return "early";
        }
        "late"
    }

    #[test]
    fn a_return_leaves_the_function_and_ends_the_transaction() {
        assert_eq!(early(true), "early");
        assert_depth(0);
        assert_eq!(early(false), "late");
        assert_depth(0);
    }

    #[atomic]
    fn parsed(text: &str) -> Result<i32, Box<dyn std::error::Error>> {
        let number: i32 = text.parse()?;
        assert_depth(1);
        Ok(number)
    }

    #[atomic]
    fn first(items: &[i32]) -> Option<i32> {
        Some(items.first()? + 1)
    }

    #[test]
    fn a_question_mark_leaves_the_function_and_ends_the_transaction() {
        assert_eq!(parsed("5").unwrap(), 5);
        assert_eq!(
            parsed("five").unwrap_err().to_string(),
            "invalid digit found in string"
        );
        assert_eq!(first(&[]), None);
        assert_eq!(first(&[4]), Some(5));
        assert_depth(0);
    }

    #[test]
    fn break_and_continue_leave_the_block_and_end_the_transaction() {
        let mut seen = Vec::new();
        'outer: for i in 0..5 {
            for j in 0..5 {
                atomic_block! {
                    assert_depth(1);
                    if j == 1 {
                        continue;
                    }
                    if j == 3 {
                        continue 'outer;
                    }
                    if i == 2 {
                        break 'outer;
                    }
                    seen.push((i, j));
                }
                assert_depth(0);
            }
        }
        assert_depth(0);
        assert_eq!(seen, [(0, 0), (0, 2), (1, 0), (1, 2)]);
        let value = loop {
            atomic_block! { break 5 }
        };
        let labelled = 'value: {
            atomic_block! {
                if value == 5 {
                    break 'value "five";
                }
            }
            "other"
        };
        assert_eq!(labelled, "five");
        assert_depth(0);
    }

    #[test]
    fn a_block_returns_from_the_function_around_it() {
        fn find(items: &[i32], wanted: i32) -> Result<usize, std::num::TryFromIntError> {
            for (at, item) in items.iter().enumerate() {
                atomic_block! {
                    if *item == wanted {
                        return Ok(at);
                    }
                    u8::try_from(*item)?;
                }
            }
            Ok(usize::MAX)
        }
        assert_eq!(find(&[1, 2, 3], 3), Ok(2));
        assert!(find(&[1, -2, 3], 3).is_err());
        assert_eq!(find(&[1, 2], 3), Ok(usize::MAX));
        assert_depth(0);
    }

    #[test]
    fn a_panic_ends_the_transaction() {
        #[atomic]
        fn fails() {
            assert_depth(1);
            panic!("on purpose")
        }
        let caught = catch_unwind(fails).unwrap_err();
        assert_eq!(caught.downcast_ref(), Some(&"on purpose"));
        assert_depth(0);

        let caught = catch_unwind(
            || atomic_block! { atomic_block! { std::panic::resume_unwind(Box::new(3)) } },
        );
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&3));
        assert_depth(0);
    }

    #[test]
    fn a_panic_inside_is_caught_inside_the_same_transaction() {
        #[atomic]
        fn survives() -> usize {
            let caught = catch_unwind(AssertUnwindSafe(|| atomic_block! { panic!("on purpose") }));
            assert!(caught.is_err());
            assert_depth(1);
            1
        }
        assert_eq!(survives(), 1);
        assert_depth(0);
    }

    #[test]
    fn blocks_nest_and_recursion_nests() {
        #[atomic]
        fn depth_first(n: usize) -> usize {
            assert_depth(4 - n);
            if n == 0 { 0 } else { 1 + depth_first(n - 1) }
        }
        assert_eq!(depth_first(3), 3);
        let sum = atomic_block! {
            let one = atomic_block!(name = "inner", { assert_depth(2); 1 });
            assert_depth(1);
            one + atomic_block! { 2 }
        };
        assert_eq!(sum, 3);
        assert_depth(0);
    }

    #[atomic]
    fn never_returns() -> ! {
        loop {
            panic!("on purpose")
        }
    }

    #[test]
    fn a_block_that_never_ends_has_the_never_type() {
        assert!(catch_unwind(|| -> u8 { never_returns() }).is_err());
        fn diverges(flag: bool) -> u8 {
            let n: u8 = if flag {
                3
            } else {
                atomic_block! { return 4 }
            };
            n
        }
        assert_eq!((diverges(true), diverges(false)), (3, 4));
    }
}

mod values {
    use super::*;

    #[test]
    fn a_block_is_an_expression_wherever_a_block_is() {
        fn tail(flag: bool) -> Option<u8> {
            if atomic_block! { flag } {
                return atomic_block! { Some(1) };
            }
            atomic_block! { None }
        }
        assert_eq!((tail(true), tail(false)), (Some(1), None));
        atomic_block! {}
        let () = atomic_block! {};
        let length = atomic_block! { String::from("abc") }.len();
        let sum = 1 + atomic_block!(name = "sum", { 2 }) + atomic_block![3];
        assert_eq!((length, sum), (3, 6));
        match atomic_block! { length } {
            3 => {}
            _ => unreachable!(),
        }
        let closure = |x: i32| atomic_block! { x + 1 };
        assert_eq!(closure(1), 2);
    }

    // What is expected of the function is expected of its body: each of these needs it to compile.
    #[atomic]
    fn boxed() -> Vec<Box<dyn Fn(&str) -> usize>> {
        vec![
            Box::new(|text| text.len()),
            Box::new(|text| text.trim().len()),
        ]
    }

    #[atomic]
    fn opaque<'a>(words: &'a [&'a str]) -> impl Iterator<Item = usize> + 'a {
        words.iter().map(|word| word.len())
    }

    #[atomic]
    fn collected() -> HashMap<u8, Vec<u64>> {
        [(1, 2)].into_iter().map(|(k, v)| (k, vec![v])).collect()
    }

    #[atomic]
    fn as_trait(n: &u8) -> Option<&dyn Debug> {
        Some(n)
    }

    #[test]
    fn expected_types_reach_the_body() {
        assert_eq!(
            boxed().iter().map(|f| f(" ab ")).collect::<Vec<_>>(),
            [4, 2]
        );
        assert_eq!(opaque(&["a", "bc"]).sum::<usize>(), 3);
        assert_eq!(collected(), HashMap::from([(1, vec![2])]));
        assert_eq!(format!("{:?}", as_trait(&3)), "Some(3)");
        let functions: Vec<Box<dyn Fn(&str) -> usize>> =
            atomic_block! { vec![Box::new(|text| text.len())] };
        assert_eq!(functions[0]("abc"), 3);
    }

    #[test]
    fn a_borrowed_temporary_lives_as_long_as_the_variable() {
        let text = atomic_block! { &String::from("extended") };
        assert_eq!(text, "extended");
    }

    #[test]
    fn names_of_the_macros_own_items_do_not_shadow_the_authors() {
        const BLOCK: u8 = 1;
        struct Here(u8);
        let _transaction = 2;
        let sum = atomic_block! { BLOCK + Here(3).0 + _transaction };
        assert_eq!(sum, 6);
    }
}

mod temporaries {
    use super::*;

    struct Cache(Mutex<HashMap<u8, String>>);

    impl Cache {
        #[atomic]
        fn get(&self, key: u8) -> Option<String> {
            self.0.lock().unwrap().get(&key).cloned()
        }

        #[atomic]
        fn length(&self, key: u8) -> usize {
            match self.0.lock().unwrap().get(&key) {
                Some(text) => text.len(),
                None => 0,
            }
        }
    }

    #[test]
    fn guards_in_the_last_expression_compile_and_are_released() {
        let cache = Cache(Mutex::new(HashMap::from([(1, "one".to_owned())])));
        assert_eq!(cache.get(1).as_deref(), Some("one"));
        assert_eq!(cache.length(1) + cache.length(2), 3);
        assert!(cache.0.try_lock().is_ok());
        let local = atomic_block! {
            let local = Mutex::new(5);
            *local.lock().unwrap()
        };
        assert_eq!(local, 5);
    }

    #[atomic]
    fn probed(drops: &Drops) -> u8 {
        let _local = Probe("local", drops);
        Probe("temporary", drops).value()
    }

    #[test]
    fn temporaries_of_the_last_expression_die_inside_the_transaction() {
        let drops = Drops::default();
        assert_eq!(probed(&drops), 7);
        assert_drops(drops, &[("temporary", 1), ("local", 1)]);

        let drops = Drops::default();
        let value = atomic_block! {
            let _local = Probe("local", &drops);
            Probe("temporary", &drops).value()
        };
        drops.borrow_mut().push(("after".into(), depth()));
        assert_eq!(value, 7);
        assert_drops(drops, &[("temporary", 1), ("local", 1), ("after", 0)]);
    }

    #[test]
    fn what_an_early_exit_drops_dies_inside_the_transaction() {
        #[atomic]
        fn returns(drops: &Drops) -> u8 {
            let _local = Probe("local", drops);
            if drops.borrow().is_empty() {
                return Probe("temporary", drops).value();
            }
            0
        }
        let drops = Drops::default();
        assert_eq!(returns(&drops), 7);
        assert_drops(drops, &[("temporary", 1), ("local", 1)]);

        let drops = Drops::default();
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            atomic_block! {
                let _local = Probe("local", &drops);
                panic!("on purpose");
            }
        }));
        assert!(unwound.is_err());
        assert_drops(drops, &[("local", 1)]);
    }

    #[test]
    fn parameters_die_after_the_transaction() {
        #[atomic]
        fn takes(probe: Probe<'_>) -> u8 {
            probe.value()
        }
        let drops = Drops::default();
        takes(Probe("parameter", &drops));
        assert_drops(drops, &[("parameter", 0)]);
    }
}

mod functions {
    use super::*;

    #[derive(Clone, Default)]
    struct Account {
        balance: i64,
    }

    /// Each method is marked alone, as an attribute on it sees it: without its type.
    impl Account {
        #[atomic]
        fn by_value(self) -> i64 {
            assert_transaction("Account::by_value", line!() - 1);
            self.balance
        }
        #[atomic]
        fn by_mutable_value(mut self) -> Self {
            self.balance += 1;
            self
        }
        #[atomic]
        fn by_reference(&self) -> &i64 {
            assert_depth(1);
            &self.balance
        }
        #[atomic]
        fn by_lifetime<'a, 'b: 'a>(&'a self, other: &'b Self) -> &'a Self {
            if self.balance > other.balance {
                self
            } else {
                other
            }
        }
        #[atomic]
        fn by_mutable_reference(&mut self, amount: i64) -> &mut i64 {
            self.balance += amount;
            &mut self.balance
        }
        #[atomic]
        fn pinned(self: Pin<&mut Self>) -> i64 {
            let this = self.get_mut();
            this.balance += 1;
            this.balance
        }
        #[atomic]
        fn shared(self: &Arc<Self>) -> usize {
            Arc::strong_count(self)
        }
        #[atomic]
        fn by_arc(self: Arc<Self>) -> i64 {
            self.balance
        }
        #[atomic]
        fn by_rc(self: Rc<Self>) -> i64 {
            self.balance
        }
        #[atomic]
        fn boxed(self: Box<Self>) -> Self {
            *self
        }
        #[atomic]
        fn associated(balance: i64) -> Self {
            Self { balance }
        }
    }

    #[test]
    fn every_kind_of_receiver_can_be_marked() {
        let mut account = Account::associated(1);
        assert_eq!(account.clone().by_value(), 1);
        assert_eq!(account.clone().by_mutable_value().balance, 2);
        assert_eq!(*account.by_reference(), 1);
        assert_eq!(account.by_lifetime(&Account::associated(9)).balance, 9);
        *account.by_mutable_reference(2) += 1;
        assert_eq!(Pin::new(&mut account).pinned(), 5);
        let shared = Arc::new(account.clone());
        assert_eq!(shared.shared(), 1);
        assert_eq!(shared.by_arc() + Rc::new(account.clone()).by_rc(), 10);
        assert_eq!(Box::new(account).boxed().balance, 5);
        assert_depth(0);
    }

    struct Shop;

    // `for<'a>` makes no trait of it.
    #[atomic(pub)]
    impl Shop
    where
        for<'a> &'a u8: Copy,
    {
        #[allow(unreachable_pub, reason = "its visibility is what is tested")]
        pub fn sell(&self) -> usize {
            assert_transaction("Shop::sell", line!() - 1);
            self.look() + self.count()
        }

        fn look(&self) -> usize {
            depth().unwrap_or(0)
        }

        pub(crate) fn count(&self) -> usize {
            depth().unwrap_or(0)
        }
    }

    #[atomic(pub)]
    impl Default for Shop {
        fn default() -> Self {
            assert_transaction("Shop::default", line!() - 1);
            Shop
        }
    }

    #[test]
    fn only_public_methods_are_marked_where_that_is_asked_for() {
        let shop = <Shop as Default>::default();
        assert_eq!((shop.look(), shop.count()), (0, 0));
        assert_eq!(shop.sell(), if cfg!(feature = "check") { 2 } else { 0 });
    }

    struct Array<const N: usize>;

    #[atomic]
    fn generic<'a, T, const N: usize>(items: &'a [T; N], show: impl Fn(&'a T) -> String) -> String
    where
        T: Debug + 'a,
        Array<{ 1 + 1 }>: Sized,
        for<'b> &'b T: Into<Option<&'b T>>,
    {
        assert_transaction("generic", line!() - 6);
        items.iter().map(show).collect::<Vec<_>>().join(",") + &N.to_string()
    }

    #[atomic]
    fn const_argument() -> Array<{ 1 + 1 }> {
        Array
    }

    #[atomic]
    fn higher(f: &dyn for<'a> Fn(&'a str) -> &'a str) -> usize {
        f("abc").len()
    }

    #[test]
    fn generic_functions_can_be_marked() {
        assert_eq!(generic(&[1, 2], |n| format!("{n:?}")), "1,22");
        let Array::<2> = const_argument();
        assert_eq!(higher(&|text| &text[1..]), 2);
    }

    /// # Safety
    ///
    /// `place` is valid.
    #[atomic]
    #[inline]
    #[must_use]
    pub(crate) unsafe extern "C" fn raw(place: *const u8) -> u8 {
        assert_depth(1);
        // SAFETY: The caller says so.
        unsafe { *place }
    }

    #[atomic]
    pub(in super::functions) extern "C" fn callback(n: u8) -> u8 {
        n + 1
    }

    #[rustfmt::skip]
    #[atomic]
    #[allow(unused_variables)]
    fn with_attributes(#[cfg(any())] absent: u8, unused: u8, (a, mut b): (u8, u8)) -> u8 {
        #![allow(unused_mut)]
        //! Documentation inside.
        b += a; b
    }

    #[test]
    fn qualifiers_and_attributes_are_kept() {
        // SAFETY: A reference is valid.
        assert_eq!(unsafe { raw(&5) }, 5);
        let function: extern "C" fn(u8) -> u8 = callback;
        assert_eq!(function(1), 2);
        assert_eq!(with_attributes(0, (1, 2)), 3);
    }

    #[atomic]
    #[track_caller]
    fn called_from() -> u32 {
        std::panic::Location::caller().line()
    }

    #[atomic]
    fn r#type<I>(items: I) -> Option<<I as IntoIterator>::Item>
    where
        I: IntoIterator<Item: PartialOrd<<I as IntoIterator>::Item>>,
        fn(I) -> Option<I::Item>: Fn(I) -> Option<I::Item>,
    {
        assert_transaction("type", line!() - 5);
        items.into_iter().reduce(|a, b| if a > b { a } else { b })
    }

    #[test]
    fn callers_and_raw_names_are_kept() {
        assert_eq!(called_from(), line!());
        assert_eq!(r#type([1, 3, 2]), Some(3));
    }

    #[test]
    fn a_block_between_two_awaits_leaves_the_future_as_it_is() {
        async fn stepwise(shared: &Mutex<u8>) -> Result<u8, std::num::ParseIntError> {
            std::future::ready(()).await;
            let first = atomic_block! {
                let mut shared = shared.lock().unwrap();
                *shared += "1".parse::<u8>()?;
                *shared
            };
            std::future::ready(()).await;
            Ok(first)
        }
        let shared = Mutex::new(1);
        let future: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(stepwise(&shared));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert_eq!(
            { future }.as_mut().poll(&mut context),
            std::task::Poll::Ready(Ok(2))
        );
        assert_depth(0);
    }

    trait Store {
        const LIMIT: usize;
        type Item: Debug;
        fn put(&mut self, item: Self::Item) -> bool;
        #[atomic]
        fn describe(&self) -> String {
            assert_transaction("Store::describe", line!() - 1);
            format!("up to {}", Self::LIMIT)
        }
    }

    struct Shelf<T>(Vec<T>);

    impl<T: Debug> Store for Shelf<T> {
        const LIMIT: usize = { 1 + 1 };
        type Item = T;
        #[atomic]
        fn put(&mut self, item: T) -> bool {
            assert_transaction("Shelf::put", line!() - 1);
            self.0.push(item);
            self.0.len() <= Self::LIMIT
        }
    }

    #[test]
    fn methods_of_traits_can_be_marked() {
        let mut shelf = Shelf(vec!['a']);
        assert!(shelf.put('b'));
        assert!(!shelf.put('c'));
        assert_eq!(shelf.describe(), "up to 2");
    }

    #[atomic(name = "the whole thing")]
    fn named() {
        assert_transaction("the whole thing", line!() - 1);
    }

    #[atomic(name = r#"a "raw" name"#, crate = ::aerodrome,)]
    fn raw_name() {
        assert_transaction("a \"raw\" name", line!() - 1);
    }

    #[test]
    fn a_block_has_the_name_it_was_given_or_that_of_its_function() {
        named();
        raw_name();
        atomic_block! { assert_transaction("a_block_has_the_name_it_was_given_or_that_of_its_function", line!()) }
        (|| atomic_block! { assert_transaction("a_block_has_the_name_it_was_given_or_that_of_its_function", line!()) })(
        );
        atomic_block!(name = "given", { assert_transaction("given", line!()) });
        atomic_block!(name = "outer", { named_inside() });
    }

    #[atomic]
    fn named_inside() {
        #[cfg(feature = "check")]
        assert_eq!(aerodrome::__private::outermost().unwrap().name(), "outer");
    }
}

mod impl_blocks {
    use super::*;

    struct Cache<K, const N: usize> {
        entries: Vec<(K, u8)>,
    }

    macro_rules! two {
        () => {
            fn two() -> u8 {
                assert_depth(0);
                2
            }
        };
    }

    #[atomic]
    impl<K: PartialEq + Clone, const N: usize> Cache<K, N> {
        #![allow(clippy::len_without_is_empty)]

        /// Constants are left alone, whatever is in them.
        const ROOM: fn(usize) -> usize = {
            fn room(taken: usize) -> usize {
                assert_depth(1);
                N2 - taken
            }
            const N2: usize = 3;
            room
        };

        const fn new() -> Self {
            Cache {
                entries: Vec::new(),
            }
        }

        pub(super) fn get_or_insert(&mut self, key: &K, make: impl FnOnce() -> u8) -> u8 {
            assert_transaction("Cache::get_or_insert", line!() - 1);
            if let Some((_, value)) = self.entries.iter().find(|(other, _)| other == key) {
                return *value;
            }
            let value = make();
            self.entries.push((key.clone(), value));
            value
        }

        #[inline]
        pub(crate) fn room(&self) -> usize {
            Self::ROOM(self.entries.len())
        }

        #[aerodrome::not_atomic]
        #[allow(clippy::unused_self)]
        fn plain(&self) -> u8 {
            assert_depth(0);
            1
        }

        #[atomic(name = "renamed")]
        fn own_mark(&self) -> usize {
            assert_transaction("renamed", line!() - 1);
            assert_depth(1);
            self.entries.len()
        }

        two! {}

        unsafe fn raw(&self) -> Array<{ 1 + 1 }> {
            assert_depth(1);
            Array
        }
    }

    struct Array<const N: usize>;

    #[atomic]
    impl<const N: usize> Iterator for Cache<u8, N> {
        type Item = u8;
        fn next(&mut self) -> Option<u8> {
            assert_transaction("Cache::next", line!() - 1);
            self.entries.pop().map(|(_, value)| value)
        }
    }

    #[test]
    fn every_method_of_a_marked_impl_block_is_atomic_but_the_exempt() {
        let mut cache = Cache::<u8, 4>::new();
        assert_eq!(cache.get_or_insert(&1, || 10), 10);
        assert_eq!(cache.get_or_insert(&1, || 11), 10);
        assert_eq!(cache.room(), 2);
        assert_eq!(cache.plain() + Cache::<u8, 4>::two(), 3);
        assert_eq!(cache.own_mark(), 1);
        // SAFETY: It does nothing.
        let Array::<2> = unsafe { cache.raw() };
        assert_eq!(cache.next(), Some(10));
        assert_eq!(cache.next(), None);
        assert_depth(0);
    }
}

mod macros {
    use super::*;

    macro_rules! functions {
        ($($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty $body:block)*) => {
            $(#[atomic] $(#[$meta])* $vis fn $name($($arg: $ty),*) -> $ret $body)*
        };
    }

    functions! {
        /// Documented.
        fn added(a: u8, b: &'static u8) -> u8 { assert_depth(1); a + b }
        #[inline] pub(super) fn unit() -> () {}
        pub(crate) fn early(flag: bool) -> Option<u8> { if flag { return None; } Some(1) }
    }

    macro_rules! item {
        ($name:literal, $item:item) => {
            #[atomic(name = $name)]
            $item
        };
    }

    item! {"passed on", fn whole() { assert_depth(1); }}

    macro_rules! impl_block {
        ($item:item) => {
            #[atomic]
            $item
        };
    }

    struct Thing;
    impl_block! { impl Thing { fn method(&self) -> u8 { assert_depth(1); 1 } } }

    struct Made;
    macro_rules! methods {
        ($t:ty, $($vis:vis fn $name:ident $body:block)*) => {
            #[atomic]
            impl $t { $($vis fn $name(&self) -> u8 $body)* }
        };
    }
    methods! { Made, fn a { assert_depth(1); 1 } pub(crate) fn b { assert_depth(1); 2 } }

    struct Filled;
    macro_rules! filled {
        ($t:ty, $($member:item)*) => {
            #[atomic]
            impl $t { $($member)* }
        };
    }
    filled! {
        Filled,
        const ONE: u8 = 1;
        fn one(&self) -> u8 { assert_depth(1); Self::ONE }
        #[not_atomic]
        const fn two() -> u8 { 2 }
    }

    #[test]
    fn what_macros_make_can_be_marked() {
        assert_eq!(added(1, &2), 3);
        unit();
        assert_eq!((early(true), early(false)), (None, Some(1)));
        whole();
        assert_eq!(Thing.method() + Made.a() + Made.b(), 4);
        assert_eq!(Filled.one() + Filled::two(), 3);
        assert_depth(0);
    }
}

mod renamed {
    /// As a crate would be that re-exports aerodrome.
    pub(crate) mod inner {
        pub(crate) use aerodrome::{__private, __transaction};
    }

    #[aerodrome::atomic(crate = self::inner)]
    fn marked() -> u8 {
        super::assert_depth(1);
        1
    }

    macro_rules! marked_by_macro {
        ($name:ident) => {
            #[aerodrome::atomic(crate = $crate::renamed::inner)]
            fn $name() -> u8 {
                super::assert_depth(1);
                2
            }
        };
    }
    marked_by_macro!(other);

    #[aerodrome::test(crate = self::inner)]
    fn aerodrome_may_be_found_elsewhere() {
        assert_eq!(marked() + other(), 3);
    }
}

mod tests {
    use super::*;
    use std::process::{ExitCode, Termination};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Counts the runs of a test, which must end with the last.
    struct Runs(AtomicUsize);

    static REPEATED: Runs = Runs(AtomicUsize::new(0));

    #[aerodrome::test(runs = 1_0)]
    #[should_panic(expected = "run 10")]
    fn a_test_runs_as_often_as_it_says() {
        let run = REPEATED.0.fetch_add(1, Relaxed) + 1;
        assert!(run < 10, "run {run}");
    }

    #[aerodrome::test]
    #[ignore = "shows that the attribute is kept"]
    fn an_ignored_test_runs_only_if_it_is_asked_for() {
        let asked = ["--ignored", "--include-ignored"];
        assert!(std::env::args().any(|argument| asked.contains(&argument.as_str())));
    }

    #[aerodrome::test(runs = 2)]
    fn a_test_may_return_a_result() -> Result<(), std::num::ParseIntError> {
        let number: u8 = "5".parse()?;
        assert_eq!(number, 5);
        Ok(())
    }

    #[aerodrome::test]
    fn a_test_may_return_whatever_ends_a_process() -> impl Termination {
        ExitCode::SUCCESS
    }

    #[aerodrome::test]
    fn a_test_may_return_unit() -> () {}

    #[aerodrome::test(runs = 2)]
    #[atomic]
    fn a_test_may_be_atomic() {
        assert_transaction("a_test_may_be_atomic", line!() - 1);
    }

    #[atomic(name = "given")]
    #[aerodrome::test]
    fn a_test_may_be_atomic_in_either_order() {
        assert_transaction("given", line!() - 1);
    }

    #[aerodrome::test]
    fn blocks_in_a_test_have_its_name() {
        atomic_block! { assert_transaction("blocks_in_a_test_have_its_name", line!()) }
    }

    #[test]
    fn the_first_run_that_fails_is_the_last() {
        static RUNS: Runs = Runs(AtomicUsize::new(0));
        fn fails_third() -> Result<(), String> {
            match RUNS.0.fetch_add(1, Relaxed) + 1 {
                3 => Err("third".into()),
                _ => Ok(()),
            }
        }
        assert_eq!(
            aerodrome::__private::run_test(aerodrome::__private::Test::new(10), fails_third),
            ExitCode::FAILURE
        );
        assert_eq!(RUNS.0.load(Relaxed), 3);
        assert_eq!(
            aerodrome::__private::run_test(aerodrome::__private::Test::new(4), fails_third),
            ExitCode::SUCCESS
        );
        assert_eq!(RUNS.0.load(Relaxed), 7);
    }
}
