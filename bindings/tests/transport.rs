//! Agents whose requests the app sends.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::json;
use std::sync::{Arc, Mutex};
use stepwell_core::dialect;
use stepwell_ffi::{
    Agent, AgentSetup, AgentTool, CallbackError, ErrorKind, Finished, HttpAnswer, HttpHeader,
    HttpRequest, HttpTransport, Outcome, ToolContext, ToolError, ToolHandler, ToolInvocation,
    ToolOutput,
};
use stepwell_io::HttpClient;
use stepwell_mock_llm::{Hop, MockLlm, Script};
use support::{config, definition, say};
use tokio::sync::mpsc;

struct Looks;

#[async_trait::async_trait]
impl ToolHandler for Looks {
    async fn call(&self, _: ToolInvocation, _: Arc<ToolContext>) -> Result<ToolOutput, ToolError> {
        Ok("nothing there".into())
    }
}

fn agent(base_url: &str, client: Arc<dyn HttpTransport>) -> Arc<Agent> {
    let config = config(base_url);
    let tools = vec![AgentTool {
        definition: definition("look"),
        handler: Arc::new(Looks),
    }];
    Agent::new(
        config,
        AgentSetup {
            tools,
            client: Some(client),
            ..AgentSetup::default()
        },
    )
    .unwrap()
}

async fn finished(agent: &Agent) -> Finished {
    say(agent, "Go").finish().await.unwrap()
}

fn event_stream() -> Vec<HttpHeader> {
    vec![HttpHeader {
        name: "content-type".into(),
        value: "text/event-stream".into(),
    }]
}

fn broke(reason: &str) -> CallbackError {
    CallbackError::Failed {
        reason: reason.into(),
    }
}

/// Another HTTP client, instead of a platform's.
struct Relay(HttpClient, Mutex<Vec<HttpRequest>>);

#[async_trait::async_trait]
impl HttpTransport for Relay {
    async fn send(
        &self,
        request: HttpRequest,
        answer: Arc<HttpAnswer>,
    ) -> Result<(), CallbackError> {
        self.1.lock().unwrap().push(request.clone());
        let headers = request.headers.into_iter();
        let request = dialect::HttpRequest {
            method: "POST",
            url: request.url,
            headers: headers.map(|header| (header.name, header.value)).collect(),
            body: request.body,
        };
        let (status, body) = self
            .0
            .exchange(request)
            .await
            .map_err(|error| broke(&error.to_string()))?;
        answer.opened(status, event_stream()).unwrap();
        for piece in body.chunks(7) {
            assert!(answer.received(piece.to_vec()).await);
        }
        Ok(())
    }
}

#[tokio::test]
async fn the_app_sends_the_requests() {
    let hops = Script::new()
        .hop(Hop::new().tool_call("look", json!({})))
        .hop(Hop::new().text("Hello from the app's own client"));
    let server = MockLlm::start(hops).await.unwrap();
    let relay = Arc::new(Relay(HttpClient::new().unwrap(), Mutex::default()));
    let finished = finished(&agent(&server.base_url(), Arc::clone(&relay) as _)).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.text, "Hello from the app's own client");
    let requests = relay.1.lock().unwrap();
    assert_eq!(requests.len(), 2);
    for request in requests.iter() {
        assert_eq!(request.method, "POST");
        assert!(request.url.starts_with(&server.base_url()));
    }
}

/// What happens to a request.
#[derive(Clone, Copy)]
enum Fate {
    Refused,
    Unanswered,
    BrokenOff,
    NoStatus,
}

struct Fated(Fate);

#[async_trait::async_trait]
impl HttpTransport for Fated {
    async fn send(&self, _: HttpRequest, answer: Arc<HttpAnswer>) -> Result<(), CallbackError> {
        match self.0 {
            Fate::Refused => {
                answer.opened(401, Vec::new()).unwrap();
                answer.received(b"no such key".to_vec()).await;
                Ok(())
            }
            Fate::Unanswered => Ok(()),
            Fate::BrokenOff => {
                answer.opened(200, event_stream()).unwrap();
                answer
                    .received(
                        b"data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n".to_vec(),
                    )
                    .await;
                Err(broke("the train is in a tunnel"))
            }
            Fate::NoStatus => {
                let error = answer.opened(7, Vec::new()).unwrap_err();
                Err(broke(&error.to_string()))
            }
        }
    }
}

#[tokio::test]
async fn what_fails_is_told() {
    for (fate, kind, said) in [
        (Fate::Refused, ErrorKind::Authentication, "no such key"),
        (Fate::Unanswered, ErrorKind::Connection, "gave no answer"),
        (
            Fate::BrokenOff,
            ErrorKind::Connection,
            "the train is in a tunnel",
        ),
        (
            Fate::NoStatus,
            ErrorKind::Connection,
            "7 is no status of HTTP",
        ),
    ] {
        let finished = finished(&agent("http://model.example/v1", Arc::new(Fated(fate)))).await;
        let problem = stepwell_ffi::problem_of(finished.outcome).unwrap();
        assert_eq!(problem.kind, kind, "{problem:?}");
        assert!(problem.message.contains(said), "{problem:?}");
    }
}

#[tokio::test]
async fn what_came_before_a_break_stands() {
    let broken = Arc::new(Fated(Fate::BrokenOff));
    let finished = finished(&agent("http://model.example/v1", broken)).await;
    assert_eq!(finished.text, "Hel");
}

/// Reports when it is sent, and when it is cancelled.
struct Endless(mpsc::UnboundedSender<&'static str>);

struct Says(mpsc::UnboundedSender<&'static str>);

impl Drop for Says {
    fn drop(&mut self) {
        let _ = self.0.send("given up");
    }
}

#[async_trait::async_trait]
impl HttpTransport for Endless {
    async fn send(&self, _: HttpRequest, answer: Arc<HttpAnswer>) -> Result<(), CallbackError> {
        let _says = Says(self.0.clone());
        let _ = self.0.send("sent");
        answer.opened(200, event_stream()).unwrap();
        while answer.received(b": still here\n\n".to_vec()).await {
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_request_that_nobody_waits_for_is_given_up() {
    let (sender, mut heard) = mpsc::unbounded_channel();
    let agent = agent("http://model.example/v1", Arc::new(Endless(sender)));
    let turn = say(&agent, "Go");
    assert_eq!(heard.recv().await, Some("sent"));
    drop(turn);
    assert_eq!(heard.recv().await, Some("given up"));
}
