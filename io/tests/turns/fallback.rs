//! Agents that ask another model when theirs has failed, and that choose the model of each hop.

use crate::support::says;
use crate::{lookup, secret_number, start};
use serde_json::json;
use std::sync::{Arc, Mutex};
use stepwell_io::config::{HopContext, ModelHealth, RetryPolicy};
use stepwell_io::{Agent, AgentBuilder, ErrorKind, Model, Update};
use stepwell_mock_llm::{Hop, MockLlm, Script};

fn model(server: &MockLlm, name: &str) -> Model {
    Model::openai_compatible(name, server.base_url())
}

/// An agent with two models, which tries each once.
fn two(first: &MockLlm, second: &MockLlm, health: &ModelHealth) -> AgentBuilder {
    let once = RetryPolicy {
        attempts: 1,
        ..RetryPolicy::default()
    };
    Agent::builder(model(first, "first"))
        .fallback([model(second, "second")])
        .model_health(health)
        .configure(|config| config.retry = once)
}

fn out_of_order() -> Hop {
    Hop::error(503, "Out of order")
}

/// Runs a turn, and returns its text with the changes of its model.
async fn ask(agent: &Agent) -> (String, Vec<(String, String, Option<ErrorKind>)>) {
    let mut turn = agent.stream("Hello");
    let mut changes = Vec::new();
    while let Some(update) = turn.next().await {
        if let Update::ModelChanged {
            model,
            previous,
            after,
            ..
        } = update.expect("the turn does not fail")
        {
            changes.push((previous.model, model.model, after));
        }
    }
    let result = turn.result().await.expect("the turn does not fail");
    (result.output, changes)
}

#[tokio::test]
async fn another_model_answers_and_is_asked_first_for_a_while() {
    let first = start(Script::new().hop(out_of_order())).await;
    let second = start(Script::new().hop(says("I can.")).hop(says("Again."))).await;
    let health = ModelHealth::new();
    let agent = two(&first, &second, &health).build().expect("an agent");
    let (text, changes) = ask(&agent).await;
    assert_eq!(text, "I can.");
    let (from, to) = ("first".to_owned(), "second".to_owned());
    let failed = Some(ErrorKind::ServerError);
    assert_eq!(changes, [(from.clone(), to.clone(), failed)]);

    // Another agent of the process knows of it.
    let other = two(&first, &second, &health).build().expect("an agent");
    let (text, changes) = ask(&other).await;
    assert_eq!(text, "Again.");
    assert_eq!(changes, [(from, to, None)]);
    assert_eq!(first.requests().len(), 1, "the first one rests");
}

#[tokio::test]
async fn a_model_with_a_record_of_its_own_is_asked_all_the_same() {
    let first = start(Script::new().hop(out_of_order()).hop(says("Here I am."))).await;
    let second = start(Script::new().hop(says("I can."))).await;
    for text in ["I can.", "Here I am."] {
        let agent = two(&first, &second, &ModelHealth::new());
        let (said, _) = ask(&agent.build().expect("an agent")).await;
        assert_eq!(said, text);
    }
}

#[tokio::test]
async fn a_wrong_key_is_no_reason_to_ask_another_model() {
    let first = start(Script::new().hop(Hop::error(401, "Incorrect API key provided"))).await;
    let second = start(Script::new()).await;
    let agent = two(&first, &second, &ModelHealth::new());
    let agent: Agent = agent.build().expect("an agent");
    let error = agent.run("Hello").await.expect_err("the key is wrong");
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert!(second.requests().is_empty());
}

#[tokio::test]
async fn an_error_names_the_model_that_failed_last() {
    let first = start(Script::new().hop(out_of_order())).await;
    let second = start(Script::new().hop(Hop::error(401, "Incorrect API key provided"))).await;
    let other = Model::anthropic("second")
        .base_url(second.base_url())
        .api_key("wrong");
    let agent = Agent::builder(model(&first, "first"))
        .fallback([other])
        .model_health(&ModelHealth::new())
        .configure(|config| config.retry.attempts = 1);
    let agent: Agent = agent.build().expect("an agent");
    let error = agent.run("Hello").await.expect_err("the key is wrong");
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert_eq!(error.status(), Some(401));
    assert_eq!(error.provider(), Some("anthropic"));
    assert_eq!(error.model(), Some("second"));
}

#[tokio::test]
async fn the_app_chooses_the_model_of_each_hop() {
    let call = Hop::new().tool_call_with_id("c", "get_secret_number", json!({ "name": "alice" }));
    let large = start(Script::new().hop(call)).await;
    let small = start(Script::new().hop(says("It is 42."))).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let hops = Arc::clone(&seen);
    let agent = two(&large, &small, &ModelHealth::new())
        .tool(secret_number(), lookup)
        .model_for(move |hop: HopContext| {
            let model = u32::from(!hop.tools.is_empty());
            hops.lock().expect("a lock").push(hop.tools);
            async move { model }
        });
    let (text, changes) = ask(&agent.build().expect("an agent")).await;
    assert_eq!(text, "It is 42.");
    assert_eq!(changes, [("first".to_owned(), "second".to_owned(), None)]);
    let seen = seen.lock().expect("a lock");
    assert_eq!(*seen, [vec![], vec!["get_secret_number".to_owned()]]);
}

#[tokio::test]
async fn code_that_cannot_choose_leaves_the_model_as_it_is() {
    for chooses_nothing in [true, false] {
        let first = start(Script::new().hop(says("Here I am."))).await;
        let second = start(Script::new()).await;
        let agent =
            two(&first, &second, &ModelHealth::new()).model_for(move |_: HopContext| async move {
                assert!(!chooses_nothing, "no rule");
                7
            });
        let (text, changes) = ask(&agent.build().expect("an agent")).await;
        assert_eq!((text.as_str(), changes), ("Here I am.", vec![]));
    }
}

#[test]
fn a_model_that_cannot_be_asked_is_an_error_of_the_agent() {
    let agent = Agent::builder(Model::openai("m").api_key("a key")).fallback(["m"]);
    let error = agent.build().map(|_: Agent| ()).expect_err("no provider");
    assert!(error.to_string().contains("has no provider"), "{error}");

    let agent = Agent::builder(Model::openai("m").api_key("a key"));
    let agent = agent.fallback([Model::ag_ui("http://localhost/agent")]);
    let error = agent.build().map(|_: Agent| ()).expect_err("an agent");
    assert!(error.to_string().contains("AG-UI agent"), "{error}");
}
