//! Requests that the app sends itself, with the HTTP stack of its platform.

use crate::effect::{HttpHeader, HttpRequest};
use crate::error::{CallbackError, StepwellError};
use crate::task::{Reply, StopOnDrop, TaskRunner, next_id};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, Stream, StreamExt};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use stepwell_io::HttpClient;
use stepwell_io::http::SendError;
use tokio::sync::{mpsc, oneshot};

/// The number of chunks of an answer that may wait for the turn that reads them; with more, `HttpAnswer.received`
/// waits.
const PIECES: usize = 4;

/// Sends an agent's requests, with the app's own HTTP stack: its proxies, pinned certificates, interceptors.
#[uniffi::export(foreign)]
#[async_trait::async_trait]
pub trait HttpTransport: Send + Sync {
    /// Sends a request, reports the answer to `answer`, and returns at its end. An error is a request that failed, or
    /// an answer that broke off: the turn decides whether to send the request again. When the answer is no longer
    /// needed, the call is cancelled.
    ///
    /// Set no time limit for the answer's body: a model may think for minutes, and the turn has clocks of its own. Do
    /// not follow a redirect to another host: the request holds the key.
    async fn send(
        &self,
        request: HttpRequest,
        answer: Arc<HttpAnswer>,
    ) -> Result<(), CallbackError>;
}

/// A request for the app's event loop to send; see `TaskRunner`. A task that is dropped unfinished counts as failed.
#[derive(Debug, uniffi::Object)]
pub struct HttpTask {
    id: u64,
    request: HttpRequest,
    answer: Arc<HttpAnswer>,
    end: Reply<Result<(), CallbackError>>,
}

#[uniffi::export]
impl HttpTask {
    /// Returns the id of the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the request to send.
    pub fn request(&self) -> HttpRequest {
        self.request.clone()
    }

    /// Returns where the answer goes.
    pub fn answer(&self) -> Arc<HttpAnswer> {
        Arc::clone(&self.answer)
    }

    /// Completes the answer. Returns whether the answer was still wanted.
    pub fn finish(&self) -> bool {
        self.end.give(Ok(()))
    }

    /// Fails the request: it could not be sent, or its answer broke off. The reason goes to the log and to the app's
    /// user: it must contain neither keys nor addresses. Returns whether the answer was still wanted.
    pub fn fail(&self, reason: String) -> bool {
        self.end.give(Err(CallbackError::Failed { reason }))
    }
}

/// Takes the answer to one request of an agent: first its head, then its body as it comes.
#[derive(Debug, uniffi::Object)]
pub struct HttpAnswer {
    head: Mutex<Option<oneshot::Sender<Response<()>>>>,
    pieces: mpsc::Sender<Bytes>,
}

#[uniffi::export]
impl HttpAnswer {
    /// Takes the status and the headers. A body that is compressed and passed on as it was sent needs
    /// `content-encoding`; for a body that the HTTP stack has unpacked, that header changes nothing.
    ///
    /// Fails if the status is invalid.
    pub fn opened(&self, status: u16, headers: Vec<HttpHeader>) -> Result<(), StepwellError> {
        let status = StatusCode::from_u16(status).map_err(|_| {
            StepwellError::configuration(
                &format!("{status} is no status of HTTP"),
                "hand on the status of the answer as it came",
            )
        })?;
        let mut response = Response::new(());
        *response.status_mut() = status;
        // Headers that HTTP does not allow are left out; they have no meaning to lose.
        let headers = headers.into_iter().filter_map(|header| {
            let name = HeaderName::try_from(header.name).ok()?;
            Some((name, HeaderValue::try_from(header.value).ok()?))
        });
        for (name, value) in headers {
            response.headers_mut().append(name, value);
        }
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(head) = head.take() {
            // The receiver may be gone.
            let _ = head.send(response);
        }
        Ok(())
    }

    /// Takes a chunk of the body. Waits while the turn is behind. Returns whether more is wanted: if not, abandon the
    /// answer.
    pub async fn received(&self, bytes: Vec<u8>) -> bool {
        self.pieces.send(bytes.into()).await.is_ok()
    }
}

/// Creates an HTTP client for agents from the app's transport.
pub(crate) fn client(transport: Arc<dyn HttpTransport>) -> HttpClient {
    from(move |request, answer| {
        let transport = Arc::clone(&transport);
        async move { transport.send(request, answer).await }.boxed()
    })
}

