//! No bytes make a reader panic, hang, or reserve more memory than the input is worth.
//!
//! `AERODROME_FUZZ_CASES` sets the number of cases of each test: 80,000 take about a minute.

use crate::common::sample_aero;
use aerodrome::trace::{Event, Format, Names, ObjectId, WellFormed, from_reader};
use proptest::prelude::*;

fn cases() -> ProptestConfig {
    let cases = std::env::var("AERODROME_FUZZ_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(4000),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Reads to the end or the first error, asks for every name and place, and judges every event.
fn exhaust(bytes: &[u8], format: Option<Format>) {
    let Ok(mut source) = from_reader("fuzz", bytes, format) else {
        return;
    };
    let (mut batch, mut rules): (Vec<Event>, _) = (Vec::new(), WellFormed::new());
    let mut events = 0;
    while let Ok(true) = source.fill(&mut batch) {
        events += batch.len();
        assert!(
            events <= 4 * bytes.len(),
            "more events than there are bytes for"
        );
        for (index, event) in batch.iter().enumerate() {
            // Numbers are dense: engines reserve by the greatest.
            assert!(event.strand.0 as usize <= bytes.len(), "{event:?}");
            source.place(index);
            let names = source.names();
            names.strand(event.strand);
            names.object(ObjectId(event.target));
            names.site(event.site);
            names.block(event.block());
            if let Err(malformed) = rules.admit(event) {
                let message = source.malformed(index, &malformed).to_string();
                assert!(message.contains("expected"), "{message}");
                return;
            }
        }
    }
}

/// Bytes that are often almost a line.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        4 => prop::sample::select(vec![
            "T0", "T1", "|", "|", "(", ")", "\n", "\n", "r(x)", "w(x)", "acq(L)", "rel(L)", "fork(T1)", "join(T1)", "begin", "end",
            "begin(m)", "end(m)", "|1\n", "T0|r(x)|1\n", ",", "\r\n", "start(T1)", "sync(x)", "val(", "99999999999", "retire(x)", "send(m)",
            "recv(m)", "@ ", "Rd(0,x)", "Enter(1,", " null", "#", "-", "quit",
        ])
        .prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_text_is_a_trace_or_an_error(text in text(), format in 0..3_usize) {
        exhaust(&text, Some([Format::Std, Format::Csv, Format::RoadRunner][format]));
        exhaust(&text, None);
    }

    #[test]
    fn any_bytes_are_a_trace_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for format in [None, Some(Format::Std), Some(Format::Csv), Some(Format::RoadRunner), Some(Format::Aero)] {
            exhaust(&bytes, format);
        }
    }

    #[test]
    fn any_damage_to_a_binary_file_is_an_error_and_no_more(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let mut file = sample_aero();
        for (at, byte) in damage {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len() + 1));
        }
        exhaust(&file, Some(Format::Aero));
    }
}

#[test]
fn a_line_without_end_is_refused_before_it_fills_the_memory() {
    struct Endless(u64);
    impl std::io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0 += buffer.len() as u64;
            assert!(self.0 < 1 << 24, "it reads on and on");
            buffer.fill(b'x');
            Ok(buffer.len())
        }
    }
    for format in [Format::Std, Format::Csv, Format::RoadRunner] {
        let mut source = from_reader("endless", Endless(0), Some(format)).unwrap();
        let error = source.fill(&mut Vec::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "endless:1: expected a line of at most 65536 bytes, found a longer one"
        );
    }
}
