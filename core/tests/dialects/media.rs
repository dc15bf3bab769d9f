//! What a tool gave back to look at, and what a provider does not take.

use crate::encode::call;
use crate::legal::targets;
use crate::validate;
use serde_json::{Value, json};
use stepwell_core::dialect::{Endpoint, GenerationSettings};
use stepwell_core::event::Message;
use stepwell_core::provider;

fn endpoint(provider: &str, api: &str, model: &str) -> Endpoint {
    provider::find(provider)
        .expect("a known provider")
        .endpoint(Some(api), model, Some("http://h"), None)
        .expect("complete")
}

/// The messages of the request for this history, which the provider takes.
fn sent(endpoint: &Endpoint, messages: Value) -> Vec<Value> {
    let messages: Vec<Message> = serde_json::from_value(messages).expect("AG-UI messages");
    let request = targets::encode(endpoint, &messages, &[], &GenerationSettings::default());
    let valid = validate::request(endpoint.dialect, &endpoint.provider, &request);
    assert_eq!(valid, Ok(()));
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    let lists = ["messages", "input", "contents"];
    let mut lists = lists.iter().filter_map(|list| body[list].as_array());
    let list = lists.next().expect("messages").iter();
    list.filter(|message| message["role"] != "system")
        .cloned()
        .collect()
}

fn media(kind: &str, mime: &str) -> Value {
    json!({"type": kind, "source": {"type": "data", "value": "QQ==", "mimeType": mime}})
}

/// A picture that a model of Gemini's made, and a wish to have it otherwise.
fn drawn() -> Value {
    let part = json!({"inlineData": {"mimeType": "image/png", "data": "QQ=="}});
    let sealed = json!({"provider": "gemini", "dialect": "gemini", "value": {"part": part}});
    json!([
        {"id": "1", "role": "user", "content": "Draw"},
        {"id": "2", "role": "activity", "activityType": "media", "content": {"parts": [media("image", "image/png")]}},
        {"id": "3", "role": "assistant", "encryptedValue": sealed.to_string()},
        {"id": "4", "role": "user", "content": "Make it blue."},
    ])
}

#[test]
fn what_a_model_made_goes_back_in_its_providers_own_form() {
    let messages = sent(&endpoint("gemini", "generateContent", "m"), drawn());
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "QQ=="}});
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert_eq!(messages[1], json!({"role": "model", "parts": [image]}));
}

#[test]
fn what_another_model_made_is_shown_before_the_users_next_words() {
    let messages = sent(&endpoint("openai", "chat", "m"), drawn());
    let image = json!({"type": "image_url", "image_url": {"url": DATA}});
    let words = json!({"type": "text", "text": "What you made:"});
    assert_eq!(
        messages,
        [
            json!({"role": "user", "content": "Draw"}),
            json!({"role": "assistant", "content": "[image, which follows]"}),
            json!({"role": "user", "content": [words, image]}),
            json!({"role": "user", "content": "Make it blue."}),
        ]
    );
}

#[test]
fn a_model_that_sees_no_pictures_is_told_that_one_was_made() {
    let mut endpoint = endpoint("openai", "chat", "m");
    endpoint.quirks.media.images = false;
    let messages = sent(&endpoint, drawn());
    assert_eq!(messages.len(), 3, "{messages:?}");
    let told = "[image, which cannot be shown here]";
    assert_eq!(messages[1], json!({"role": "assistant", "content": told}));
}

/// Two calls, of which one gives back a picture and the other fails with one.
fn pictures() -> Value {
    let image = media("image", "image/png");
    let words = json!({"type": "text", "text": "Here."});
    json!([
        {"id": "1", "role": "user", "content": "Draw"},
        {"id": "2", "role": "assistant", "toolCalls": [call("abcdefghi", "{}"), call("bbbbbbbbb", "{}")]},
        {"id": "3", "role": "tool", "toolCallId": "abcdefghi", "content": [words, image]},
        {"id": "4", "role": "tool", "toolCallId": "bbbbbbbbb", "content": [image], "error": "half"},
    ])
}

const DATA: &str = "data:image/png;base64,QQ==";
const FIRST: &str = "What `f` gave back (call abcdefghi):";
const SECOND: &str = "What `f` gave back (call bbbbbbbbb):";

#[test]
fn pictures_follow_the_results_that_hold_only_words() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let failed = r#"{"error":"half","output":"[image, which follows the results]"}"#;
    for (provider, api) in [("openai", "chat"), ("openrouter", "chat"), ("groq", "chat")] {
        let messages = sent(&endpoint(provider, api, "m"), pictures());
        let image = json!({"type": "image_url", "image_url": {"url": DATA}});
        assert_eq!(
            messages[2..],
            [
                json!({"role": "tool", "tool_call_id": "abcdefghi", "content": "Here.\n[image, which follows the results]"}),
                json!({"role": "tool", "tool_call_id": "bbbbbbbbb", "content": failed}),
                json!({"role": "user", "content": [text(FIRST), image, text(SECOND), image]}),
            ],
            "{provider}"
        );
    }
    let messages = sent(&endpoint("mistral", "chat", "m"), pictures());
    let image = json!({"type": "image_url", "image_url": DATA});
    // It takes no words of the user's right behind a result.
    assert_eq!(
        messages[4],
        json!({"role": "assistant", "content": "(The results have come.)"})
    );
    assert_eq!(
        messages[5],
        json!({"role": "user", "content": [text(FIRST), image, text(SECOND), image]})
    );
    let messages = sent(&endpoint("cohere", "v2chat", "m"), pictures());
    let image = json!({"type": "image_url", "image_url": {"url": DATA}});
    assert_eq!(
        messages[4],
        json!({"role": "user", "content": [text(FIRST), image, text(SECOND), image]})
    );
}

