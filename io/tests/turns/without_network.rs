//! An agent whose client is a function, under a paused clock: what `docs/guides/invariants.md` shows.

use bytes::Bytes;
use futures::stream;
use http::HeaderValue;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use stepwell_core::dialect::{Dialect, Endpoint};
use stepwell_io::tool::Tool;
use stepwell_io::{Agent, HttpClient};
use stepwell_testing::reply::{body, call, media_type, text};

const DIALECT: Dialect = Dialect::OpenAiChat;

fn endpoint() -> Endpoint {
    stepwell_testing::config(DIALECT).endpoint
}

fn model(requests: Arc<AtomicUsize>) -> HttpClient {
    HttpClient::from_fn(move |request: http::Request<Bytes>| {
        let hop = requests.fetch_add(1, Ordering::Relaxed);
        async move {
            let asked: serde_json::Value = serde_json::from_slice(request.body())?;
            assert_eq!(asked["messages"][0]["content"], "Hello");
            let part = [call("a", "wait", "{}"), text("Here you are.")];
            let bytes = Bytes::from(body(DIALECT, hop, &part[hop..=hop]));
            let mut response = http::Response::new(stream::iter([io::Result::Ok(bytes)]));
            let headers = response.headers_mut();
            headers.insert(
                "content-type",
                HeaderValue::from_static(media_type(DIALECT)),
            );
            io::Result::Ok(response)
        }
    })
}

#[tokio::test(start_paused = true)]
async fn an_hour_of_a_tool_takes_no_time() {
    let requests = Arc::new(AtomicUsize::new(0));
    let waits = Tool::new("wait", "Waits.").timeout(Duration::from_secs(7_200));
    let agent = Agent::builder(endpoint())
        .client(model(Arc::clone(&requests)))
        .tool(waits, |_| async {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            "done"
        })
        .build()
        .expect("an agent");

    let result = agent.run("Hello").await.expect("an answer");

    assert_eq!(result.output, "Here you are.");
    assert_eq!(requests.load(Ordering::Relaxed), 2);
}
