//! Every engine on the shapes that decide what it costs. `benches/README.md` says how to read the
//! results.

mod shapes;

use aerodrome::check::EngineKind;
use divan::Bencher;
use divan::counter::ItemsCount;
use shapes::Shape;

fn main() {
    divan::main();
}

const EVENTS: usize = 1_000_000;
/// `aerodrome-basic` visits every object at every end: `benches/papers.rs` measures it where that
/// can be waited for.
const ENGINES: [EngineKind; 3] = [
    EngineKind::Exact,
    EngineKind::Aerodrome,
    EngineKind::Velodrome,
];

fn run(bencher: Bencher<'_, '_>, kind: EngineKind, shape: &str) {
    let trace = Shape::named(shape).take(EVENTS);
    bencher
        .counter(ItemsCount::new(trace.len()))
        .bench_local(|| {
            let (_, found) = kind.engine().run(&trace, 1);
            assert!(found.is_none(), "the shapes are serializable");
        });
}

macro_rules! shapes {
    ($($name:ident)*) => {
        $(
            #[divan::bench(args = ENGINES, sample_count = 10, sample_size = 1)]
            fn $name(bencher: Bencher<'_, '_>, kind: EngineKind) {
                run(bencher, kind, stringify!($name));
            }
        )*
    };
}

shapes! {
    locked_by_8_strands
    locked_by_64_strands
    one_transaction_stays_open
    transactions_of_4000_accesses
    many_short_strands
    read_shared_by_8_strands
    read_shared_by_64_strands
    thread_local_over_400k_variables
}
