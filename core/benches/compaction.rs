//! The time from the user's message to the first request of a hop, on a long history with compaction on: that it grows with
//! the history and no faster.
//!
//! `cargo bench -p stepwell-core --bench compaction [-- ROUNDS]`

mod support;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stepwell_core::event::{AssistantMessage, Message, ToolCall, ToolMessage};
use stepwell_core::run::{
    CompactionPolicy, CompactionWay, ContextPolicy, Effect, EffectId, Input, Output, RunConfig,
    RunMachine, Start, SummaryPolicy,
};
use stepwell_core::transcript::Transcript;
use stepwell_core::{Timestamp, provider};
use support::harness::{Asked, Way, in_turns, introduce, verdict};

/// The most that four times the messages may take, as a multiple of the time. The work is linear, but the larger history does
/// not fit the processor's caches.
const GROWTH_BAR: f64 = 6.0;

fn main() {
    let asked = Asked::with(25);
    introduce(&asked);
    let messages = if asked.is_bench { 10_000 } else { 100 };
    let histories = [messages, 4 * messages].map(history);
    println!("\na hop on {messages} and on {} messages", 4 * messages);
    println!(
        "  {:<34} {:>10} {:>10} {:>8}",
        "", "one", "four times", "growth"
    );
    type Begin = fn(RunMachine) -> Duration;
    let ways: [(&str, Vec<CompactionWay>, Begin); 4] = [
        ("no compaction", Vec::new(), first_request),
        (
            "old results are dropped",
            vec![CompactionWay::DropResults { keep: 20 }],
            first_request,
        ),
        (
            "the request for a summary",
            vec![CompactionWay::Summary(SummaryPolicy::default())],
            first_request,
        ),
        (
            "the request after the summary",
            vec![CompactionWay::Summary(SummaryPolicy::default())],
            request_after_summary,
        ),
    ];
    for (name, ways, begin) in ways {
        let timed = |size: usize| {
            let config = config(&ways, &histories[size]);
            let history = histories[size].clone();
            let machine = RunMachine::new(config, "thread".into(), history);
            begin(machine)
        };
        let timed: [Way<'_>; 2] = [Box::new(|| timed(0)), Box::new(|| timed(1))];
        let table = in_turns(asked.rounds, &timed);
        let growth = table.ratio(1, 0);
        println!(
            "  {name:<34} {:>7.2} ms {:>7.2} ms {growth:>8.2}  {}",
            table.median(0),
            table.median(1),
            verdict(growth <= GROWTH_BAR)
        );
    }
}

/// A configuration whose window the history fills.
fn config(ways: &[CompactionWay], history: &Transcript) -> Arc<RunConfig> {
    let openai = provider::find("openai-compatible").expect("the table has it");
    let endpoint = openai.endpoint(None, "m", Some("http://localhost/v1"), None);
    let mut config = RunConfig::new(endpoint.expect("nothing is missing"));
    config.context_guard.window = Some(history.messages().len() as u64 * 40);
    config.context_guard.at_limit = ContextPolicy::Send;
    config.compaction = CompactionPolicy {
        at: 0.5,
        ways: ways.to_vec(),
    };
    Arc::new(config)
}

/// Messages of exchanges with a tool in each.
fn history(messages: usize) -> Transcript {
    let of_exchange = |at: usize| {
        let call = format!("call-{at}");
        let assistant = |id: String, text: &str, calls: Vec<ToolCall>| {
            Message::Assistant(AssistantMessage {
                id: id.into(),
                content: Some(text.repeat(10)),
                tool_calls: calls,
                ..AssistantMessage::default()
            })
        };
        let asked = ToolCall::new(call.clone(), "read", r#"{"path":"/etc/hosts"}"#);
        [
            Message::user(format!("user-{at}"), "Where is it? ".repeat(10)),
            assistant(format!("asks-{at}"), "Let me see. ", vec![asked]),
            Message::Tool(ToolMessage {
                id: format!("result-{at}").into(),
                tool_call_id: call.into(),
                content: "127.0.0.1 localhost\n".repeat(10).as_str().into(),
                ..ToolMessage::default()
            }),
            assistant(format!("answers-{at}"), "There it is. ", Vec::new()),
        ]
    };
    Transcript::new((0..messages / 4).flat_map(of_exchange).collect())
}

fn start(machine: &mut RunMachine) -> EffectId {
    let start = Start::new("run-1", Message::user("user-now", "And now?"));
    let input = Input::Start(Box::new(start));
    machine.handle(input, Timestamp(0)).expect("it is idle");
    request(machine)
}

/// Takes the outputs up to the request.
fn request(machine: &mut RunMachine) -> EffectId {
    let mut asked = None;
    while let Some(output) = machine.poll_output() {
        if let Output::Effect(id, Effect::OpenStream { request }) = output {
            black_box(request);
            asked = Some(id);
        }
    }
    asked.expect("a request is sent")
}

fn first_request(mut machine: RunMachine) -> Duration {
    let begun = Instant::now();
    start(&mut machine);
    begun.elapsed()
}

fn request_after_summary(mut machine: RunMachine) -> Duration {
    let effect = start(&mut machine);
    let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"They looked.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let begun = Instant::now();
    for input in [
        Input::Opened {
            effect,
            content_type: None,
        },
        Input::Received {
            effect,
            bytes: body.as_slice().into(),
        },
        Input::Ended { effect },
    ] {
        machine.handle(input, Timestamp(0)).expect("it is awaited");
        if machine.state() == stepwell_core::run::StateKind::Summarizing {
            while machine.poll_output().is_some() {}
        }
    }
    request(&mut machine);
    begun.elapsed()
}
