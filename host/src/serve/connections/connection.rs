//! One connection: its requests, and their answers.

use super::flow::{Flow, RequestBody};
use super::presence::{Busy, Presence};
use super::rooms::{ConnectionSlot, Connections};
use crate::serve::refusal::{Code, Refusal};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// The paths that monitors of the server request.
pub(in crate::serve) const HEALTH_PATH: &str = "/health";
pub(in crate::serve) const READY_PATH: &str = "/ready";

/// One connection.
pub(super) struct Connection {
    presence: Arc<Presence>,
    _slot: Option<ConnectionSlot>,
}

impl Connection {
    pub(super) fn new(connections: &Arc<Connections>, slot: Option<ConnectionSlot>) -> Self {
        let is_reserved = slot.as_ref().is_some_and(|slot| slot.is_reserved);
        Self {
            presence: Presence::new(connections, is_reserved),
            _slot: slot,
        }
    }

    /// Answers requests until the client has no more, or the connection has waited for too long or makes room. After `closing`
    /// the connection answers the request that it has.
    pub(super) async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        router: Router,
        closing: CancellationToken,
    ) {
        let router = TowerToHyperService::new(router);
        let presence = Arc::clone(&self.presence);
        let service = service_fn(move |request| answer(&presence, &router, request));
        let stream = TokioIo::new(Flow::new(stream, Arc::clone(&self.presence)));
        let mut builder = http1::Builder::new();
        // A reserved connection makes room for the next one.
        let connection = builder
            .keep_alive(!self.presence.is_reserved)
            .serve_connection(stream, service);
        let mut connection = pin!(connection);
        let mut expired = pin!(self.presence.expired());
        let mut is_closing = false;
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(target: "stepwell", %error, "a connection broke off");
                    }
                    return;
                }
                () = &mut expired => return,
                () = self.presence.close.cancelled() => return,
                () = closing.cancelled(), if !is_closing => {
                    is_closing = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// Answers a request. One that was read on a reserved connection needs a usual slot, unless it comes from a monitor.
fn answer(
    presence: &Arc<Presence>,
    router: &TowerToHyperService<Router>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<AnswerBody>, Infallible>> + use<> {
    let busy = presence.begin_request();
    let is_watching = matches!(request.uri().path(), HEALTH_PATH | READY_PATH);
    let slot = match presence.is_reserved && !is_watching {
        true => presence.connections.usual.free().ok_or(()).map(Some),
        false => Ok(None),
    };
    let mut request = request.map(|body| Body::new(RequestBody::new(body, Arc::clone(presence))));
    request
        .extensions_mut()
        .insert(CloseConnection(presence.close.clone()));
    let response = slot.map(|slot| (slot, hyper::service::Service::call(router, request)));
    async move {
        let (slot, response) = match response {
            Ok((slot, response)) => (slot, response.await?),
            Err(()) => (None, refused()),
        };
        Ok(response.map(|body| AnswerBody {
            body,
            _busy: busy,
            _slot: slot,
        }))
    }
}

/// The body of an answer. The request is answered when the body is dropped.
struct AnswerBody {
    body: Body,
    _busy: Busy,
    /// The slot of the request, if its connection has none of that kind.
    _slot: Option<OwnedSemaphorePermit>,
}

/// Closes the connection of a request, which has this in its extensions.
#[derive(Clone, Debug)]
pub(in crate::serve) struct CloseConnection(pub(in crate::serve) CancellationToken);

fn refused() -> Response<Body> {
    let message = "all connections of the server are taken: try again in a while";
    Refusal::new(Code::TooManyConnections, message).into_response()
}

impl HttpBody for AnswerBody {
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
