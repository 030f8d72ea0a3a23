//! Where an observer listens.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// Where an observer listens: a Unix socket, or a TCP port of this machine.
///
/// ```
/// use aerodrome::observe::Address;
///
/// let socket: Address = "/tmp/observer.sock".parse()?;
/// assert_eq!(socket, "unix:/tmp/observer.sock".parse()?);
/// let port: Address = "localhost:7070".parse()?;
/// assert_eq!(port.to_string(), "127.0.0.1:7070");
/// let elsewhere = "10.0.0.7:7070".parse::<Address>().unwrap_err();
/// assert!(elsewhere.to_string().contains("found `10.0.0.7:7070`"));
/// # Ok::<(), aerodrome::observe::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// The path of a Unix socket.
    Unix(PathBuf),
    /// An address of the loopback interface. Events are neither encrypted nor is their sender
    /// known, so they do not leave the machine.
    Tcp(SocketAddr),
}

/// What was given is no address of an observer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError {
    found: String,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = &self.found;
        write!(
            f,
            "expected the path of a Unix socket (`unix:/tmp/observer.sock`) or an address of the \
             loopback interface (`127.0.0.1:7070`), found `{found}`"
        )
    }
}

impl std::error::Error for AddressError {}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError {
            found: text.to_owned(),
        };
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(wrong()),
                path => Ok(Address::Unix(path.into())),
            };
        }
        match tcp(text) {
            Some(address) if address.ip().is_loopback() => Ok(Address::Tcp(address)),
            Some(_) => Err(wrong()),
            None if text.is_empty() || names_a_port(text) => Err(wrong()),
            None => Ok(Address::Unix(text.into())),
        }
    }
}

/// A socket address. Names are not looked up, but for the one that everybody has.
fn tcp(text: &str) -> Option<SocketAddr> {
    let port = |text: &str| text.strip_prefix("localhost:")?.parse().ok();
    let address = text.parse().ok();
    address.or_else(|| Some((IpAddr::from(Ipv4Addr::LOCALHOST), port(text)?).into()))
}

/// Whether a text that is no socket address was meant to be one: `example.org:7070`.
fn names_a_port(text: &str) -> bool {
    let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    text.rsplit_once(':')
        .is_some_and(|(host, port)| !host.contains('/') && is_number(port))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp(address) => write!(f, "{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        for text in [
            "unix:/tmp/a.sock",
            "unix:a b",
            "unix:127.0.0.1:1",
            "127.0.0.1:7",
            "[::1]:7",
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
        }
        for (text, same) in [
            ("/tmp/a.sock", "unix:/tmp/a.sock"),
            ("a.sock", "unix:a.sock"),
            ("./a:1", "unix:./a:1"),
            ("localhost:80", "127.0.0.1:80"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), same);
        }
    }

    #[test]
    fn what_is_no_address_of_this_machine_is_refused() {
        for text in [
            "",
            "unix:",
            "0.0.0.0:7070",
            "192.168.1.2:7070",
            "[::]:7070",
            "example.org:7070",
            "localhost:65536",
            "127.0.0.1:",
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.starts_with("expected the path of"), "{error}");
            assert!(error.ends_with(&format!("found `{text}`")), "{error}");
        }
    }
}
