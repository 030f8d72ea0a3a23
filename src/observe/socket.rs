//! Sockets of both sorts as one.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::Address;

/// One end of a connection.
///
/// A Unix socket is in here as a `TcpStream`, too: both are the same system calls on a descriptor,
/// and a `TcpStream` never raises SIGPIPE, whatever the program has done to that signal. A
/// `UnixStream` of older versions of std does.
///
/// A clone is the same descriptor, so it can be had where the system gives no more of them.
#[derive(Clone, Debug)]
pub(crate) struct Stream(Arc<TcpStream>);

impl Stream {
    /// Connects, in that time or never.
    #[cfg(feature = "check")]
    pub(crate) fn connect(address: &Address, patience: Duration) -> io::Result<Stream> {
        match address {
            Address::Unix(path) => connect_unix(path.clone(), patience),
            Address::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, patience)?;
                stream.set_nodelay(true)?;
                Ok(Stream(stream.into()))
            }
        }
    }

    /// A write that gets nothing away for so long fails.
    #[cfg(feature = "check")]
    pub(crate) fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.0.set_write_timeout(Some(patience))
    }

    /// Whoever reads from the other end has come to the end, also where a forked process still has
    /// this one.
    pub(crate) fn close(&self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Both)
    }

    /// The descriptor, or -1 on systems that have none.
    #[cfg(feature = "check")]
    pub(crate) fn descriptor(&self) -> i32 {
        #[cfg(unix)]
        return std::os::fd::AsRawFd::as_raw_fd(&*self.0);
        #[cfg(not(unix))]
        return -1;
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.0).flush()
    }
}

#[cfg(not(unix))]
fn no_unix_sockets() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "there are no Unix sockets on this system",
    )
}

#[cfg(unix)]
fn of_unix(stream: std::os::unix::net::UnixStream) -> Stream {
    let stream: TcpStream = std::os::fd::OwnedFd::from(stream).into();
    Stream(stream.into())
}

/// A listener that has more connections waiting than it takes makes `connect` wait, and std gives
/// no limit to that.
#[cfg(unix)]
fn connect_unix(path: std::path::PathBuf, patience: Duration) -> io::Result<Stream> {
    use std::sync::mpsc;

    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::Builder::new()
        .name("aerodrome-connect".into())
        .spawn(move || {
            #[cfg(feature = "check")]
            crate::record::never_track_this_thread();
            let _ = sender.send(std::os::unix::net::UnixStream::connect(path));
        })?;
    match receiver.recv_timeout(patience) {
        Ok(connected) => connected.map(of_unix),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

#[cfg(all(not(unix), feature = "check"))]
fn connect_unix(_: std::path::PathBuf, _: Duration) -> io::Result<Stream> {
    Err(no_unix_sockets())
}

#[cfg(feature = "cli")]
mod listen {
    use std::net::{SocketAddr, TcpListener};
    #[cfg(unix)]
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use super::*;

    /// A listener that is there answers at once, unless many wait for it already.
    #[cfg(unix)]
    const PATIENCE: Duration = Duration::from_secs(2);

    /// Where connections come in; asking for one never waits.
    #[derive(Debug)]
    pub(crate) struct Listener {
        socket: Socket,
        address: Address,
        /// A Unix socket's device and inode.
        file: Option<(u64, u64)>,
    }

    #[derive(Debug)]
    enum Socket {
        #[cfg(unix)]
        Unix(UnixListener),
        Tcp(TcpListener),
    }

    impl Listener {
        pub(crate) fn bind(address: &Address) -> io::Result<Listener> {
            match address {
                Address::Unix(path) => bind_unix(path),
                Address::Tcp(address) => bind_tcp(*address),
            }
        }

        /// Where it listens: the port is known, also where any was asked for.
        pub(crate) fn address(&self) -> &Address {
            &self.address
        }

        /// The next connection, if somebody waits.
        pub(crate) fn accept(&self) -> io::Result<Option<Stream>> {
            let accepted = match &self.socket {
                #[cfg(unix)]
                Socket::Unix(socket) => socket.accept().map(|(stream, _)| of_unix(stream)),
                Socket::Tcp(socket) => socket.accept().map(|(stream, _)| Stream(stream.into())),
            };
            match accepted {
                Ok(stream) => {
                    // Some systems pass this on from the listener.
                    stream.0.set_nonblocking(false)?;
                    Ok(Some(stream))
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                Err(error) => Err(error),
            }
        }
    }

    impl Drop for Listener {
        fn drop(&mut self) {
            // Another may have taken the path since. The number of this one is nobody else's while
            // it is open.
            if let (Address::Unix(path), Some(own)) = (&self.address, self.file) {
                if file_number(path).ok() == Some(own) {
                    let _ = std::fs::remove_file(path);
                }
            }
        }
    }

    fn bind_tcp(address: SocketAddr) -> io::Result<Listener> {
        let socket = TcpListener::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok(Listener {
            address: Address::Tcp(socket.local_addr()?),
            socket: Socket::Tcp(socket),
            file: None,
        })
    }

    #[cfg(unix)]
    fn file_number(path: &Path) -> io::Result<(u64, u64)> {
        use std::os::unix::fs::MetadataExt;

        let found = std::fs::symlink_metadata(path)?;
        Ok((found.dev(), found.ino()))
    }

    #[cfg(not(unix))]
    fn file_number(_: &Path) -> io::Result<(u64, u64)> {
        Err(no_unix_sockets())
    }

    /// Whether another process listens there: it takes connections, or lets them wait.
    #[cfg(unix)]
    fn is_taken(path: &Path) -> bool {
        match connect_unix(path.to_owned(), PATIENCE) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::TimedOut,
        }
    }

    #[cfg(unix)]
    fn bind_unix(path: &Path) -> io::Result<Listener> {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt};

        // Tested processes may run elsewhere.
        let path = std::path::absolute(path)?;
        if let Ok(found) = std::fs::symlink_metadata(&path) {
            let in_use = |what| Err(io::Error::new(io::ErrorKind::AddrInUse, what));
            if !found.file_type().is_socket() {
                return in_use("expected a path where nothing is, found a file");
            }
            if is_taken(&path) {
                return in_use("another process listens there");
            }
            // Its process was killed.
            std::fs::remove_file(&path)?;
        }
        let socket = UnixListener::bind(&path)?;
        // Whatever the umask says: what is sent is this user's.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        socket.set_nonblocking(true)?;
        Ok(Listener {
            socket: Socket::Unix(socket),
            file: Some(file_number(&path)?),
            address: Address::Unix(path),
        })
    }

    #[cfg(not(unix))]
    fn bind_unix(_: &Path) -> io::Result<Listener> {
        Err(no_unix_sockets())
    }
}

#[cfg(feature = "cli")]
pub(crate) use self::listen::Listener;
