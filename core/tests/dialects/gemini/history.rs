use super::support::{body, contents, encode, messages};
use serde_json::{Value, json};
use stepwell_core::dialect::GenerationSettings;

const OLD: &str = "gemini-2.5-flash";
const NEW: &str = "gemini-3-pro-preview";

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn sealed(provider: &str, value: Value) -> String {
    json!({"provider": provider, "dialect": "gemini", "value": value}).to_string()
}

#[test]
fn results_go_in_one_content_in_the_order_of_the_calls() {
    let history = messages(json!([
        {"id": "1", "role": "user", "content": "Hi"},
        {"id": "2", "role": "assistant", "content": "Look.", "toolCalls": [
            call("a", "f", "{\"x\": 1}"), call("b", "g", ""), call("c", "h", "not json"), call("d", "i", "null"),
        ]},
        {"id": "3", "role": "tool", "toolCallId": "b", "content": "plain"},
        {"id": "4", "role": "tool", "toolCallId": "d", "content": "", "error": "no luck"},
        {"id": "5", "role": "tool", "toolCallId": "a", "content": "{\"own\": [1]}"},
        {"id": "6", "role": "tool", "toolCallId": "c", "content": "[1]"},
        {"id": "7", "role": "tool", "toolCallId": "stray", "content": "x"},
        {"id": "8", "role": "assistant", "content": "Done."},
    ]));
    assert_eq!(
        contents(OLD, &history),
        json!([
            {"role": "user", "parts": [{"text": "Hi"}]},
            {"role": "model", "parts": [
                {"text": "Look."},
                {"functionCall": {"name": "f", "args": {"x": 1}}},
                {"functionCall": {"name": "g", "args": {}}},
                {"functionCall": {"name": "h", "args": {"raw": "not json"}}},
                {"functionCall": {"name": "i", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "f", "response": {"own": [1]}}},
                {"functionResponse": {"name": "g", "response": {"result": "plain"}}},
                {"functionResponse": {"name": "h", "response": {"result": "[1]"}}},
                {"functionResponse": {"name": "i", "response": {"error": "no luck"}}},
            ]},
            {"role": "model", "parts": [{"text": "Done."}]},
        ])
    );
}

#[test]
fn what_was_signed_goes_back_on_the_same_part() {
    let mut signed = call("a", "f", "{}");
    signed["encryptedValue"] = sealed(
        "gemini",
        json!({"id": "a", "thoughtSignature": "c", "trailing": "e"}),
    )
    .into();
    let history = messages(json!([
        {"id": "1", "role": "user", "content": "Hi"},
        {"id": "2", "role": "reasoning", "content": "Hmm", "encryptedValue": sealed("gemini", json!({"thoughtSignature": "t", "length": 1}))},
        {"id": "3", "role": "reasoning", "content": "only for reading"},
        {"id": "4", "role": "assistant", "content": "Grüße", "toolCalls": [signed],
         "encryptedValue": sealed("gemini", json!({"thoughtSignature": "m", "length": 3}))},
        {"id": "5", "role": "tool", "toolCallId": "a", "content": "1"},
        {"id": "6", "role": "assistant", "content": "Bye", "encryptedValue": sealed("gemini", json!({"trailing": "z"}))},
    ]));
    assert_eq!(
        contents(NEW, &history),
        json!([
            {"role": "user", "parts": [{"text": "Hi"}]},
            {"role": "model", "parts": [
                {"text": "Hm", "thought": true},
                {"text": "m", "thought": true, "thoughtSignature": "t"},
                {"text": "Grü"},
                {"text": "ße", "thoughtSignature": "m"},
                {"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": "c"},
                {"text": "", "thoughtSignature": "e"},
            ]},
            {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "f", "response": {"result": "1"}}}]},
            {"role": "model", "parts": [{"text": "Bye"}, {"text": "", "thoughtSignature": "z"}]},
        ])
    );
}

