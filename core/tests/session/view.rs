//! What the user is shown of a session.

use crate::cases::cases;
use crate::plan::{Call, End, Hop, Part, TurnPlan, turns};
use crate::stored::{begun, write};
use crate::thread::{Thread, options};
use crate::wire::Api;
use proptest::prelude::*;
use serde_json::json;
use stepwell_core::Timestamp;
use stepwell_core::event::{Message, Metadata};
use stepwell_core::run::{Attached, Block, BlockContent, CUT, Decision, TurnStatus};
use stepwell_core::session::{SessionView, ViewOptions};
use stepwell_core::tool::{Tool, ToolRegistry};

fn call(tool: &'static str, arguments: &'static str) -> Call {
    Call {
        tool,
        arguments,
        sealed: false,
        reused: false,
    }
}

/// A turn with three calls, the last of which is not allowed.
fn plan() -> TurnPlan {
    let calls = vec![
        call("work", r#"{"path":"/tmp"}"#),
        call("fails", "{}"),
        call("ask", "{}"),
    ];
    TurnPlan {
        hops: vec![Hop {
            parts: vec![Part::Text("Let me see. "), Part::Calls(calls)],
            end: End::Whole,
            usage: false,
        }],
        presses: Vec::new(),
        decisions: vec![Decision::Denied { reason: None }],
        chunk: 4096,
        resends: None,
    }
}

#[test]
fn a_view_has_the_names_of_the_protocol_that_pages_read() {
    let mut thread = Thread::new(Api::Chat);
    thread.run(&plan());
    let view = SessionView::of(&thread.turns, &options()).expect("a path");
    let json = serde_json::to_value(&view).expect("JSON");
    assert_eq!(json["title"], "Do turn-0 now");
    assert_eq!(json["created_at"], 1_000);
    assert_eq!(json["turns"][0]["status"], "complete");
    assert_eq!(json["messages"][0]["role"], "user");
    assert_eq!(json["messages"][1]["content"], "Let me see. ");
    let executions = json["messages"][1]["tool_executions"]
        .as_array()
        .expect("a list");
    let times: Vec<_> = executions
        .iter()
        .map(|call| call["timestamp"].clone())
        .collect();
    let expected = [
        (
            "work",
            "Reads /tmp",
            "completed",
            json!({"path": "/tmp"}),
            "did {\"path\":\"/tmp\"}",
        ),
        ("fails", "fails", "failed", json!({}), "it does not work"),
        (
            "ask",
            "ask",
            "denied",
            json!({}),
            "the user did not allow the call",
        ),
    ];
    for (at, (name, label, status, args, result)) in expected.into_iter().enumerate() {
        assert_eq!(
            executions[at],
            json!({
                "tool_id": format!("call_turn-0.1_{at}"),
                "tool_name": name,
                "label": label,
                "status": status,
                "timestamp": times[at],
                "args": args,
                "result": result,
            })
        );
    }
    assert_eq!(json["messages"][2]["content"], "Done.");
}

#[test]
fn a_stored_label_stays_when_the_tools_change() {
    let mut thread = Thread::new(Api::Anthropic);
    thread.run(&plan());
    let view = SessionView::of(&thread.turns, &ViewOptions::default()).expect("a path");
    let executions = &view.messages[1].tool_executions;
    let labels: Vec<_> = executions.iter().map(|call| call.label.as_str()).collect();
    assert_eq!(labels, ["Reads /tmp", "fails", "ask"]);
}

#[test]
fn a_view_becomes_messages_and_they_become_the_view() {
    let mut thread = Thread::new(Api::Responses);
    thread.run(&plan());
    let view = SessionView::of(&thread.turns, &options()).expect("a path");
    let messages = view.to_messages();
    let roles: Vec<_> = messages.iter().map(Message::role).collect();
    assert_eq!(
        roles,
        ["user", "assistant", "tool", "tool", "tool", "assistant"]
    );
    let again = SessionView::of_messages(&messages, Timestamp(5), &options());
    assert_eq!(again.title, view.title);
    assert_eq!(again.to_messages(), messages);
    assert_eq!(again.created_at, Timestamp(5));
}

#[test]
fn an_answer_that_was_cut_says_so() {
    let cut: Metadata = serde_json::from_value(json!({ CUT: true })).expect("JSON");
    let text = |sequence, id: &str, text: &str, metadata| Block {
        sequence,
        hop: 0,
        content: BlockContent::Text {
            message_id: id.into(),
            text: text.to_owned(),
            attached: Attached {
                metadata,
                ..Attached::default()
            },
        },
    };
    let mut turn = begun("turn", None, Some(Message::user("said", "Say it.")), 1);
    let blocks = [
        text(0, "half", "Half an ans", None),
        text(1, "half", "", Some(cut)),
        text(2, "whole", "A whole answer.", None),
    ];
    write(&mut turn, TurnStatus::Complete, None, &blocks, 2);
    let view = SessionView::of([&turn], &options()).expect("a path");
    let shown = serde_json::to_value(&view.messages).expect("JSON");
    let marks: Vec<_> = (0..3).map(|at| shown[at].get("cut")).collect();
    assert_eq!(marks, [None, Some(&json!(true)), None]);
    let again = SessionView::of_messages(&view.to_messages(), Timestamp(5), &options());
    let marks: Vec<_> = again.messages.iter().map(|message| message.cut).collect();
    assert_eq!(marks, [false, true, false]);
}

#[test]
fn hostile_labels_are_cleaned_and_cut() {
    for (label, shown) in [
        ("a\r\nb\u{0}\u{1b}]0;x\u{7}", "a b ]0;x"),
        ("\u{202e}cod.exe", "cod.exe"),
        ("  ", "work"),
        ("", "work"),
    ] {
        let tool = Tool::new("work", "Works.").label(move |_| Some(label.to_owned()));
        let tools = ToolRegistry::new().register(tool).expect("a good tool");
        assert_eq!(tools.label("work", "{}"), shown, "{label:?}");
        assert_eq!(tools.label("work", "{"), "work", "no arguments to speak of");
    }
    let tool = Tool::new("work", "Works.").label(|_| Some("word ".repeat(1 << 18)));
    let tools = ToolRegistry::new().register(tool).expect("a good tool");
    let label = tools.label("work", "{}");
    assert!(
        label.chars().count() <= 120 && label.ends_with("word…"),
        "{label}"
    );
    // A name that a model made up is no better.
    assert!(tools.label(&"x\n".repeat(1 << 18), "{}").chars().count() <= 120);
}

#[test]
fn a_label_is_no_part_of_what_is_stored_or_compared() {
    let tool = Tool::new("work", "Works.");
    let labelled = tool.clone().label(|_| Some("Label".to_owned()));
    assert_eq!(tool, labelled);
    assert_eq!(json!(tool), json!(labelled));
    assert!(format!("{labelled:?}").contains("ToolLabel(…)"));
}

proptest! {
    #![proptest_config(cases(40))]

    /// To messages and back nothing that is shown changes, but the ids of turns and the times.
    #[test]
    fn a_view_survives_the_way_over_messages(api in 0..7usize, plans in turns(false)) {
        let mut thread = Thread::new(Api::ALL[api]);
        for plan in &plans {
            thread.run(&TurnPlan { resends: None, ..plan.clone() });
        }
        let view = SessionView::of(&thread.turns, &options()).expect("a path");
        let messages = view.to_messages();
        let again = SessionView::of_messages(&messages, Timestamp(0), &options());
        prop_assert_eq!(again.to_messages(), messages);
        prop_assert_eq!(again.messages.len(), view.messages.len());
    }
}
