//! A bar on the terminal for inputs that take longer than a second.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

const WIDTH: u64 = 30;
/// Nothing is shown before.
const PATIENCE: Duration = Duration::from_secs(1);
const BETWEEN: Duration = Duration::from_millis(100);

pub(super) struct Progress {
    /// The input's length, where it is a file.
    total: Option<u64>,
    begun: Instant,
    next: Instant,
    shown: bool,
    terminal: bool,
}

impl Progress {
    pub(super) fn new(path: &str) -> Self {
        let total = std::fs::metadata(path)
            .ok()
            .filter(|data| data.is_file())
            .map(|data| data.len());
        let begun = Instant::now();
        Self {
            total,
            begun,
            next: begun + PATIENCE,
            shown: false,
            terminal: io::stderr().is_terminal(),
        }
    }

    /// Called once a batch.
    #[inline]
    pub(super) fn update(&mut self, consumed: u64, events: u64) {
        if self.terminal && Instant::now() >= self.next {
            self.draw(consumed, events);
        }
    }

    #[cold]
    fn draw(&mut self, consumed: u64, events: u64) {
        self.next = Instant::now() + BETWEEN;
        self.shown = true;
        let line = render(self.total, consumed, events, self.begun.elapsed());
        // A bar that cannot be shown is no reason to stop.
        let _ = write!(io::stderr(), "\r{line}\x1b[K");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn render(total: Option<u64>, consumed: u64, events: u64, elapsed: Duration) -> String {
    let millions = events as f64 / 1e6;
    let rate = millions / elapsed.as_secs_f64().max(1e-9);
    let counts = format!("{millions:.1}M events, {rate:.1}M/s");
    match total {
        Some(total) if total > 0 => {
            let done = (consumed.min(total) * WIDTH / total) as usize;
            let percent = consumed.min(total) * 100 / total;
            let left = WIDTH as usize - done;
            format!(
                "[{}{}] {percent:>3}%  {counts}",
                "#".repeat(done),
                " ".repeat(left)
            )
        }
        _ => counts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_shows_the_part_of_the_file_that_was_read() {
        let line = render(Some(200), 100, 3_000_000, Duration::from_secs(2));
        assert_eq!(
            line,
            format!(
                "[{}{}]  50%  3.0M events, 1.5M/s",
                "#".repeat(15),
                " ".repeat(15)
            )
        );
        assert_eq!(
            render(None, 100, 3_000_000, Duration::from_secs(2)),
            "3.0M events, 1.5M/s"
        );
    }
}
