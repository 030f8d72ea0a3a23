//! Get-or-insert on an `RwLock` map: the look-up is one critical section, the insertion another.
//!
//! ```text
//! cargo run --example cache --features check            # shows the report
//! cargo run --example cache --features check -- fixed   # `entry` under one write lock: silent
//! ```

use std::collections::HashMap;
use std::sync::Barrier; // std's, because the program under test has none

use aerodrome::sync::RwLock;
use aerodrome::thread;

#[derive(Default)]
struct Cache {
    pages: RwLock<HashMap<&'static str, String>>,
}

impl Cache {
    #[aerodrome::atomic]
    fn get(&self, key: &'static str, make: impl FnOnce() -> String) -> String {
        if let Some(page) = self.pages.read().unwrap().get(key) {
            return page.clone();
        }
        let page = make();
        self.pages.write().unwrap().insert(key, page.clone());
        page
    }

    #[aerodrome::atomic]
    fn get_fixed(&self, key: &'static str, make: impl FnOnce() -> String) -> String {
        self.pages
            .write()
            .unwrap()
            .entry(key)
            .or_insert_with(make)
            .clone()
    }
}

fn main() {
    let fixed = std::env::args().nth(1).as_deref() == Some("fixed");
    let cache = Cache::default();
    aerodrome::name(&cache.pages, "pages");
    let visit = |make: &dyn Fn() -> String| match fixed {
        true => cache.get_fixed("index", make),
        false => cache.get("index", make),
    };

    // The second visitor comes while the page is being rendered for the first; the fixed cache makes it wait, whatever the schedule.
    let (rendering, rendered) = (Barrier::new(2), Barrier::new(2));
    let meet = |barrier: &Barrier| {
        if !fixed {
            barrier.wait();
        }
    };
    let first = || {
        visit(&|| {
            meet(&rendering);
            meet(&rendered);
            "rendered for the first".to_owned()
        })
    };
    let second = || {
        meet(&rendering);
        let page = visit(&|| "rendered for the second".to_owned());
        meet(&rendered);
        page
    };
    let pages = thread::scope(|s| {
        let named = |name: &str| thread::Builder::new().name(name.into());
        let first = named("first").spawn_scoped(s, first).unwrap();
        let second = named("second").spawn_scoped(s, second).unwrap();
        [first.join().unwrap(), second.join().unwrap()]
    });
    println!("{pages:?}");
}
