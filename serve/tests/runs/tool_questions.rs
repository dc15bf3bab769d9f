//! A running tool asks the user: the run ends with the question, and the next one brings the answer to the tool, which
//! runs on all the while.

use crate::support::{agent, says, serve};
use futures::StreamExt;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use stepwell_io::tool::{Question, Tool, ToolContext, UserAnswer};
use stepwell_io::{Agent, AgentBuilder};
use stepwell_mock_llm::{Hop, MockLlm};
use stepwell_serve::{AgUiServer, ChatRequest, RunLimits, read_input};
use tokio::sync::{Notify, oneshot};

/// A model that calls these tools, and then answers that it is done.
async fn model(tools: &[&str]) -> (MockLlm, AgentBuilder) {
    let calls = tools.iter().fold(Hop::new(), |hop, tool| {
        hop.tool_call_with_id(*tool, *tool, json!({}))
    });
    let model = serve([calls, says("Done.")]).await;
    let agent = agent(&model);
    (model, agent)
}

fn speed() -> Question {
    Question::choice("How fast?", ["today", "later"])
}

/// A tool that asks how fast it shall be.
async fn ask(call: ToolContext) -> Result<String, String> {
    let answer = call.ask(speed()).await.map_err(|error| error.to_string())?;
    Ok(match answer {
        UserAnswer::Given { value } => format!("it goes {value}"),
        UserAnswer::Declined { reason } => format!("it waits: {}", reason.unwrap_or_default()),
    })
}

struct Client {
    server: AgUiServer,
    agent: Agent,
    runs: u32,
}

impl Client {
    fn new(agent: AgentBuilder) -> Self {
        Self::with(agent, RunLimits::default())
    }

    fn with(agent: AgentBuilder, limits: RunLimits) -> Self {
        Self {
            server: AgUiServer::new(limits),
            agent: agent.build().expect("an agent"),
            runs: 0,
        }
    }

    /// Makes a complete run on the one thread, with these answers.
    async fn run(&mut self, resume: &[Value]) -> Vec<Value> {
        self.runs += 1;
        let mut input = json!({
            "threadId": "t", "runId": format!("r{}", self.runs), "protocolVersion": "1.0",
            "messages": [{ "id": "u", "role": "user", "content": "Ship it" }],
        });
        if !resume.is_empty() {
            input["resume"] = json!(resume);
        }
        let input = read_input(input.to_string().as_bytes()).expect("an input");
        let stream = self.server.run(&self.agent, input);
        let mut stream = stream.await.expect("it begins");
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(serde_json::from_slice(&event.json).expect("JSON"));
        }
        events
    }
}

/// Returns the questions at the end of a run.
fn asked(events: &[Value]) -> Vec<Value> {
    let end = events.last().expect("an end");
    assert_eq!(end["outcome"]["type"], "interrupt", "{events:#?}");
    end["outcome"]["interrupts"]
        .as_array()
        .expect("some")
        .clone()
}

fn answer(interrupt: &Value, payload: &Value) -> Value {
    json!({ "interruptId": interrupt["id"], "status": "resolved", "payload": payload })
}

fn cancelled(interrupt: &Value) -> Value {
    json!({ "interruptId": interrupt["id"], "status": "cancelled" })
}

/// Returns the results that a run reports, by their calls.
fn results(events: &[Value]) -> Vec<(&str, &str)> {
    let results = events
        .iter()
        .filter(|event| event["type"] == "TOOL_CALL_RESULT");
    results
        .map(|event| {
            let text = |name: &str| event[name].as_str().expect("a text");
            (text("toolCallId"), text("content"))
        })
        .collect()
}

fn code(events: &[Value]) -> &str {
    let end = events.last().expect("an end");
    assert_eq!(end["type"], "RUN_ERROR", "{events:#?}");
    end["code"].as_str().expect("a code")
}

fn is_success(events: &[Value]) -> bool {
    events.last().expect("an end")["outcome"]["type"] == "success"
}