#[test]
fn another_providers_signature_is_never_sent() {
    let history = |provider| {
        let mut foreign = call("a", "f", "{}");
        foreign["encryptedValue"] =
            sealed(provider, json!({"id": "a", "thoughtSignature": "secret"})).into();
        messages(json!([
            {"id": "1", "role": "user", "content": "Hi"},
            {"id": "2", "role": "reasoning", "content": "Hm", "encryptedValue": sealed(provider, json!({"thoughtSignature": "secret"}))},
            {"id": "3", "role": "assistant", "content": "x", "toolCalls": [foreign, call("b", "g", "{}")], "encryptedValue": "secret"},
            {"id": "4", "role": "tool", "toolCallId": "a", "content": "1"},
        ]))
    };
    for model in [OLD, NEW] {
        let foreign = contents(model, &history("vertex"));
        assert!(!foreign.to_string().contains("secret"), "{foreign}");
        assert!(
            contents(model, &history("gemini"))
                .to_string()
                .contains("secret")
        );
    }
    // The third generation refuses a step of the running turn whose first call has no signature.
    let parts = contents(NEW, &history("vertex"))[1]["parts"].take();
    assert_eq!(
        parts[1]["thoughtSignature"],
        "skip_thought_signature_validator"
    );
    assert_eq!(parts[2]["thoughtSignature"], Value::Null);
    let mut before = history("vertex");
    before.extend(messages(
        json!([{"id": "9", "role": "user", "content": "And?"}]),
    ));
    assert!(!contents(NEW, &before).to_string().contains("skip_"));
}

#[test]
fn instructions_stand_in_front() {
    let history = messages(json!([
        {"id": "0", "role": "developer", "content": "Rank."},
        {"id": "1", "role": "user", "content": ""},
        {"id": "2", "role": "system", "content": "Note."},
        {"id": "3", "role": "user", "content": "Hi"},
    ]));
    let request = encode(
        OLD,
        Some("Be brief."),
        &history,
        json!([]),
        &GenerationSettings::default(),
    );
    assert_eq!(
        body(&request),
        json!({
            "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Rank."}, {"text": "Note."}]},
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        })
    );
}

#[test]
fn media_go_as_bytes_or_by_address() {
    let history = messages(json!([{"id": "1", "role": "user", "content": [
        {"type": "text", "text": "Look"},
        {"type": "image", "source": {"type": "data", "value": "aa==", "mimeType": "image/png"}},
        {"type": "audio", "source": {"type": "data", "value": "bb==", "mimeType": "audio/wav"}},
        {"type": "video", "source": {"type": "url", "value": "https://youtu.be/x"}},
        {"type": "document", "source": {"type": "file", "value": "files/abc", "mimeType": "application/pdf"}},
        {"type": "document", "source": {"type": "file", "value": "file-1", "provider": "openai"}},
    ]}]));
    assert_eq!(
        contents(OLD, &history)[0]["parts"],
        json!([
            {"text": "Look"},
            {"inlineData": {"mimeType": "image/png", "data": "aa=="}},
            {"inlineData": {"mimeType": "audio/wav", "data": "bb=="}},
            {"fileData": {"fileUri": "https://youtu.be/x"}},
            {"fileData": {"mimeType": "application/pdf", "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/abc"}},
            {"text": "[document, which cannot be shown here]"},
        ])
    );
}

#[test]
fn media_in_results_go_beside_the_words_where_the_model_takes_them() {
    let history = messages(json!([
        {"id": "1", "role": "assistant", "toolCalls": [call("a", "shot", "{}")]},
        {"id": "2", "role": "tool", "toolCallId": "a", "content": [
            {"type": "text", "text": "Here"},
            {"type": "image", "source": {"type": "data", "value": "aa==", "mimeType": "image/png"}},
        ]},
    ]));
    assert_eq!(
        contents(NEW, &history)[1]["parts"][0]["functionResponse"],
        json!({
            "name": "shot", "response": {"result": "Here"},
            "parts": [{"inlineData": {"mimeType": "image/png", "data": "aa=="}}]
        })
    );
    assert_eq!(
        contents(OLD, &history)[1]["parts"][0]["functionResponse"],
        json!({"name": "shot", "response": {"result": "Here\n[image, which cannot be shown here]"}})
    );
}
