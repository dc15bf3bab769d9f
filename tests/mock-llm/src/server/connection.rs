//! Connections that the server can cut.
//!
//! A body that fails makes hyper drop the connection together with what it had not written yet. A script names the last
//! byte, so the cut is made below hyper: once all is flushed.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use futures::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

const OPEN: u8 = 0;
const CUT_WHEN_FLUSHED: u8 = 1;
const CLOSED: u8 = 2;

/// A handle on one connection, given to the handler of each of its requests.
#[derive(Clone)]
pub(crate) struct Connection(Arc<State>);

struct State {
    phase: AtomicU8,
    reader: AtomicWaker,
}

impl Connection {
    /// Closes it as soon as all that was written is out. Called from the body, whose next `Pending` makes
    /// hyper flush.
    pub(crate) fn cut(&self) {
        self.0.phase.store(CUT_WHEN_FLUSHED, Ordering::Release);
    }

    /// Closes it now.
    pub(crate) fn close(&self) {
        self.0.close();
    }
}

impl State {
    fn close(&self) {
        self.phase.store(CLOSED, Ordering::Release);
        self.reader.wake();
    }

    fn check(&self) -> io::Result<()> {
        if self.phase.load(Ordering::Acquire) == CLOSED {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}

/// All open connections of a server.
#[derive(Clone, Default)]
pub(crate) struct Connections(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    stopped: bool,
    states: Vec<Weak<State>>,
}

impl Connections {
    fn add(&self, state: &Arc<State>) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.stopped {
            state.close();
        }
        open.states.retain(|state| state.strong_count() > 0);
        open.states.push(Arc::downgrade(state));
    }

    /// Closes all, those that are still to come too.
    pub(crate) fn close(&self) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.stopped = true;
        for state in open.states.drain(..).filter_map(|state| state.upgrade()) {
            state.close();
        }
    }
}

/// Accepts connections that can be cut.
pub(crate) struct Listener {
    pub(crate) inner: TcpListener,
    pub(crate) connections: Connections,
}

impl axum::serve::Listener for Listener {
    type Io = Socket;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Socket, SocketAddr) {
        let (stream, address) = axum::serve::Listener::accept(&mut self.inner).await;
        // Each piece goes out when it is due. A socket that refuses the option only delays it.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot set TCP_NODELAY");
        }
        let state = Arc::new(State {
            phase: AtomicU8::new(OPEN),
            reader: AtomicWaker::new(),
        });
        self.connections.add(&state);
        (Socket { stream, state }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

impl Connected<IncomingStream<'_, Listener>> for Connection {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Self {
        Self(Arc::clone(&stream.io().state))
    }
}

/// A TCP stream with the switch of its [`Connection`].
pub(crate) struct Socket {
    stream: TcpStream,
    state: Arc<State>,
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Registered before the look, so that a close in between still wakes.
        self.state.reader.register(cx.waker());
        self.state.check()?;
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.state.check()?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.state.check()?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// hyper gets here when its own buffer is empty: the moment for a cut.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.state.check()?;
        let flushed = Pin::new(&mut self.stream).poll_flush(cx)?;
        if flushed.is_ready() && self.state.phase.load(Ordering::Acquire) == CUT_WHEN_FLUSHED {
            self.state.close();
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        flushed.map(Ok)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
