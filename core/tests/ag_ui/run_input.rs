//! A request as a server reads it.

use serde_json::{Value, json};
use stepwell_core::dialect::{RunInputError, read_run_input};
use stepwell_core::event::{ContentPart, Message, MessageContent, RunAgentInput};

fn read(input: &Value) -> Result<(RunAgentInput, Vec<String>), RunInputError> {
    read_run_input(input.to_string().as_bytes())
}

fn with(field: &str, value: Value) -> Value {
    let mut input = json!({
        "threadId": "t",
        "runId": "r",
        "messages": [{"id": "m", "role": "user", "content": "Hi"}],
    });
    input[field] = value;
    input
}

#[test]
fn what_is_unknown_is_passed_over_with_a_warning() {
    let messages = json!([
        {"id": "m1", "role": "oracle", "content": "?"},
        {"id": "m2", "role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "smell"}]},
    ]);
    let (input, warnings) = read(&with("messages", messages)).unwrap();
    assert_eq!(input.messages.len(), 1);
    let Message::User(user) = &input.messages[0] else {
        panic!("{input:?}");
    };
    let MessageContent::Parts(parts) = &user.content else {
        panic!("{user:?}");
    };
    assert!(matches!(parts[..], [ContentPart::Text(_)]));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn old_shapes_are_read() {
    let binary = json!([{
        "id": "m", "role": "user",
        "content": [{"type": "binary", "mimeType": "image/png", "data": "AA=="}],
    }]);
    let (input, _) = read(&with("messages", binary)).unwrap();
    let Message::User(user) = &input.messages[0] else {
        panic!("{input:?}");
    };
    let MessageContent::Parts(parts) = &user.content else {
        panic!("{user:?}");
    };
    assert!(matches!(parts[..], [ContentPart::Image(_)]));
    for field in [
        "state",
        "tools",
        "context",
        "resume",
        "parentRunId",
        "forwardedProps",
    ] {
        let (_, warnings) = read(&with(field, Value::Null)).unwrap();
        assert_eq!(warnings, [format!("read input.{field}: null as absent")]);
    }
}

#[test]
fn nulls_of_an_older_client_are_absent() {
    let messages = json!([
        {"id": "u", "role": "user", "content": "Hi", "name": null, "encryptedValue": null},
        {"id": "a", "role": "assistant", "content": null, "name": null, "encryptedValue": null, "toolCalls": [
            {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}, "encryptedValue": null}]},
        {"id": "t", "role": "tool", "toolCallId": "c", "content": "ok", "error": null},
        {"id": "b", "role": "assistant", "content": "Done", "toolCalls": null},
        {"id": "p", "role": "user", "content": [
            {"type": "image", "source": {"type": "url", "value": "https://a/b", "mimeType": null}, "metadata": null}]},
    ]);
    let (input, warnings) = read(&with("messages", messages)).unwrap();
    assert_eq!(input.messages.len(), 5);
    assert_eq!(warnings.len(), 10, "{warnings:?}");
}

#[test]
fn what_is_malformed_is_refused() {
    for (field, value, expected) in [
        ("threadId", json!(7), "/threadId: invalid type: integer `7`"),
        (
            "messages",
            json!("none"),
            "/messages: invalid type: string \"none\"",
        ),
        (
            "messages",
            json!([{"id": "m", "role": "user"}]),
            "/messages/0: missing field `content`",
        ),
        (
            "messages",
            json!([{"id": "m", "role": "user", "content": "Hi"}, {"id": "n", "role": "user", "content": null}]),
            "/messages/1/content: ",
        ),
        (
            "messages",
            json!([{"id": "m", "role": "assistant", "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}},
                {"id": "d", "type": "function", "function": {"name": "n", "arguments": {}}},
            ]}]),
            "/messages/0/toolCalls/1/function/arguments: ",
        ),
        (
            "messages",
            json!([{"id": "m", "role": "user", "content": [
                {"type": "text", "text": "Hi"}, {"type": "image", "source": {"type": "data", "value": "AA=="}}]}]),
            "/messages/0/content/1/source: missing field `mimeType`",
        ),
        (
            "tools",
            json!([{"name": "a"}]),
            "/tools/0: missing field `description`",
        ),
        (
            "resume",
            json!([{"interruptId": "i", "status": "maybe"}]),
            "/resume/0/status: ",
        ),
    ] {
        let error = read(&with(field, value.clone())).expect_err(&value.to_string());
        assert!(error.to_string().contains(expected), "{field}: {error}");
    }
    let error = read(&json!({"threadId": "t", "runId": "r"})).unwrap_err();
    assert!(error.to_string().contains("messages"), "{error}");
    assert!(matches!(read(&json!([])), Err(RunInputError::Malformed(_))));
    assert!(matches!(read_run_input(b"{"), Err(RunInputError::Json(_))));
    assert!(matches!(
        read_run_input(b"\xff"),
        Err(RunInputError::Json(_))
    ));
}

#[test]
fn a_call_that_a_client_posts_twice_is_one() {
    let call = |arguments: &str| json!({"id": "c1", "type": "function", "function": {"name": "set_theme", "arguments": arguments}});
    let messages = json!([
        {"id": "u1", "role": "user", "content": "dark please"},
        {"id": "m1", "role": "assistant", "toolCalls": [call("{\"theme\":\"dark\"}"), call("")]},
        {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "done"},
        {"id": "m2", "role": "assistant", "toolCalls": [call("{\"theme\":\"dark\"}")]},
    ]);
    let (input, warnings) = read(&with("messages", messages)).unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(input.messages.len(), 3, "{:?}", input.messages);
    let Message::Assistant(said) = &input.messages[1] else {
        panic!("{input:?}");
    };
    assert_eq!(said.tool_calls.len(), 1);
    assert_eq!(
        said.tool_calls[0].function.arguments,
        "{\"theme\":\"dark\"}"
    );
    // Two calls side by side, in messages of their own.
    let other = json!({"id": "c2", "type": "function", "function": {"name": "set_theme", "arguments": "{}"}});
    let messages = json!([
        {"id": "m1", "role": "assistant", "toolCalls": [call("{}")]},
        {"id": "m2", "role": "assistant", "toolCalls": [other]},
        {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "one"},
        {"id": "t1", "role": "tool", "toolCallId": "c2", "content": "two"},
    ]);
    let (input, warnings) = read(&with("messages", messages)).unwrap();
    assert_eq!((input.messages.len(), warnings.len()), (4, 0));
}
