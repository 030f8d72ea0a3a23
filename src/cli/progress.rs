//! A bar on the terminal for inputs that take longer than a second.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Nothing is shown before.
const PATIENCE: Duration = Duration::from_secs(1);
const REDRAWS_PER_SECOND: u8 = 10;

pub(super) struct Progress {
    /// The input's length, where it is a file.
    total: Option<u64>,
    begun: Instant,
    /// Whether somebody watches.
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new(path: &str, wanted: bool) -> Self {
        let total = std::fs::metadata(path)
            .ok()
            .filter(|data| data.is_file())
            .map(|data| data.len());
        Self {
            total,
            begun: Instant::now(),
            wanted,
            bar: None,
        }
    }

    /// Called once a batch.
    #[inline]
    pub(super) fn update(&mut self, consumed: u64, events: u64) {
        if self.wanted && self.begun.elapsed() >= PATIENCE {
            self.draw(consumed, events);
        }
    }

    #[cold]
    fn draw(&mut self, consumed: u64, events: u64) {
        let target = || ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND);
        let bar = self.bar.get_or_insert_with(|| bar(self.total, target()));
        bar.set_message(counts(events, self.begun.elapsed()));
        bar.set_position(consumed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: Option<u64>, target: ProgressDrawTarget) -> ProgressBar {
    let template = match total {
        Some(_) => "[{bar:30}] {percent:>3}%  {msg}",
        None => "{msg}",
    };
    let style = ProgressStyle::with_template(template).expect("both templates are good");
    ProgressBar::with_draw_target(total, target).with_style(style.progress_chars("## "))
}

fn counts(events: u64, elapsed: Duration) -> String {
    let millions = events as f64 / 1e6;
    let rate = millions / elapsed.as_secs_f64().max(1e-9);
    format!("{millions:.1}M events, {rate:.1}M/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_as_long_as_the_file_and_says_how_fast_it_is_read() {
        for total in [Some(200), None] {
            assert_eq!(bar(total, ProgressDrawTarget::hidden()).length(), total);
        }
        assert_eq!(
            counts(3_000_000, Duration::from_secs(2)),
            "3.0M events, 1.5M/s"
        );
    }
}
