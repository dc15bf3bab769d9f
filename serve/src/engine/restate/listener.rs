//! Where Restate calls this host.

use super::RestateSettings;
use crate::engine::restate::client::Client;
use crate::engine::restate::services::{Signals, Thread};
use crate::engine::restate::work::Work;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use restate_sdk::endpoint::Endpoint;
use restate_sdk::hyper::HyperEndpoint;
use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// How often Restate is asked whether it is there, and how long its reply may take: a turn of a connection that was cut
/// is released.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// The pauses between the tries to make this host known.
const PAUSE: Duration = Duration::from_secs(1);

/// The pause after a connection that could not be taken: there may be too many.
const UNTAKEN: Duration = Duration::from_millis(100);

/// The endpoint at which a host receives turns.
pub trait Door: Debug + Send + Sync {
    /// Makes this host known to Restate.
    fn open(&self);

    /// Takes no more calls; those under way continue.
    fn close(&self);
}

/// The services at their address.
#[derive(Debug)]
pub(super) struct Listener {
    client: Client,
    /// The URL at which Restate reaches the endpoint.
    url: String,
    closing: CancellationToken,
}

impl Listener {
    /// Listens, and answers from now on.
    ///
    /// # Errors
    /// The address is not free, or the identity key is not valid.
    pub(super) async fn bind(
        settings: &RestateSettings,
        client: Client,
        work: &Arc<Work>,
    ) -> io::Result<Self> {
        let mut endpoint = Endpoint::builder();
        if let Some(key) = &settings.identity {
            endpoint = endpoint.identity_key(key).map_err(|error| {
                let message = format!(
                    "`{key}` is no identity key of Restate's, which begins with `publickeyv1_`: {error}"
                );
                io::Error::new(io::ErrorKind::InvalidInput, message)
            })?;
        }
        let endpoint = endpoint
            .bind(Thread(Arc::clone(work)))
            .bind(Signals)
            .build();
        let endpoint = HyperEndpoint::new(endpoint);
        let listen = settings.listen;
        let unusable = |error: io::Error| {
            io::Error::new(error.kind(), format!("{listen} for Restate: {error}"))
        };
        let listener = TcpListener::bind(listen).await.map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let url = settings.url.clone();
        let url = url.unwrap_or_else(|| format!("http://{address}"));
        let closing = CancellationToken::new();
        tokio::spawn(accept(listener, endpoint, closing.clone()));
        Ok(Self {
            client,
            url,
            closing,
        })
    }
}

impl Door for Listener {
    /// As soon as Restate is there.
    fn open(&self) {
        let (url, closing) = (self.url.clone(), self.closing.clone());
        let client = self.client.clone();
        tokio::spawn(async move {
            let mut is_told = false;
            while let Err(error) = client.register(&url).await {
                if !is_told {
                    tracing::error!(target: "stepwell", url, %error, "Restate does not know this host; trying again");
                    is_told = true;
                }
                tokio::select! {
                    biased;
                    () = closing.cancelled() => return,
                    () = tokio::time::sleep(PAUSE) => {}
                }
            }
            tracing::info!(target: "stepwell", url, "Restate knows this host");
        });
    }

    fn close(&self) {
        self.closing.cancel();
    }
}

async fn accept(listener: TcpListener, endpoint: HyperEndpoint, closing: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = closing.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                tokio::spawn(serve(stream, endpoint.clone(), closing.clone()));
            }
            Err(error) => {
                tracing::warn!(target: "stepwell", %error, "a connection of Restate's cannot be taken");
                tokio::time::sleep(UNTAKEN).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, endpoint: HyperEndpoint, closing: CancellationToken) {
    // Else a small answer waits for the acknowledgement of the one before: 40 ms for each.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(target: "stepwell", %error, "answers to Restate may be late");
    }
    let mut http = http2::Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new());
    http.keep_alive_interval(KEEP_ALIVE);
    http.keep_alive_timeout(KEEP_ALIVE);
    let connection = http.serve_connection(TokioIo::new(stream), endpoint);
    let mut connection = std::pin::pin!(connection);
    let served = tokio::select! {
        biased;
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        served = connection.as_mut() => served,
    };
    if let Err(error) = served {
        tracing::debug!(target: "stepwell", %error, "a connection of Restate's has broken");
    }
}