#[tokio::test]
async fn a_running_tool_is_brought_the_answer_and_not_run_again() {
    let (_model, agent) = model(&["ask"]).await;
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let mut client = Client::new(agent.tool(Tool::new("ask", "Asks."), move |call| {
        counted.fetch_add(1, Ordering::Relaxed);
        ask(call)
    }));
    let first = client.run(&[]).await;
    let [question] = &asked(&first)[..] else {
        panic!("{first:#?}");
    };
    assert_eq!(question["reason"], "input_required");
    assert_eq!(question["message"], "How fast?");
    assert_eq!(question["toolCallId"], "ask");
    assert_eq!(question["responseSchema"], speed().schema);
    assert!(question["expiresAt"].is_string());
    assert_eq!(code(&client.run(&[]).await), "interrupts_open");
    let misfit = client.run(&[answer(question, &json!("never"))]).await;
    assert_eq!(code(&misfit), "interrupt_answer_invalid");
    let said = misfit.last().expect("an end")["message"].to_string();
    assert!(said.contains("responseSchema"), "{said}");
    let second = client.run(&[answer(question, &json!("today"))]).await;
    assert!(is_success(&second), "{second:#?}");
    assert_eq!(results(&second), [("ask", r#"it goes "today""#)]);
    assert!(
        second
            .iter()
            .all(|event| event["type"] != "TOOL_CALL_START")
    );
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let again = client.run(&[answer(question, &json!("today"))]).await;
    assert_eq!(code(&again), "interrupt_unknown");
}

#[tokio::test]
async fn a_question_that_is_cancelled_is_declined() {
    let (_model, agent) = model(&["ask"]).await;
    let mut client = Client::new(agent.tool(Tool::new("ask", "Asks."), ask));
    let question = asked(&client.run(&[]).await).remove(0);
    let events = client.run(&[cancelled(&question)]).await;
    assert_eq!(
        results(&events),
        [("ask", "it waits: the user would not answer")]
    );
    assert!(is_success(&events));
}

#[tokio::test]
async fn a_run_ends_once_nothing_but_the_user_can_move_it_on() {
    let (_model, agent) = model(&["ask", "work"]).await;
    let has_asked = Arc::new(Notify::new());
    let asks = Arc::clone(&has_asked);
    let agent = agent
        .tool(Tool::new("ask", "Asks."), move |call| {
            asks.notify_one();
            ask(call)
        })
        .tool(Tool::new("work", "Works."), move |_| {
            let has_asked = Arc::clone(&has_asked);
            async move {
                has_asked.notified().await;
                Ok::<_, String>("worked")
            }
        });
    let mut client = Client::new(agent);
    let first = client.run(&[]).await;
    assert_eq!(results(&first), [("work", "worked")]);
    let question = asked(&first).remove(0);
    let second = client.run(&[answer(&question, &json!("later"))]).await;
    assert_eq!(results(&second), [("ask", r#"it goes "later""#)]);
    assert!(is_success(&second));
}

#[tokio::test]
async fn a_call_that_waits_for_the_one_that_asks_holds_up_no_question() {
    let (_model, agent) = model(&["ask", "work"]).await;
    let agent = agent
        .tool(Tool::new("ask", "Asks."), ask)
        .tool(Tool::new("work", "Works."), |_| async {
            Ok::<_, String>("worked")
        })
        .configure(|config| config.limits.max_parallel_tools = 1);
    let mut client = Client::new(agent);
    let first = client.run(&[]).await;
    assert!(results(&first).is_empty());
    let question = asked(&first).remove(0);
    let second = client.run(&[answer(&question, &json!("later"))]).await;
    assert_eq!(
        results(&second),
        [("ask", r#"it goes "later""#), ("work", "worked")]
    );
}

#[tokio::test]
async fn questions_and_approvals_are_asked_and_answered_together() {
    let (_model, agent) = model(&["ask", "send"]).await;
    let both = |call: ToolContext| async move {
        let (speed, sure) = tokio::join!(call.ask(speed()), call.ask(Question::yes_or_no("Sure?")));
        let value = |answer: Result<UserAnswer, _>| match answer {
            Ok(UserAnswer::Given { value }) => Ok(value),
            other => Err(format!("{other:?}")),
        };
        Ok::<_, String>(format!("{} {}", value(speed)?, value(sure)?))
    };
    let send = Tool::new("send", "Sends.").requires_approval();
    let agent = agent
        .tool(Tool::new("ask", "Asks."), both)
        .tool(send, |_| async { Ok::<_, String>("sent") });
    let mut client = Client::new(agent);
    let mut events = client.run(&[]).await;
    let mut said = Vec::new();
    let mut count = 0;
    while !is_success(&events) {
        let questions = asked(&events);
        count += questions.len();
        let answers: Vec<_> = questions
            .iter()
            .map(|question| match question["message"].as_str() {
                Some("How fast?") => answer(question, &json!("today")),
                Some("Sure?") => answer(question, &json!(true)),
                _ => answer(question, &json!({ "approved": true })),
            })
            .collect();
        events = client.run(&answers).await;
        said.extend(
            results(&events)
                .into_iter()
                .map(|(_, text)| text.to_owned()),
        );
    }
    said.sort();
    assert_eq!(said, [r#""today" true"#, "sent"]);
    assert_eq!(count, 3);
}

/// The client cannot answer what it was not asked: the run in which it answers the rest ends with the new question.
#[tokio::test]
async fn a_question_that_comes_between_two_runs_is_asked_by_the_next() {
    let (_model, agent) = model(&["ask"]).await;
    let goes_on = Arc::new(Notify::new());
    let told = Arc::clone(&goes_on);
    let agent = agent.tool(Tool::new("ask", "Asks."), move |call: ToolContext| {
        let told = Arc::clone(&told);
        async move {
            let later = async {
                told.notified().await;
                call.ask(Question::yes_or_no("Sure?")).await
            };
            let (speed, sure) = tokio::join!(call.ask(speed()), later);
            let is_given = |answer| matches!(answer, Some(UserAnswer::Given { .. }));
            let (speed, sure) = (is_given(speed.ok()), is_given(sure.ok()));
            Ok::<_, String>(format!("{speed} {sure}"))
        }
    });
    let mut client = Client::new(agent);
    let first = asked(&client.run(&[]).await);
    assert_eq!(first.len(), 1);
    goes_on.notify_one();
    // All tasks are on this thread: the question is asked by the time that they all wait.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    let second = client.run(&[answer(&first[0], &json!("today"))]).await;
    let second = asked(&second);
    assert_eq!(second[0]["message"], "Sure?");
    let last = client.run(&[answer(&second[0], &json!(true))]).await;
    assert_eq!(results(&last), [("ask", "true true")], "{last:#?}");
    assert!(is_success(&last));
}

/// Reports when its holder is dropped.
struct Dropped(Option<oneshot::Sender<()>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.take().map(|sender| sender.send(()));
    }
}

/// A tool that asks, and a receiver that observes that it was stopped.
fn stopped(agent: AgentBuilder) -> (AgentBuilder, oneshot::Receiver<()>) {
    let (sender, receiver) = oneshot::channel();
    let sender = std::sync::Mutex::new(Some(sender));
    let agent = agent.tool(Tool::new("ask", "Asks."), move |call| {
        let held = Dropped(sender.lock().expect("a lock").take());
        async move {
            let answer = ask(call).await;
            drop(held);
            answer
        }
    });
    (agent, receiver)
}

#[tokio::test]
async fn a_tool_whose_question_lapses_is_stopped_and_blocks_nothing() {
    let (_model, agent) = model(&["ask"]).await;
    let (agent, is_stopped) = stopped(agent);
    let limits = RunLimits {
        interrupt_time: Duration::ZERO,
        ..RunLimits::default()
    };
    let mut client = Client::with(agent, limits);
    let question = asked(&client.run(&[]).await).remove(0);
    is_stopped.await.expect("it is stopped");
    let late = client.run(&[answer(&question, &json!("today"))]).await;
    assert_eq!(code(&late), "interrupt_expired");
    assert!(is_success(&client.run(&[]).await));
}

#[tokio::test]
async fn a_server_that_takes_no_more_runs_stops_the_tools_that_ask() {
    let (_model, agent) = model(&["ask"]).await;
    let (agent, is_stopped) = stopped(agent);
    let mut client = Client::new(agent);
    asked(&client.run(&[]).await);
    client.server.close();
    is_stopped.await.expect("it is stopped");
}

#[tokio::test]
async fn a_tool_that_withdraws_its_question_continues_by_itself() {
    let (_model, agent) = model(&["ask"]).await;
    let goes_on = Arc::new(Notify::new());
    let told = Arc::clone(&goes_on);
    let agent = agent.tool(Tool::new("ask", "Asks."), move |call: ToolContext| {
        let told = Arc::clone(&told);
        async move {
            tokio::select! {
                _ = call.ask("Why?") => Err("it was answered"),
                () = told.notified() => Ok("never mind"),
            }
        }
    });
    let mut client = Client::new(agent);
    let question = asked(&client.run(&[]).await).remove(0);
    goes_on.notify_one();
    let rest = client.run(&[cancelled(&question)]).await;
    // The answer and what the tool waits for may come in either order.
    let results = results(&rest);
    assert_eq!(results.len(), 1, "{rest:#?}");
    assert!(is_success(&rest));
}

#[tokio::test]
async fn a_chat_is_asked_by_a_part_and_answers_with_its_body() {
    let (_model, agent) = model(&["ask"]).await;
    let client = Client::new(agent.tool(Tool::new("ask", "Asks."), ask));
    let user =
        json!({ "id": "u", "role": "user", "parts": [{ "type": "text", "text": "Ship it" }] });
    let parts = |body: Value| {
        let request = ChatRequest::read(body.to_string().as_bytes()).expect("a request");
        let client = &client;
        async move {
            let stream = client.server.chat(&client.agent, request).await;
            let frames = stream.expect("it begins").frames();
            let frames: Vec<_> = frames.collect().await;
            let text = String::from_utf8(frames.concat()).expect("text");
            let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
            data.filter_map(|data| serde_json::from_str::<Value>(data).ok())
                .collect::<Vec<_>>()
        }
    };
    let first = parts(json!({ "id": "c", "messages": [user] })).await;
    let asks = first.iter().find(|part| part["type"] == "data-interrupt");
    let asks = &asks.expect("a question")["data"];
    assert_eq!(asks["responseSchema"], speed().schema);
    let start = first.iter().find(|part| part["type"] == "start");
    let call =
        json!({ "type": "tool-ask", "toolCallId": "ask", "state": "input-available", "input": {} });
    let said = json!({
        "id": start.expect("a start")["messageId"], "role": "assistant",
        "parts": [{ "type": "step-start" }, call],
    });
    let resume = [answer(asks, &json!("today"))];
    let body = json!({ "id": "c", "messages": [user, said], "resume": resume });
    let second = parts(body).await;
    let output = second
        .iter()
        .find(|part| part["type"] == "tool-output-available");
    assert_eq!(output.expect("a result")["output"], r#"it goes "today""#);
}
