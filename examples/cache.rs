//! Get-or-insert on an `RwLock` map: the look-up is one critical section, the insertion another.
//!
//! ```text
//! cargo run --example cache --features check            # shows the report
//! cargo run --example cache --features check -- fixed   # `entry` under one write lock: silent
//! ```

use std::collections::HashMap;

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
    let fixed = std::env::args()
        .nth(1)
        .is_some_and(|argument| argument == "fixed");
    let cache = Cache::default();
    aerodrome::name(&cache.pages, "pages");

    // Both visitors miss before either inserts.
    let both_missed = std::sync::Barrier::new(2);
    thread::scope(|s| {
        for name in ["first", "second"] {
            let (cache, both_missed) = (&cache, &both_missed);
            let visit = move || match fixed {
                true => cache.get_fixed("index", || format!("rendered for {name}")),
                false => cache.get("index", || {
                    both_missed.wait();
                    format!("rendered for {name}")
                }),
            };
            thread::Builder::new()
                .name(name.into())
                .spawn_scoped(s, visit)
                .unwrap();
        }
    });
    println!("{:?}", cache.pages.read().unwrap());
}
