//! Agents that compact long conversations before a request.

use crate::support::says;
use crate::{agent, start};
use stepwell_io::config::{CompactionWay, SummaryPolicy};
use stepwell_io::message::{Message, Transcript};
use stepwell_io::{Agent, Model, Update};
use stepwell_mock_llm::{MockLlm, Script};

fn history() -> Transcript {
    let old = (0..3).map(|at| Message::user(format!("old-{at}"), "x".repeat(2_000)));
    Transcript::new(old.collect())
}

fn texts(server: &MockLlm, request: usize) -> String {
    server.requests()[request].body["messages"].to_string()
}

#[tokio::test]
async fn a_cheap_model_summarises_and_the_next_turn_begins_from_there() {
    let server = start(Script::new().hop(says("Yes.")).hop(says("Still yes."))).await;
    let writer = start(Script::new().hop(says("There were many x."))).await;
    let agent = agent(&server)
        .configure(|config| config.context_guard.window = Some(1_600))
        .summary_model(Model::openai_compatible("cheap", writer.base_url()))
        .build()
        .expect("an agent");
    let conversation = agent.conversation("thread").with_history(history());
    let mut turn = conversation.stream("And?");
    let mut summary = None;
    while let Some(update) = turn.next().await {
        if let Update::ContextTrimmed { compaction, .. } = update.expect("an update") {
            summary = compaction.summary;
        }
    }
    let result = turn.result().await.expect("the turn does not fail");
    assert_eq!(result.output, "Yes.");
    assert_eq!(summary.as_deref(), Some("There were many x."));
    assert_eq!(writer.requests()[0].body["model"], "cheap");
    assert!(texts(&server, 0).contains("There were many x."));

    let result = conversation.send("Sure?").await.expect("it does not fail");
    assert_eq!(result.output, "Still yes.");
    assert!(texts(&server, 1).contains("There were many x."));
    assert_eq!(writer.requests().len(), 1, "nothing is summarised twice");
}

#[tokio::test]
async fn a_turn_may_carry_the_whole_history_again() {
    let server = start(Script::new().hop(says("Yes.")).hop(says("All of it."))).await;
    let writer = start(Script::new().hop(says("Many x.")).hop(says("All x."))).await;
    let agent = agent(&server)
        .configure(|config| config.context_guard.window = Some(1_600))
        .summary_model(Model::openai_compatible("cheap", writer.base_url()))
        .build()
        .expect("an agent");
    let conversation = agent.conversation("thread").with_history(history());
    conversation.send("And?").await.expect("it does not fail");
    let turn = conversation.send("Sure?").whole_history();
    turn.await.expect("it does not fail");
    let asked = texts(&writer, 1);
    assert!(!asked.contains("Many x."), "{asked}");
    assert!(texts(&server, 1).contains("All x."));
}

#[tokio::test]
async fn a_model_that_cannot_write_summaries_builds_no_agent() {
    let built = Agent::builder(Model::openai_compatible("m", "http://localhost/v1"))
        .compaction([CompactionWay::Summary(SummaryPolicy::default())])
        .summary_model(Model::ag_ui("http://localhost/agent"))
        .build();
    let error = built.map(|_: Agent| ()).expect_err("it is refused");
    assert!(error.to_string().contains("writes no summaries"), "{error}");
}
