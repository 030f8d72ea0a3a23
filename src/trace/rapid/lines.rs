//! Whole lines out of a stream, many at a time.

use std::io::Read;

use super::MAX_LINE;
use crate::trace::{Error, Place};

const CHUNK: usize = 1 << 17;
/// How many readable bytes follow the last line, so that a block can be loaded from anywhere in it.
pub(super) const PADDING: usize = 64;

/// A window on the input that ends with a line's end.
pub struct Lines<R> {
    file: String,
    input: R,
    buffer: Vec<u8>,
    /// The lines not yet taken are `buffer[start..whole]`; up to `end` follows the beginning of the
    /// next.
    pub(super) start: usize,
    whole: usize,
    end: usize,
    ended: bool,
    /// The number of the line at `start`.
    pub(super) line: u64,
    consumed: u64,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(file: &str, input: R) -> Self {
        Self {
            file: file.to_owned(),
            input,
            buffer: vec![0; CHUNK + MAX_LINE + PADDING + 1],
            start: 0,
            whole: 0,
            end: 0,
            ended: false,
            line: 1,
            consumed: 0,
        }
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// The whole window; the next line begins at `start`, and every line in it ends with `\n`.
    #[inline]
    pub(super) fn window(&self) -> &[u8] {
        &self.buffer
    }

    /// Where the window's last line ends.
    pub(super) fn whole(&self) -> usize {
        self.whole
    }

    /// The next line, without its end.
    pub(super) fn line(&self) -> &[u8] {
        let rest = &self.buffer[self.start..self.whole];
        let end = rest
            .iter()
            .position(|&byte| byte == b'\n')
            .unwrap_or(rest.len());
        &rest[..end]
    }

    /// The line before `next` has been read.
    #[inline]
    pub(super) fn advance(&mut self, next: usize) -> Result<(), Error> {
        if next - self.start > MAX_LINE + 1 {
            return Err(self.too_long());
        }
        self.skip(next, 1);
        Ok(())
    }

    /// This many lines before `next` have been read.
    pub(super) fn skip(&mut self, next: usize, lines: u64) {
        self.start = next;
        self.line += lines;
    }

    pub(super) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Makes sure that there is a line in the window; false at the end of the input.
    #[inline]
    pub(super) fn more(&mut self) -> Result<bool, Error> {
        if self.start < self.whole {
            Ok(true)
        } else {
            self.read()
        }
    }

    #[cold]
    fn read(&mut self) -> Result<bool, Error> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        self.whole = 0;
        let mut searched = 0;
        loop {
            let fresh = &self.buffer[searched..self.end];
            if let Some(at) = fresh.iter().rposition(|&byte| byte == b'\n') {
                self.whole = searched + at + 1;
                return Ok(true);
            }
            searched = self.end;
            if self.end > MAX_LINE {
                return Err(self.too_long());
            }
            if self.ended {
                if self.end == 0 {
                    return Ok(false);
                }
                self.buffer[self.end] = b'\n';
                self.end += 1;
                continue;
            }
            let room = self.end..self.end + CHUNK.min(self.buffer.len() - PADDING - 1 - self.end);
            match self.input.read(&mut self.buffer[room]) {
                Ok(0) => self.ended = true,
                Ok(count) => {
                    self.end += count;
                    self.consumed += count as u64;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(&self.file, error)),
            }
        }
    }

    #[cold]
    fn too_long(&self) -> Error {
        let expected = format!("a line of at most {MAX_LINE} bytes");
        Error::mismatch(&self.file, Place::Line(self.line), expected, "a longer one")
    }
}

/// Which line an event of a batch stands on: one a line from the first, but for the exceptions.
#[derive(Default)]
pub(super) struct LineMap {
    exceptions: Vec<(usize, u64)>,
    next: u64,
}

impl LineMap {
    pub(super) fn clear(&mut self) {
        self.exceptions.clear();
        // No line has this number, so the first event of a batch is always an exception.
        self.next = u64::MAX;
    }

    /// The event stands on this line.
    pub(super) fn note(&mut self, index: usize, line: u64) {
        self.run(index, 1, line);
    }

    /// `count` events stand one on each line, from this event and this line on.
    pub(super) fn run(&mut self, index: usize, count: usize, line: u64) {
        if line != self.next {
            self.exceptions.push((index, line));
        }
        self.next = line + count as u64;
    }

    pub(super) fn line(&self, index: usize) -> u64 {
        let before = self
            .exceptions
            .partition_point(|&(first, _)| first <= index);
        match before.checked_sub(1).map(|at| self.exceptions[at]) {
            Some((first, line)) => line + (index - first) as u64,
            None => 0,
        }
    }
}

/// A piece of the input as it can be shown: one line, not too long.
pub(super) fn shown(text: &[u8]) -> String {
    const MOST: usize = 80;
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    let cut = &text[..text.len().min(MOST)];
    let ellipsis = if text.len() > MOST { "..." } else { "" };
    format!(
        "`{}{ellipsis}`",
        String::from_utf8_lossy(cut).escape_debug()
    )
}
