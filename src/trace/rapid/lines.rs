//! Whole lines out of a stream, many at a time.

use std::io::Read;

use super::MAX_LINE;
use crate::trace::{Error, Place};

const CHUNK: usize = 1 << 18;
/// So many readable bytes follow the last line, so that a word can be loaded from anywhere in it.
const PADDING: usize = 8;

/// A window on the input that ends with a line's end.
pub(super) struct Lines<R> {
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
    pub(super) fn new(input: R) -> Self {
        Self {
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

    /// The whole window; the next line begins at `start`, and every line in it ends with `\n`.
    #[inline]
    pub(super) fn window(&self) -> &[u8] {
        &self.buffer
    }

    /// The next line with its end, without the rest.
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
    pub(super) fn advance(&mut self, file: &str, next: usize) -> Result<(), Error> {
        if next - self.start > MAX_LINE + 1 {
            return Err(self.too_long(file));
        }
        self.start = next;
        self.line += 1;
        Ok(())
    }

    pub(super) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Makes sure that there is a line in the window; false at the end of the input.
    #[inline]
    pub(super) fn more(&mut self, file: &str) -> Result<bool, Error> {
        if self.start < self.whole {
            Ok(true)
        } else {
            self.read(file)
        }
    }

    #[cold]
    fn read(&mut self, file: &str) -> Result<bool, Error> {
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
                return Err(self.too_long(file));
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
                Err(error) => return Err(Error::io(file, error)),
            }
        }
    }

    #[cold]
    fn too_long(&self, file: &str) -> Error {
        Error::mismatch(
            file,
            Place::Line(self.line),
            format!("a line of at most {MAX_LINE} bytes"),
            "a longer one",
        )
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

    #[inline]
    pub(super) fn note(&mut self, index: usize, line: u64) {
        if line != self.next {
            self.exceptions.push((index, line));
        }
        self.next = line + 1;
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
