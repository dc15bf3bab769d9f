//! From calls that have ended to the messages that the model gets.

use stepwell_core::CallKey;
use stepwell_core::event::{Message, MessageContent, ToolMessage};
use stepwell_core::tool::{ToolFailure, ToolFailureKind, ToolResult};
use stepwell_core::transcript::{LiveCall, ToolCallStatus, tool_message, tool_messages};

fn call(index: u32, status: ToolCallStatus, result: Option<ToolResult>) -> LiveCall {
    LiveCall {
        key: CallKey { hop: 0, index },
        id: format!("call-{index}").into(),
        name: "work".into(),
        status,
        result,
        edited: None,
        changed: None,
        restarts: 0,
    }
}

fn built(calls: &[LiveCall]) -> Vec<ToolMessage> {
    tool_messages(calls, |index| format!("message-{index}").into())
        .into_iter()
        .map(|message| match message {
            Message::Tool(message) => message,
            other => panic!("not a tool message: {other:?}"),
        })
        .collect()
}

#[test]
fn a_call_that_has_not_ended_gives_no_message() {
    use ToolCallStatus::{AwaitingApproval, Executing, Pending, Streaming};
    for status in [Streaming, Pending, AwaitingApproval, Executing] {
        assert_eq!(
            tool_message(&call(0, status, None), "m".into()),
            None,
            "{status:?}"
        );
    }
}

#[test]
fn a_call_that_the_backend_answered_itself_gives_no_second_message() {
    assert_eq!(
        tool_message(&call(0, ToolCallStatus::Completed, None), "m".into()),
        None
    );
}

#[test]
fn a_result_is_the_messages_content() {
    let messages = built(&[call(0, ToolCallStatus::Completed, Some(Ok("42".into())))]);
    assert_eq!(messages[0].content, MessageContent::Text("42".into()));
    assert_eq!(
        (messages[0].tool_call_id.as_str(), &messages[0].error),
        ("call-0", &None)
    );
}

#[test]
fn a_failure_is_both_content_and_error() {
    for (status, kind) in [
        (ToolCallStatus::Failed, ToolFailureKind::Error),
        (ToolCallStatus::Denied, ToolFailureKind::Denied),
        (ToolCallStatus::Cancelled, ToolFailureKind::Cancelled),
    ] {
        let failure = ToolFailure::new(kind, "it did not work");
        let messages = built(&[call(0, status, Some(Err(failure)))]);
        assert_eq!(
            messages[0].content,
            MessageContent::Text("it did not work".into())
        );
        assert_eq!(messages[0].error.as_deref(), Some("it did not work"));
    }
}

#[test]
fn messages_are_in_the_order_of_the_calls_and_named_by_their_place() {
    let messages = built(&[
        call(0, ToolCallStatus::Completed, Some(Ok("a".into()))),
        call(1, ToolCallStatus::Executing, None),
        call(
            2,
            ToolCallStatus::Failed,
            Some(Err(ToolFailure::error("c"))),
        ),
    ]);
    let ids: Vec<_> = messages
        .iter()
        .map(|message| (message.id.as_str(), message.tool_call_id.as_str()))
        .collect();
    assert_eq!(ids, [("message-0", "call-0"), ("message-2", "call-2")]);
}

#[test]
fn the_model_is_told_when_a_call_ran_with_the_users_arguments() {
    let with = |result: ToolResult| {
        let mut call = call(0, ToolCallStatus::Completed, Some(result));
        call.edited = Some("{\"a\":2}".to_owned());
        built(&[call]).remove(0).content
    };
    let note = "The user changed the arguments of this call to {\"a\":2} before it ran.";
    assert_eq!(with(Ok("done".into())).to_text(), format!("{note}\ndone"));
    let parts: MessageContent =
        serde_json::from_str(r#"[{"type":"text","text":"done"}]"#).expect("parts");
    let output = stepwell_core::tool::ToolOutput { content: parts };
    let MessageContent::Parts(parts) = with(Ok(output)) else {
        panic!("parts stay parts")
    };
    assert_eq!(parts.len(), 2);
    assert_eq!(
        MessageContent::Parts(parts).to_text(),
        format!("{note}\ndone")
    );
}
