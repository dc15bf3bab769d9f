//! What chats post.

use serde_json::{Value, json};
use stepwell_serve::{ChatRequest, Refused, RefusedReason};

fn request(messages: &Value) -> Result<ChatRequest, Refused> {
    let body = json!({ "id": "chat", "trigger": "submit-message", "messages": messages });
    ChatRequest::read(body.to_string().as_bytes())
}

fn history(messages: &Value) -> Value {
    json!(request(messages).expect("it is read").input.messages)
}

fn user(text: &str) -> Value {
    json!({ "id": "u", "role": "user", "parts": [{ "type": "text", "text": text }] })
}

#[test]
fn each_step_of_an_answer_is_a_message_with_its_results() {
    let call = |id: &str, more: Value| {
        let mut part = json!({ "type": "tool-look", "toolCallId": id, "input": { "at": id } });
        for (name, value) in more.as_object().into_iter().flatten() {
            part[name] = value.clone();
        }
        part
    };
    let assistant = json!({ "id": "a", "role": "assistant", "parts": [
        { "type": "step-start" },
        { "type": "reasoning", "text": "hm" },
        { "type": "text", "text": "I look." },
        call("c1", json!({ "state": "output-available", "output": { "found": 1 } })),
        call("c2", json!({ "state": "output-error", "errorText": "no such place" })),
        call("c3", json!({ "state": "output-denied", "approval": { "id": "i", "approved": false } })),
        call("c4", json!({ "state": "input-streaming" })),
        { "type": "step-start" },
        { "type": "text", "text": "Found." },
    ]});
    let function = |id: &str| json!({ "name": "look", "arguments": format!(r#"{{"at":"{id}"}}"#) });
    let asked = |id: &str| json!({ "id": id, "type": "function", "function": function(id) });
    let denied = "the user did not allow it";
    assert_eq!(
        history(&json!([user("where?"), assistant, user("thanks")])),
        json!([
            { "role": "user", "id": "u", "content": "where?" },
            { "role": "assistant", "id": "a", "content": "I look.",
              "toolCalls": [asked("c1"), asked("c2"), asked("c3")] },
            { "role": "tool", "id": "a-c1", "toolCallId": "c1", "content": r#"{"found":1}"# },
            { "role": "tool", "id": "a-c2", "toolCallId": "c2", "content": "no such place",
              "error": "no such place" },
            { "role": "tool", "id": "a-c3", "toolCallId": "c3", "content": denied, "error": denied },
            { "role": "assistant", "id": "a-1", "content": "Found." },
            { "role": "user", "id": "u", "content": "thanks" },
        ])
    );
}

#[test]
fn files_are_parts_by_their_bytes_or_their_address() {
    let file = |media_type: &str, url: &str| json!({ "type": "file", "mediaType": media_type, "url": url });
    let parts = json!([
        { "type": "text", "text": "what is this?" },
        file("image/png", "data:image/png;base64,AAAA"),
        file("application/pdf", "https://example.org/a.pdf"),
    ]);
    let said = json!([{ "id": "u", "role": "user", "parts": parts }]);
    assert_eq!(
        history(&said)[0]["content"],
        json!([
            { "type": "text", "text": "what is this?" },
            { "type": "image", "source": { "type": "data", "value": "AAAA", "mimeType": "image/png" } },
            { "type": "document", "source": { "type": "url", "value": "https://example.org/a.pdf",
              "mimeType": "application/pdf" } },
        ])
    );
}

#[test]
fn answers_continue_the_message_that_asked() {
    let asked = |state: &str, approved: Value| {
        json!({ "type": "tool-send", "toolCallId": "c", "state": state, "input": {},
            "approval": { "id": "i", "approved": approved } })
    };
    let read = |part: Value| {
        let assistant = json!({ "id": "a", "role": "assistant", "parts": [part] });
        request(&json!([user("send it"), assistant])).expect("it is read")
    };
    let granted = read(asked("approval-responded", json!(true)));
    assert_eq!((granted.message_id.as_str(), granted.is_new), ("a", false));
    let resume = json!(granted.input.resume);
    assert_eq!(
        resume,
        json!([{ "interruptId": "i", "status": "resolved", "payload": { "approved": true, "reason": null } }])
    );
    assert_eq!(
        read(asked("approval-requested", json!(null))).input.resume,
        None
    );
    assert_eq!(
        read(asked("output-available", json!(true))).input.resume,
        None
    );
}

#[test]
fn invalid_chats_are_refused_with_the_place() {
    let refused = |body: &str| {
        let refused = ChatRequest::read(body.as_bytes()).expect_err("it is refused");
        (refused.reason, refused.message)
    };
    let (reason, message) = refused("{");
    assert_eq!(reason, RefusedReason::InvalidJson, "{message}");
    for (body, says) in [
        (r#"{"id": "c"}"#, "missing field `messages`"),
        (r#"{"id": "c", "messages": []}"#, "/messages is empty"),
        (
            r#"{"id": "", "messages": []}"#,
            "chat: /id has 1 to 512 bytes",
        ),
        (
            r#"{"id": "c", "messages": [{"id": "u", "role": "user", "content": "hi"}]}"#,
            "missing field `parts`",
        ),
        (
            r#"{"id": "c", "messages": [{"id": "u", "role": "person", "parts": []}]}"#,
            "unknown variant `person`",
        ),
    ] {
        let (reason, message) = refused(body);
        assert_eq!(reason, RefusedReason::InvalidInput);
        assert!(message.contains(says), "{message}");
    }
}

fn with(name: &str, value: &Value) -> Result<ChatRequest, Refused> {
    let mut body = json!({ "id": "chat", "messages": [user("hello")] });
    body[name] = value.clone();
    ChatRequest::read(body.to_string().as_bytes())
}

#[test]
fn tools_are_read_in_each_front_ends_form() {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let ag_ui = json!([{ "name": "look", "description": "Looks.", "parameters": schema }]);
    let ai_sdk = json!([{ "name": "look", "description": "Looks.", "inputSchema": schema }]);
    let assistant_ui = json!({ "look": { "description": "Looks.", "parameters": schema } });
    for tools in [&ag_ui, &ai_sdk, &assistant_ui] {
        let input = with("tools", tools).expect("it is read").input;
        assert_eq!(json!(input.tools), ag_ui, "{tools}");
    }
    let input = with("tools", &json!([{ "name": "look" }]))
        .expect("it is read")
        .input;
    assert_eq!(
        json!(input.tools),
        json!([{ "name": "look", "description": "" }])
    );
    assert_eq!(
        with("tools", &json!({})).expect("it is read").input.tools,
        Some(Vec::new())
    );
}

#[test]
fn tools_that_are_none_are_refused_with_where() {
    for (tools, says) in [
        (json!("look"), "/tools is neither"),
        (json!([{ "description": "" }]), "/tools/0 has no `name`"),
        (json!({ "a/b": 7 }), "/tools/a~1b is no tool"),
        (json!([{ "name": 7 }]), "/tools/0 is no tool"),
    ] {
        let refused = with("tools", &tools).expect_err("it is refused");
        assert_eq!(refused.reason, RefusedReason::InvalidInput);
        assert!(refused.message.contains(says), "{}", refused.message);
    }
}

#[test]
fn instructions_of_the_front_end_are_a_system_message() {
    let input = with("system", &json!("Be brief."))
        .expect("it is read")
        .input;
    let messages = json!(input.messages);
    assert_eq!(
        (&messages[0]["role"], &messages[0]["content"]),
        (&json!("system"), &json!("Be brief."))
    );
    assert_eq!(messages[1]["role"], "user");
    let input = with("system", &json!("")).expect("it is read").input;
    assert_eq!(input.messages.len(), 1);
}

#[test]
fn a_file_within_the_page_is_refused() {
    let file =
        json!({ "type": "file", "mediaType": "image/png", "url": "blob:https://a.example/1" });
    let said = json!([{ "id": "u", "role": "user", "parts": [file] }]);
    let refused = request(&said).expect_err("it is refused");
    assert!(
        refused.message.starts_with("/messages/0/parts/0/url"),
        "{}",
        refused.message
    );
}