/// Creates an HTTP client from the app's event loop.
pub(crate) fn client_of(runner: Arc<dyn TaskRunner>) -> HttpClient {
    from(move |request, answer| {
        let runner = Arc::clone(&runner);
        async move {
            let (end, ended) = Reply::new();
            let id = next_id();
            let task = Arc::new(HttpTask {
                id,
                request,
                answer,
                end,
            });
            let of = Arc::clone(&runner);
            let mut stop = StopOnDrop::new(move || of.cancel(id));
            let result = match runner.send_request(task) {
                Ok(()) => ended.await.unwrap_or_else(|_| {
                    Err(CallbackError::Failed {
                        reason: "the request ended without an answer".to_owned(),
                    })
                }),
                Err(error) => Err(error),
            };
            stop.disarm();
            result
        }
        .boxed()
    })
}

/// The sending of one request, which is over when its answer is.
type Sending = BoxFuture<'static, Result<(), CallbackError>>;

fn from<F>(send: F) -> HttpClient
where
    F: Fn(HttpRequest, Arc<HttpAnswer>) -> Sending + Send + Sync + 'static,
{
    HttpClient::from_fn(move |request: Request<Bytes>| {
        let (head, opened) = oneshot::channel();
        let (pieces, received) = mpsc::channel(PIECES);
        let answer = Arc::new(HttpAnswer {
            head: Mutex::new(Some(head)),
            pieces,
        });
        let sending = send(of(request), answer);
        respond(sending, opened, received)
    })
}

/// Waits for the head of an answer; its body continues the sending.
async fn respond(
    mut sending: Sending,
    mut opened: oneshot::Receiver<Response<()>>,
    received: mpsc::Receiver<Bytes>,
) -> Result<Response<BoxStream<'static, Result<Bytes, SendError>>>, SendError> {
    let (head, end) = tokio::select! {
        biased;
        Ok(head) = &mut opened => (head, End::Open(sending)),
        // The complete answer may have arrived at once, and what arrived before a break counts.
        result = &mut sending => match (opened.try_recv(), End::of(result)) {
            (Ok(head), end) => (head, end),
            (Err(_), End::Broken(error)) => return Err(error),
            (Err(_), _) => return Err(SendError::new("the app's HTTP client gave no answer")),
        },
    };
    let body = Answer { end, received };
    Ok(head.map(|()| body.boxed()))
}

/// The body of an answer. Dropping it cancels the sending.
struct Answer {
    end: End,
    received: mpsc::Receiver<Bytes>,
}

/// The state of the sending.
enum End {
    Open(Sending),
    Whole,
    Broken(SendError),
    Told,
}

impl End {
    fn of(result: Result<(), CallbackError>) -> Self {
        match result {
            Ok(()) => Self::Whole,
            Err(error) => Self::Broken(SendError::new(error.to_string())),
        }
    }
}

impl Stream for Answer {
    type Item = Result<Bytes, SendError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let End::Open(sending) = &mut self.end
            && let Poll::Ready(result) = sending.poll_unpin(context)
        {
            self.end = End::of(result);
        }
        if let End::Open(_) = self.end {
            // The app may release the answer before it reports how the sending ended.
            return match self.received.poll_recv(context) {
                Poll::Ready(Some(piece)) => Poll::Ready(Some(Ok(piece))),
                Poll::Ready(None) | Poll::Pending => Poll::Pending,
            };
        }
        // The app may still hold the answer, but no chunk follows the end.
        if let Ok(piece) = self.received.try_recv() {
            return Poll::Ready(Some(Ok(piece)));
        }
        match std::mem::replace(&mut self.end, End::Told) {
            End::Broken(error) => Poll::Ready(Some(Err(error))),
            End::Open(_) | End::Whole | End::Told => Poll::Ready(None),
        }
    }
}

fn of(request: Request<Bytes>) -> HttpRequest {
    let (head, body) = request.into_parts();
    let headers = head.headers.iter().map(|(name, value)| HttpHeader {
        name: name.as_str().to_owned(),
        value: String::from_utf8_lossy(value.as_bytes()).into_owned(),
    });
    HttpRequest {
        method: head.method.as_str().to_owned(),
        url: head.uri.to_string(),
        headers: headers.collect(),
        body: body.into(),
    }
}
