//! A model that answers when the test lets it.

use axum::Router;
use axum::http::header;
use axum::routing::post;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// A model of Chat Completions that holds its answers back until the test releases them.
pub(crate) struct HeldModel {
    pub(crate) url: String,
    asked: Arc<Semaphore>,
    leave: Arc<Semaphore>,
    questions: Arc<AtomicUsize>,
}

const ANSWER: &str = concat!(
    r#"data: {"choices":[{"index":0,"delta":{"content":"At last."},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n",
);

impl HeldModel {
    pub(crate) async fn start() -> Self {
        let asked = Arc::new(Semaphore::new(0));
        let leave = Arc::new(Semaphore::new(0));
        let questions = Arc::new(AtomicUsize::new(0));
        let (was_asked, has_leave) = (Arc::clone(&asked), Arc::clone(&leave));
        let count = Arc::clone(&questions);
        let answer = move || {
            let (was_asked, has_leave) = (Arc::clone(&was_asked), Arc::clone(&has_leave));
            count.fetch_add(1, Ordering::SeqCst);
            async move {
                was_asked.add_permits(1);
                has_leave.acquire().await.expect("it stays open").forget();
                ([(header::CONTENT_TYPE, "text/event-stream")], ANSWER)
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let app = Router::new().route("/v1/chat/completions", post(answer));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self {
            url,
            asked,
            leave,
            questions,
        }
    }

    /// Waits for the next question.
    pub(crate) async fn asked(&self) {
        self.asked.acquire().await.expect("it stays open").forget();
    }

    /// Lets it give one answer.
    pub(crate) fn answer(&self) {
        self.leave.add_permits(1);
    }

    /// Returns the number of requests.
    pub(crate) fn questions(&self) -> usize {
        self.questions.load(Ordering::SeqCst)
    }
}
