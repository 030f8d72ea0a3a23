//! The schedule that shows a prediction, line by line.

/// Of a longer schedule the end is shown, which is where it differs from the run.
const LONGEST: usize = 32;

/// A strand's name, and the position of one of its events.
pub(crate) type Point<'a> = (&'a str, u64);

/// The lines of a schedule, in which each strand runs up to an event. The accesses that it passes
/// on the way are named by their numbers, from 1.
pub(crate) fn lines(runs: &[Point<'_>], accesses: &[Point<'_>]) -> Vec<String> {
    let hidden = runs.len().saturating_sub(LONGEST);
    let before = format!("threads take turns as on this run, {hidden} times");
    let before = (hidden > 0).then_some(before);
    let shown = (hidden..runs.len()).map(|at| {
        let (strand, to) = runs[at];
        let earlier = runs[..at].iter().rfind(|(other, _)| *other == strand);
        let from = earlier.map_or(0, |&(_, to)| to);
        let passed = (1..).zip(accesses).filter(|&(_, &(other, position))| {
            other == strand && from < position && position <= to
        });
        let passed: Vec<String> = passed.map(|(number, _)| format!("({number})")).collect();
        let separator = if passed.is_empty() { "" } else { ": " };
        let passed = passed.join(" ");
        format!("thread `{strand}` runs up to event {to}{separator}{passed}")
    });
    before.into_iter().chain(shown).collect()
}
