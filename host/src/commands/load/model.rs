//! A model whose words hold the time, which shows how long each word took to arrive.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::post;
use futures::stream;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use stepwell_demo::Failure;
use tokio::net::TcpListener;

/// The prefix of a word.
pub(super) const WORD_PREFIX: &str = "at-";

/// The moment that the words count from.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Returns the current time as in a word, in microseconds.
pub(super) fn now() -> u64 {
    u64::try_from(START.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// The model, which serves OpenAI's chat completions.
#[derive(Clone, Debug)]
pub(super) struct Model {
    rate: NonZeroU32,
    /// The number of words of an answer.
    words: Arc<AtomicUsize>,
}

impl Model {
    /// Starts to listen, until the program ends.
    pub(super) async fn listen(address: SocketAddr, rate: NonZeroU32) -> Result<Self, Failure> {
        LazyLock::force(&START);
        let unusable = |error| Failure::failed(format!("--model {address}: {error}"));
        let listener = TcpListener::bind(address).await.map_err(unusable)?;
        let model = Self {
            rate,
            words: Arc::default(),
        };
        let app = Router::new()
            .route("/v1/chat/completions", post(answer))
            .with_state(model.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(model)
    }

    /// Sets the number of words of each further answer.
    pub(super) fn say(&self, words: usize) {
        self.words.store(words, Ordering::Relaxed);
    }
}

async fn answer(State(model): State<Model>) -> impl IntoResponse {
    let words = model.words.load(Ordering::Relaxed);
    let ticks = tokio::time::interval(Duration::from_secs(1) / model.rate.get());
    let pieces = stream::unfold((ticks, 0), move |(mut ticks, said)| async move {
        let piece = match said {
            _ if said < words => {
                ticks.tick().await;
                let word = format!("{WORD_PREFIX}{} ", now());
                format!(
                    "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{word}\"}}}}]}}\n\n"
                )
            }
            _ if said == words => {
                let end = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
                format!("{end}\n\ndata: [DONE]\n\n")
            }
            _ => return None,
        };
        Some((Ok::<_, Infallible>(piece), (ticks, said + 1)))
    });
    (
        [(header::CONTENT_TYPE, "text/event-stream")],
        Body::from_stream(pieces),
    )
}
