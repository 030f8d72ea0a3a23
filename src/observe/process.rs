//! The line with which a process begins its connection.

use std::fmt;

/// A process that is observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) program: String,
}

impl Process {
    /// The process that runs this.
    #[cfg(feature = "check")]
    pub(crate) fn this() -> Process {
        let path = std::env::current_exe().ok();
        let name = path.as_deref().and_then(std::path::Path::file_stem);
        let name = name.unwrap_or("program".as_ref()).to_string_lossy();
        Process {
            id: std::process::id(),
            // In the greeting it stands on one line.
            program: plain(&name),
        }
    }

    #[cfg(feature = "check")]
    pub(crate) fn greeting(&self) -> String {
        format!("process {} {}\n", self.id, self.program)
    }
}

/// A program's name, fit for a greeting and for a terminal.
fn plain(name: &str) -> String {
    name.replace(char::is_control, " ")
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.program, self.id)
    }
}

#[cfg(feature = "cli")]
mod read {
    use std::io::{self, BufRead, Read};

    use super::{Process, plain};

    /// No greeting is longer: a file's name has 255 bytes at most.
    const MAX: u64 = 1024;

    impl Process {
        /// Reads the greeting, if there is one. What does not begin like one is left in the input.
        ///
        /// # Errors
        ///
        /// Where the input cannot be read, or begins like a greeting and is none.
        pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Option<Process>> {
            if input.fill_buf()?.first() != Some(&b'p') {
                return Ok(None);
            }
            let mut line = Vec::new();
            input.take(MAX).read_until(b'\n', &mut line)?;
            let process = parse(&line).ok_or_else(|| {
                let found = line[..line.len().min(80)].escape_ascii();
                let text = format!(
                    "byte 0: expected a trace or the line `process NUMBER PROGRAM` before it, \
                     found `{found}`"
                );
                io::Error::new(io::ErrorKind::InvalidData, text)
            })?;
            Ok(Some(process))
        }
    }

    fn parse(line: &[u8]) -> Option<Process> {
        let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
        let (id, program) = line.strip_prefix("process ")?.split_once(' ')?;
        Some(Process {
            id: id.parse().ok()?,
            program: plain(program),
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_greeting_is_read_and_anything_else_is_left() {
            let mut input = &b"process 17 a program\nAERO"[..];
            let process = Process::read(&mut input).unwrap().unwrap();
            assert_eq!(process.to_string(), "a program (process 17)");
            assert_eq!(input, b"AERO");
            assert_eq!(Process::read(&mut input).unwrap(), None);
            assert_eq!(input, b"AERO");
            assert_eq!(Process::read(&mut &b""[..]).unwrap(), None);
            let mut input = "process 7 a\u{1b}[31m\u{9b}1m\u{7}b\n".as_bytes();
            let process = Process::read(&mut input).unwrap().unwrap();
            assert_eq!(process.to_string(), "a [31m 1m b (process 7)");
        }

        #[test]
        fn a_greeting_that_is_none_is_shown() {
            let endless = "process ".repeat(1000);
            for text in ["process x y\n", "process 1\n", "p", &endless] {
                let error = Process::read(&mut text.as_bytes()).unwrap_err();
                let shown: String = text.chars().take(4).collect();
                let shown = shown.escape_default().to_string();
                assert!(error.to_string().contains(&format!("found `{shown}")));
            }
        }
    }
}
