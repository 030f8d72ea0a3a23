//! `traces DIR EVENTS`: writes a trace of each shape into the folder, as STD.

#[path = "../../../shapes/mod.rs"]
mod shapes;

use std::fs;
use std::path::Path;

use shapes::{NAMES, Shape, text};

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [folder, events] = &arguments[..] else {
        panic!("expected a folder and a number of events, found {arguments:?}");
    };
    let events = events.parse().expect("a number of events");
    for name in NAMES {
        let path = Path::new(folder).join(format!("{name}.std"));
        fs::write(path, text(&Shape::named(name).take(events))).expect("a folder to write to");
    }
}
