//! Amazon Bedrock: keys, signatures, and what goes wrong within its streams.

use crate::support::IntoChat as _;
use crate::{lookup, secret_number, start, watch};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use stepwell_io::credentials::AwsCredentials;
use stepwell_io::{Agent, Model};
use stepwell_mock_llm::{Dialect, Hop, MockLlm, Script};

const ID: &str = "AKIDEXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI";

/// Asks with a Bedrock API key.
fn with_key(key: String) -> Result<Agent, stepwell_io::Error> {
    let model = Model::bedrock("eu.anthropic.claude-sonnet-4-5-20250929-v1:0");
    Agent::builder(model.base_url("eu-central-1").api_key(key)).build()
}

/// Signs each request with credentials of AWS.
fn signed(id: String, secret: String) -> Result<Agent, stepwell_io::Error> {
    let model = Model::bedrock("amazon.nova-lite-v1:0").base_url("eu-central-1");
    Agent::builder(model)
        .aws_credentials(AwsCredentials::new(id, secret))
        .build()
}

#[test]
fn the_agents_of_the_guide_can_be_built() {
    assert!(with_key("key".to_owned()).is_ok());
    assert!(signed(ID.to_owned(), SECRET.to_owned()).is_ok());
}

fn model(server: &MockLlm) -> Model {
    let model = Model::bedrock("eu.anthropic.claude-sonnet-4-5-20250929-v1:0");
    model.base_url(server.url(Dialect::BedrockConverse))
}

fn credentials(secret: &str) -> AwsCredentials {
    AwsCredentials::new(ID, secret).with_region("eu-central-1")
}

fn tools() -> Script {
    Script::new()
        .hop(
            Hop::new()
                .reasoning("Two people, two numbers.")
                .text("Let me look. ")
                .tool_call("get_secret_number", json!({"name": "alice"}))
                .tool_call("get_secret_number", json!({"name": "bob"}))
                .chunks_of(3),
        )
        .hop(Hop::new().text("42 and 7").usage(120, 14))
}

#[tokio::test]
async fn a_turn_with_tools_runs_over_binary_messages() {
    let server = start(tools().bearer("key")).await;
    let agent = Agent::builder(model(&server).api_key("key"))
        .tool(secret_number(), lookup)
        .chat();
    let (_, finished) = watch(agent.send("What are the secret numbers?")).await;
    assert_eq!(finished.outcome, stepwell_io::turn::Outcome::Success);
    assert_eq!(finished.transcript.text(), "Let me look. 42 and 7");
    assert_eq!(finished.transcript.reasoning(), "Two people, two numbers.");
    assert_eq!(server.failures(), [] as [String; 0]);
}

#[tokio::test]
async fn each_request_is_signed_and_so_is_a_retry() {
    let script = Script::new()
        .hop(Hop::error(503, "Not now."))
        .hop(Hop::new().text("Hi"))
        .aws_credentials(ID, SECRET, Some("token"));
    let server = start(script).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let agent = Agent::builder(model(&server))
        .aws_credentials(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok::<_, String>(credentials(SECRET).with_session_token("token")) }
        })
        .configure(|config| config.retry.first_delay = std::time::Duration::ZERO)
        .chat();
    let (_, finished) = watch(agent.send("Hi")).await;
    assert_eq!(finished.outcome, stepwell_io::turn::Outcome::Success);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    for request in server.requests() {
        let header = request.header("authorization").unwrap_or_default();
        assert!(header.starts_with("AWS4-HMAC-SHA256 "), "{header}");
    }
}

#[tokio::test]
async fn a_wrong_key_or_signature_is_an_authentication_error() {
    let script = || {
        Script::new()
            .hop(Hop::new().text("Hi"))
            .bearer("key")
            .aws_credentials(ID, SECRET, None)
    };
    let server = start(script()).await;
    for builder in [
        Agent::builder(model(&server).api_key("wrong")),
        Agent::builder(model(&server)).aws_credentials(credentials("wrong")),
        Agent::builder(model(&server)).aws_credentials(credentials(SECRET).with_session_token("x")),
    ] {
        let (_, finished) = watch(builder.chat().send("Hi")).await;
        let stepwell_io::turn::Outcome::Failed {
            failure: stepwell_io::turn::Failure::Api { error },
        } = finished.outcome
        else {
            panic!("{:?}", finished.outcome);
        };
        assert_eq!((error.status, error.kind.name()), (403, "authentication"));
        let said = format!("{error:?} {error}");
        assert!(!said.contains("wrong") && !said.contains(ID), "{said}");
    }
    let agent = Agent::builder(model(&server)).aws_credentials(credentials(SECRET));
    let (_, finished) = watch(agent.chat().send("Hi")).await;
    assert_eq!(finished.outcome, stepwell_io::turn::Outcome::Success);
}

#[tokio::test]
async fn an_exception_before_any_text_is_tried_again() {
    let script = Script::new()
        .hop(
            Hop::new().error_event_with_code("Too many tokens, please wait", "throttlingException"),
        )
        .hop(Hop::new().text("Hi"));
    let server = start(script).await;
    let agent = Agent::builder(model(&server).api_key("key"))
        .configure(|config| config.retry.first_delay = std::time::Duration::ZERO)
        .chat();
    let (_, finished) = watch(agent.send("Hi")).await;
    assert_eq!(finished.outcome, stepwell_io::turn::Outcome::Success);
    assert_eq!(finished.transcript.text(), "Hi");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn an_exception_has_its_name_from_the_header() {
    let hop = Hop::error(400, "The provided model identifier is invalid.");
    let server = start(Script::new().hop(hop)).await;
    let agent = Agent::builder(model(&server).api_key("key")).chat();
    let (_, finished) = watch(agent.send("Hi")).await;
    let stepwell_io::turn::Outcome::Failed {
        failure: stepwell_io::turn::Failure::Api { error },
    } = finished.outcome
    else {
        panic!("{:?}", finished.outcome);
    };
    assert_eq!(error.code.as_deref(), Some("ValidationException"));
    assert_eq!(error.kind.name(), "invalid_request");
}
