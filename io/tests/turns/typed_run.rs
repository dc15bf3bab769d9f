//! Answers that are a type of the app's.

use super::{agent, messages, start};
use crate::support::IntoChat as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use stepwell_io::output::output_type;
use stepwell_io::{ErrorKind, Update};
use stepwell_mock_llm::{Hop, MockLlm, Script};

/// A journey.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Trip {
    city: String,
    /// At least one.
    days: std::num::NonZeroU8,
}

/// The model's answer to a wish.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Trips(Vec<Trip>),
    Refused { why: String },
}

fn says(texts: &[&str]) -> Script {
    let hop = |script: Script, text: &&str| script.hop(Hop::new().text(*text));
    texts.iter().fold(Script::new(), hop)
}

fn told(server: &MockLlm, request: usize) -> String {
    let requests = server.requests();
    let last = messages(&requests[request], "user").pop();
    last.map(|message| message["content"].to_string())
        .unwrap_or_default()
}

#[tokio::test]
async fn the_answer_is_a_value_of_the_type() {
    let server = start(says(&[r#"{"city":"Bergen","days":3}"#])).await;
    let agent = agent(&server).chat();
    let result = agent.run("Where to?").output().await.expect("it fits");
    let trip: Trip = result.output;
    assert_eq!(trip.city, "Bergen");
    assert_eq!(trip.days.get(), 3);
    let request = server.requests()[0].body.to_string();
    assert!(
        request.contains("Trip") && request.contains("At least one."),
        "{request}"
    );
}

#[tokio::test]
async fn what_the_schema_or_the_type_refuses_goes_back_to_the_model() {
    let server = start(says(&[
        r#"{"city":"Bergen"}"#,
        r#"{"city":"Bergen","days":256}"#,
        r#"{"city":"Bergen","days":3}"#,
    ]))
    .await;
    let agent = agent(&server).chat();
    let result = agent.run("Where to?").output::<Trip>().await;
    let trip = result.expect("it fits in the end").output;
    assert_eq!(trip.days.get(), 3);
    assert!(told(&server, 1).contains("days"), "{}", told(&server, 1));
    assert!(told(&server, 2).contains("256"), "{}", told(&server, 2));
}

#[tokio::test]
async fn what_never_fits_is_an_error_that_has_the_text() {
    let server = start(says(&["Bergen", "Bergen!", "I said: Bergen"])).await;
    let agent = agent(&server).chat();
    let error = agent.run("Where to?").output::<Trip>().await;
    let error = error.expect_err("it never fits");
    assert_eq!(error.kind(), ErrorKind::OutputInvalid);
    let so_far = error.result().expect("the turn has begun");
    assert_eq!(so_far.text(), "I said: Bergen");
}

#[tokio::test]
async fn lists_and_unions_are_answers_too() {
    let trips = r#"[{"city":"Bergen","days":3},{"city":"Oslo","days":1}]"#;
    let server = start(says(&[trips, r#"{"refused":{"why":"no time"}}"#])).await;
    let agent = agent(&server).chat();
    let trips = agent.run("Where to?").output::<Vec<Trip>>().await;
    assert_eq!(trips.expect("it fits").output.len(), 2);
    let why = "no time".to_owned();
    let refused = agent.run("And then?").output::<Answer>().await;
    assert_eq!(refused.expect("it fits").output, Answer::Refused { why });
}

#[tokio::test]
async fn the_agent_answers_in_words_as_before() {
    let server = start(says(&[r#"{"city":"Bergen","days":3}"#, "You are welcome."])).await;
    let agent = agent(&server).chat();
    let typed = agent.run("Where to?").output::<Trip>();
    typed.await.expect("it fits");
    let result = agent.run("Thank you").await.expect("it is complete");
    assert_eq!(result.output, "You are welcome.");
}

#[tokio::test]
async fn what_streams_of_the_answer_grows_into_it() {
    let whole = r#"{"city":"Bergen","days":3}"#;
    let script = Script::new().hop(Hop::new().text(&whole[..12]).text(&whole[12..]));
    let server = start(script).await;
    let agent = agent(&server).chat();
    let typed = agent.with_output::<Trip>();
    let mut turn = typed.stream("Where to?");
    let mut partial = Value::Null;
    while let Some(update) = turn.next().await {
        if let Update::Output(update) = update.expect("it is complete") {
            for change in update.changes {
                change.apply(&mut partial).expect("it is in order");
            }
        }
    }
    assert_eq!(partial, json!({ "city": "Bergen", "days": 3 }));
    let result = turn.result().await.expect("it fits");
    assert_eq!(result.output.city, "Bergen");
}

#[test]
fn a_type_without_a_plain_name_has_one_for_the_model() {
    let name = |output: Result<stepwell_io::output::OutputType, _>| {
        output.expect("a schema").name().to_owned()
    };
    assert_eq!(name(output_type::<Trip>()), "Trip");
    assert_eq!(name(output_type::<Vec<Trip>>()), "Array_of_Trip");
    assert_eq!(
        name(output_type::<(Trip, Option<u8>)>()).len().min(64),
        name(output_type::<(Trip, Option<u8>)>()).len()
    );
}

/// Its schema is written by hand, and is none.
#[derive(Debug, Deserialize)]
struct Broken;

impl JsonSchema for Broken {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Broken".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "objekt" })
    }
}

#[test]
fn an_invalid_schema_is_reported_before_any_request() {
    let error = output_type::<Broken>().expect_err("it is none").to_string();
    assert!(error.contains("`Broken` is not a JSON Schema"), "{error}");
}

#[tokio::test]
async fn an_invalid_type_fails_the_run_before_any_request() {
    let server = start(Script::new()).await;
    let agent = agent(&server).chat();
    let error = agent.run("Where to?").output::<Broken>().await;
    let error = error.expect_err("it has no schema");
    assert_eq!(error.kind(), ErrorKind::Misuse);
    assert!(server.requests().is_empty());
}
