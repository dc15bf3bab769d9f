//! The connections of the server: so many at once, and none that keeps the others out by saying nothing.
//!
//! A connection that waits for a request has a deadline: [`Bounds::header_timeout`] for its first one,
//! [`Bounds::idle_timeout`] for the next, from when the client has read the last of an answer. Where there is no room for a
//! new connection, the one is closed that has waited longest for its client: for a request, for the rest of one, or to
//! read. One whose request is being answered has no deadline here: runs and bodies have their own.
//!
//! Where all are being answered, a few more are taken that may ask for `/health` and `/ready` alone: whoever watches over the
//! server is answered always. Their other requests are refused, unless there is room by then.

mod flow;

use super::refusal::{Code, Refusal};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Request;
use axum::response::{IntoResponse, Response};
use flow::{Asked, Flow};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Between two tries to take a connection when the process has no more files to open.
const PAUSE: Duration = Duration::from_millis(100);

/// How many connections there may be at most beyond those of [`Bounds::most`], for `/health` and `/ready`.
const RESERVED: usize = 8;

/// The paths of those who watch over the server.
pub(super) const HEALTH_PATH: &str = "/health";
pub(super) const READY_PATH: &str = "/ready";

/// How many connections there may be, and how long they may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The most at once.
    pub(super) most: usize,
    /// How long the headers of a new connection's request may take to come.
    pub(super) header_timeout: Duration,
    /// How long a connection may stay open between two requests.
    pub(super) idle_timeout: Duration,
}

/// Takes connections until `closing`, and waits then until all have been answered.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: Bounds,
    closing: CancellationToken,
) {
    let connections = Arc::new(Connections::new(bounds));
    let tasks = TaskTracker::new();
    let take = async {
        loop {
            let stream = connections.accept(&listener).await;
            let place = connections.place().await;
            let router = router.clone();
            let connection = Connection::new(&connections, place);
            let closing = closing.clone();
            tasks.spawn(connection.serve(stream, router, closing));
        }
    };
    tokio::select! {
        () = closing.cancelled() => {}
        () = take => {}
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

/// All connections.
#[derive(Debug)]
struct Connections {
    bounds: Bounds,
    usual: Room,
    reserved: Room,
    is_full: AtomicBool,
}

/// So many connections at once.
#[derive(Debug)]
struct Room {
    places: Arc<Semaphore>,
    waiting: Mutex<Waiting>,
}

/// The connections that wait, the one that has waited longest first.
#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    close: BTreeMap<u64, CancellationToken>,
}

/// What a connection has of the room.
#[derive(Debug)]
struct Place {
    _permit: OwnedSemaphorePermit,
    is_reserved: bool,
}

impl Room {
    fn new(most: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            waiting: Mutex::default(),
        }
    }

    fn free(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Waits for a place. The room is never closed.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    /// Has the connection closed that has waited longest. Returns whether one waits.
    fn close_longest_waiting(&self) -> bool {
        let longest = self.waiting().close.pop_first();
        longest.inspect(|(_, close)| close.cancel()).is_some()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing is left half-done under the lock.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connections {
    fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            usual: Room::new(bounds.most),
            reserved: Room::new(RESERVED),
            is_full: AtomicBool::new(false),
        }
    }

    fn room(&self, is_reserved: bool) -> &Room {
        match is_reserved {
            true => &self.reserved,
            false => &self.usual,
        }
    }

    async fn accept(&self, listener: &TcpListener) -> TcpStream {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    // Each event goes out when it is said. A socket that refuses the option only delays it.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(target: "stepwell", %error, "cannot set TCP_NODELAY");
                    }
                    return stream;
                }
                Err(error) if is_of_the_client(&error) => {}
                Err(error) => {
                    tracing::error!(target: "stepwell", %error, "no connection can be taken");
                    if !self.usual.close_longest_waiting() {
                        self.reserved.close_longest_waiting();
                    }
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Room for one more.
    async fn place(&self) -> Option<Place> {
        if let Some(permit) = self.usual.free() {
            self.is_full.store(false, Ordering::Relaxed);
            return Some(Place {
                _permit: permit,
                is_reserved: false,
            });
        }
        // Once for all that come until there is room again without that.
        if !self.is_full.swap(true, Ordering::Relaxed) {
            tracing::warn!(target: "stepwell", most = self.bounds.most, "there are as many connections as there may be");
        }
        let is_reserved = !self.usual.close_longest_waiting();
        let room = self.room(is_reserved);
        let permit = match room.free() {
            Some(permit) => permit,
            None => {
                // What is asked on a reserved connection is answered at once: one of them waits for its client.
                if is_reserved {
                    room.close_longest_waiting();
                }
                room.place().await?
            }
        };
        Some(Place {
            _permit: permit,
            is_reserved,
        })
    }
}

fn is_of_the_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
    )
}

/// One connection.
struct Connection {
    presence: Arc<Presence>,
    _place: Option<Place>,
}

/// Whether a connection waits for its client.
#[derive(Debug)]
struct Presence {
    connections: Arc<Connections>,
    state: Mutex<State>,
    /// By when its next request must have come; nothing while one is answered.
    deadline: watch::Sender<Option<Instant>>,
    /// It is to make room.
    close: CancellationToken,
    is_reserved: bool,
}