#[test]
fn gemini_has_them_in_the_response_from_the_third_generation_on() {
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "QQ=="}});
    let old = sent(
        &endpoint("gemini", "generateContent", "gemini-2.5-flash"),
        pictures(),
    );
    assert_eq!(old.len(), 3, "{old:?}");
    let parts = old[2]["parts"].as_array().expect("parts");
    assert!(
        parts[..2]
            .iter()
            .all(|part| part["functionResponse"].is_object()),
        "{parts:?}"
    );
    assert_eq!(
        parts[2..],
        [
            json!({"text": FIRST}),
            image.clone(),
            json!({"text": SECOND}),
            image.clone()
        ]
    );
    let new = sent(
        &endpoint("gemini", "generateContent", "gemini-3-pro"),
        pictures(),
    );
    let parts = new[2]["parts"].as_array().expect("parts");
    let with = |response: Value| json!({"functionResponse": {"name": "f", "response": response, "parts": [image]}});
    assert_eq!(
        parts[..],
        [
            with(json!({"result": "Here."})),
            with(json!({"error": "half"}))
        ]
    );
}

#[test]
fn where_results_hold_pictures_they_stay_but_for_failures_of_anthropics() {
    let messages = sent(
        &endpoint("anthropic", "messages", "claude-sonnet-4-5"),
        pictures(),
    );
    let kinds = |blocks: &Value| -> Vec<Value> {
        let blocks = blocks.as_array().expect("blocks").iter();
        blocks.map(|block| block["type"].clone()).collect()
    };
    assert_eq!(
        kinds(&messages[2]["content"]),
        ["tool_result", "tool_result", "text", "image"]
    );
    assert_eq!(
        kinds(&messages[2]["content"][0]["content"]),
        ["text", "image"]
    );
    assert_eq!(kinds(&messages[2]["content"][1]["content"]), ["text"]);
    assert_eq!(messages[2]["content"][2]["text"], SECOND);
    let items = sent(&endpoint("openai", "responses", "gpt-5"), pictures());
    assert_eq!(
        kinds(&json!(items)),
        [
            "message",
            "function_call",
            "function_call",
            "function_call_output",
            "function_call_output"
        ]
    );
    assert_eq!(kinds(&items[3]["output"]), ["input_text", "input_image"]);
    assert_eq!(kinds(&items[4]["output"]), ["input_text", "input_image"]);
    let ollama = sent(&endpoint("ollama", "ollama-chat", "m"), pictures());
    assert_eq!(ollama.len(), 4);
    assert_eq!(ollama[3]["images"], json!(["QQ=="]));
}

#[test]
fn what_an_api_does_not_take_is_told_in_words() {
    let attached = |part: Value| json!([{"id": "1", "role": "user", "content": [{"type": "text", "text": "Look"}, part]}]);
    for (provider, api, part, words) in [
        (
            "groq",
            "chat",
            media("document", "application/pdf"),
            "[document, which cannot be shown here]",
        ),
        (
            "openai",
            "responses",
            media("audio", "audio/wav"),
            "[audio, which cannot be shown here]",
        ),
        (
            "together",
            "chat",
            media("audio", "audio/wav"),
            "[audio, which cannot be shown here]",
        ),
        (
            "anthropic",
            "messages",
            json!({"type": "document", "source": {"type": "data", "value": "/w==", "mimeType": "application/zip"}}),
            "[document, which cannot be shown here]",
        ),
    ] {
        let message = &sent(&endpoint(provider, api, "m"), attached(part))[0];
        let part = &message["content"][1];
        assert_eq!(part["text"], words, "{provider}: {message}");
    }
}

#[test]
fn files_keep_their_names_and_have_an_extension() {
    let named = |metadata: Value, mime: &str| {
        let mut part = media("document", mime);
        part["metadata"] = metadata;
        part
    };
    let word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    for (part, name) in [
        (
            named(json!({"filename": "a b.pdf"}), "application/pdf"),
            "a b.pdf",
        ),
        (named(json!({"name": "b.md"}), "text/markdown"), "b.md"),
        (
            named(json!({"filename": ""}), "text/csv; charset=utf-8"),
            "document.csv",
        ),
        (
            named(json!({"cacheControl": true}), "application/pdf"),
            "document.pdf",
        ),
        (media("document", word), "document.docx"),
        (media("document", "application/x-unheard-of"), "document"),
    ] {
        let said = json!([{"id": "1", "role": "user", "content": [part]}]);
        let chat = &sent(&endpoint("openai", "chat", "m"), said.clone())[0];
        assert_eq!(chat["content"][0]["file"]["filename"], name);
        let responses = &sent(&endpoint("openai", "responses", "m"), said.clone())[0];
        assert_eq!(responses["content"][0]["filename"], name);
        // A name that nobody gave is none.
        let mistral = &sent(&endpoint("mistral", "chat", "m"), said)[0];
        let given = mistral["content"][0].get("document_name");
        let is_made = name.starts_with("document");
        assert_eq!(given, (!is_made).then_some(&json!(name)));
    }
}