#[derive(Debug, Default)]
struct State {
    /// Its place among those that wait.
    place: Option<u64>,
    /// Whether a request is being answered.
    is_busy: bool,
}

impl Connection {
    fn new(connections: &Arc<Connections>, place: Option<Place>) -> Self {
        let presence = Presence {
            connections: Arc::clone(connections),
            state: Mutex::default(),
            deadline: watch::Sender::new(None),
            close: CancellationToken::new(),
            is_reserved: place.as_ref().is_some_and(|place| place.is_reserved),
        };
        presence.waits(connections.bounds.header_timeout);
        Self {
            presence: Arc::new(presence),
            _place: place,
        }
    }

    /// Answers its requests until the client has no more, it has waited for too long, or makes room. After `closing` it
    /// answers the request that it has.
    async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        router: Router,
        closing: CancellationToken,
    ) {
        let presence = Arc::clone(&self.presence);
        let router = TowerToHyperService::new(router);
        let is_reserved = presence.is_reserved;
        let service = service_fn(move |request: Request<Incoming>| {
            let busy = presence.busy();
            // A request that was read on a reserved connection has a place among the usual ones, if there is one by now.
            let is_watching = matches!(request.uri().path(), HEALTH_PATH | READY_PATH);
            let usual = match is_reserved && !is_watching {
                true => presence.connections.usual.free().ok_or(()).map(Some),
                false => Ok(None),
            };
            let mut request =
                request.map(|body| Body::new(Asked::new(body, Arc::clone(&presence))));
            request
                .extensions_mut()
                .insert(CloseConnection(presence.close.clone()));
            let response =
                usual.map(|place| (place, hyper::service::Service::call(&router, request)));
            async move {
                let (place, response) = match response {
                    Ok((place, response)) => (place, response.await?),
                    Err(()) => (None, refused()),
                };
                Ok::<_, Infallible>(response.map(|body| Answer {
                    body,
                    _busy: busy,
                    _place: place,
                }))
            }
        });
        let stream = TokioIo::new(Flow::new(stream, Arc::clone(&self.presence)));
        let mut builder = http1::Builder::new();
        // A reserved one is for the next that comes.
        let connection = builder
            .keep_alive(!is_reserved)
            .serve_connection(stream, service);
        let mut connection = pin!(connection);
        let mut late = pin!(self.presence.late());
        let mut is_closing = false;
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(target: "stepwell", %error, "a connection broke off");
                    }
                    return;
                }
                () = &mut late => return,
                () = self.presence.close.cancelled() => return,
                () = closing.cancelled(), if !is_closing => {
                    is_closing = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

impl Presence {
    /// A request is being answered until this is dropped.
    fn busy(self: &Arc<Self>) -> Busy {
        let mut state = self.lock();
        state.is_busy = true;
        self.goes_on(&mut state);
        self.deadline.send_replace(None);
        Busy(Arc::clone(self))
    }

    /// Nothing is being answered: for so long it may wait.
    fn waits(&self, time: Duration) {
        let mut state = self.lock();
        state.is_busy = false;
        self.is_waiting(&mut state);
        self.sets_deadline(time);
    }

    /// It cannot go on before its client has sent or read something.
    fn stalls(&self) {
        self.is_waiting(&mut self.lock());
    }

    /// The client has: of an answer, perhaps, that is over.
    fn moves(&self) {
        let mut state = self.lock();
        match state.is_busy {
            true => self.goes_on(&mut state),
            false => self.sets_deadline(self.connections.bounds.idle_timeout),
        }
    }

    fn is_waiting(&self, state: &mut State) {
        if state.place.is_none() {
            let mut waiting = self.connections.room(self.is_reserved).waiting();
            let place = waiting.next;
            waiting.next += 1;
            waiting.close.insert(place, self.close.clone());
            state.place = Some(place);
        }
    }

    fn goes_on(&self, state: &mut State) {
        if let Some(place) = state.place.take() {
            let room = self.connections.room(self.is_reserved);
            room.waiting().close.remove(&place);
        }
    }

    fn sets_deadline(&self, time: Duration) {
        // A time beyond what can be counted is no limit.
        self.deadline.send_replace(Instant::now().checked_add(time));
    }

    /// Waits until it has waited for too long.
    async fn late(&self) {
        let mut deadline = self.deadline.subscribe();
        loop {
            let at = *deadline.borrow_and_update();
            let passed = async {
                match at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                _ = deadline.changed() => {}
                () = passed => return,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing is left half-done under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.goes_on(&mut self.lock());
    }
}

/// A request is being answered.
#[derive(Debug)]
struct Busy(Arc<Presence>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.waits(self.0.connections.bounds.idle_timeout);
    }
}

/// The body of an answer. The request is answered when it is dropped.
struct Answer {
    body: Body,
    _busy: Busy,
    /// The place that the request has, if its connection has none of that kind.
    _place: Option<OwnedSemaphorePermit>,
}

/// Closes the connection of a request: in its extensions.
#[derive(Clone, Debug)]
pub(super) struct CloseConnection(pub(super) CancellationToken);

fn refused() -> Response {
    let message = "all connections of the server are taken: try again in a while";
    Refusal::new(Code::TooManyConnections, message).into_response()
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
