//! Each rule of the legaliser by an example.

use super::targets::endpoints;
use serde_json::{Value, json};
use stepwell_core::dialect::legal::{Rules, legalise};
use stepwell_core::dialect::{Endpoint, SentMessage};
use stepwell_core::event::Message;

fn endpoint(provider: &str) -> Endpoint {
    endpoints(provider).swap_remove(0)
}

/// The history, legalised, with each message in short.
fn legal(provider: &str, history: Value) -> Vec<String> {
    let messages: Vec<Message> = serde_json::from_value(history).expect("AG-UI messages");
    let endpoint = endpoint(provider);
    let legal = legalise(&messages, &Rules::of(&endpoint));
    legal.iter().map(|message| short(message)).collect()
}

fn short(message: &Message) -> String {
    let message = serde_json::to_value(message).expect("JSON");
    let role = message["role"].as_str().unwrap_or_default();
    let content = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        parts => parts.to_string(),
    };
    let calls: String = message["toolCalls"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|call| {
            let function = &call["function"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            format!(
                " {}={}({})",
                text(&call["id"]),
                text(&function["name"]),
                text(&function["arguments"])
            )
        })
        .collect();
    let answers = message["toolCallId"].as_str().map(|id| format!(" {id}:"));
    format!("{role}{} {content}{calls}", answers.unwrap_or_default())
}

fn user(text: &str) -> Value {
    json!({"id": text, "role": "user", "content": text})
}

fn says(text: &str) -> Value {
    json!({"id": text, "role": "assistant", "content": text})
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}})
}

fn asks(ids: &[&str]) -> Value {
    let calls: Vec<_> = ids.iter().map(|id| call(id)).collect();
    json!({"id": ids.concat(), "role": "assistant", "toolCalls": calls})
}

fn result(id: &str, text: &str) -> Value {
    json!({"id": format!("{id}{text}"), "role": "tool", "toolCallId": id, "content": text})
}

fn system(text: &str) -> Value {
    json!({"id": text, "role": "system", "content": text})
}

const MISSING: &str = "There is no result: the call was not carried out to its end.";

#[test]
fn a_legal_history_is_not_even_copied() {
    let history = json!([
        system("Rule"),
        user("Hi"),
        asks(&["abcDEF123", "abcDEF124"]),
        result("abcDEF123", "1"),
        result("abcDEF124", "2"),
        says("Done"),
        user("Thanks"),
    ]);
    let messages: Vec<Message> = serde_json::from_value(history).expect("AG-UI messages");
    for provider in [
        "openai",
        "anthropic",
        "gemini",
        "mistral",
        "cohere",
        "ollama",
        "groq",
        "ag-ui",
    ] {
        let endpoint = endpoint(provider);
        let legal = legalise(&messages, &Rules::of(&endpoint));
        let is_kept = |message: &SentMessage<'_>| matches!(message, SentMessage::Kept(_));
        assert!(legal.iter().all(is_kept), "{provider}: {legal:#?}");
        assert_eq!(legal.len(), messages.len(), "{provider}");
    }
}

#[test]
fn results_come_right_behind_in_the_order_of_the_calls() {
    assert_eq!(
        legal(
            "openai",
            json!([
                user("Hi"),
                asks(&["a", "b", "c"]),
                user("Wait"),
                result("x", "stray"),
                result("c", "3"),
                result("a", "1"),
                result("a", "again"),
            ])
        ),
        [
            "user Hi",
            "assistant - a=f({}) b=f({}) c=f({})",
            "tool a: 1",
            &format!("tool b: {MISSING}"),
            "tool c: 3",
            "user Wait"
        ],
    );
}

#[test]
fn a_missing_result_is_an_error() {
    let messages: Vec<Message> =
        serde_json::from_value(json!([user("Hi"), asks(&["a"])])).expect("messages");
    let endpoint = endpoint("openai");
    let legal = legalise(&messages, &Rules::of(&endpoint));
    let Message::Tool(result) = &*legal[2] else {
        panic!("{legal:?}");
    };
    assert_eq!(result.error.as_deref(), Some(MISSING));
}

#[test]
fn a_result_answers_the_last_answer_that_used_its_id() {
    let all = legal(
        "openai",
        json!([
            user("1"),
            asks(&["call_0"]),
            result("call_0", "first"),
            says("A"),
            user("2"),
            asks(&["call_0"]),
            result("call_0", "second"),
        ]),
    );
    assert_eq!(
        all[..4],
        [
            "user 1",
            "assistant - call_0=f({})",
            "tool call_0: first",
            "assistant A"
        ]
    );
    let id = all[5]
        .strip_prefix("assistant - ")
        .and_then(|rest| rest.strip_suffix("=f({})"))
        .expect("a call");
    assert_ne!(id, "call_0");
    assert_eq!(all[6], format!("tool {id}: second"));
}

#[test]
fn two_calls_of_one_id_have_their_results_in_order() {
    let all = legal(
        "openai",
        json!([
            user("1"),
            asks(&["a", "a"]),
            result("a", "1"),
            result("a", "2")
        ]),
    );
    assert!(
        all[2].ends_with(": 1") && all[3].ends_with(": 2"),
        "{all:?}"
    );
    assert_ne!(all[2][..all[2].len() - 1], all[3][..all[3].len() - 1]);
}

#[test]
fn ids_come_into_each_providers_form_on_both_sides() {
    for (provider, id, most, legal_as_it_is) in [
        ("openai", "call_abc", 40, true),
        ("openai", &"x".repeat(41), 40, false),
        ("openai", "functions.weather:0", 40, true),
        ("groq", &"x".repeat(41), 256, true),
        ("anthropic", "functions.weather:0", 64, false),
        ("anthropic", "toolu_01AbC-d", 64, true),
        ("mistral", "call_abc", 9, false),
        ("mistral", "abcDEF123", 9, true),
        ("cohere", "", 256, false),
    ] {
        let all = legal(provider, json!([user("1"), asks(&[id]), result(id, "1")]));
        let now = all[1]
            .strip_prefix("assistant - ")
            .and_then(|rest| rest.strip_suffix("=f({})"))
            .expect("a call");
        assert_eq!(now == id, legal_as_it_is, "{provider} {id}: {now}");
        assert!((1..=most).contains(&now.len()), "{provider} {id}: {now}");
        assert_eq!(all[2], format!("tool {now}: 1"));
    }
}

#[test]
fn made_ids_are_the_same_in_every_version() {
    let all = legal(
        "mistral",
        json!([
            user("1"),
            asks(&["call_abc", "call_abc"]),
            result("call_abc", "1")
        ]),
    );
    assert_eq!(all[1], "assistant - h8SRjVG9q=f({}) 590Q3KelR=f({})");
    let all = legal(
        "anthropic",
        json!([user("1"), asks(&["functions.weather:0"])]),
    );
    assert_eq!(all[1], "assistant - call_G4weJjHzlYIwnpV2ZwG=f({})");
}

#[test]
fn names_and_arguments_come_into_form() {
    let odd = json!({"id": "1", "role": "assistant", "toolCalls": [
        {"id": "a", "type": "function", "function": {"name": "functions.get weather", "arguments": "{\"city\":\"Os"}},
        {"id": "b", "type": "function", "function": {"name": "", "arguments": "null"}},
    ]});
    let history = json!([user("1"), odd, result("a", "1"), result("b", "2")]);
    assert_eq!(
        legal("groq", history.clone())[1],
        r#"assistant - a=functions_get_weather({"raw":"{\"city\":\"Os"}) b=unnamed(null)"#
    );
    // OpenAI's models see what they wrote.
    assert_eq!(
        legal("openai", history.clone())[1],
        r#"assistant - a=functions_get_weather({"city":"Os) b=unnamed(null)"#
    );
    assert!(legal("gemini", history)[1].contains("a=functions.get_weather("));
}

#[test]
fn blank_text_goes_where_it_is_refused() {
    let parts = json!({"id": "p", "role": "user", "content": [{"type": "text", "text": " "}, {"type": "text", "text": "x"}]});
    let history = json!([user(" "), says(" "), system(""), parts, says(""), user("")]);
    for provider in ["anthropic", "gemini", "mistral", "cohere"] {
        assert_eq!(
            legal(provider, history.clone()),
            [
                "user (an empty message)",
                r#"user [{"type":"text","text":"x"}]"#,
                "user (an empty message)"
            ],
            "{provider}"
        );
    }
    assert_eq!(legal("openai", history).len(), 5);
}

#[test]
fn system_messages_come_first_where_they_must() {
    let history = json!([user("1"), says("A"), system("Rule"), user("2")]);
    assert_eq!(legal("openai", history.clone())[2], "system Rule");
    for provider in ["anthropic", "gemini", "mistral"] {
        assert_eq!(
            legal(provider, history.clone()),
            ["system Rule", "user 1", "assistant A", "user 2"]
        );
    }
}

#[test]
fn gaps_are_filled_where_they_are_refused() {
    let history = json!([
        says("A"),
        asks(&["abcDEF123"]),
        result("abcDEF123", "1"),
        user("2"),
        says("B")
    ]);
    let [first, between, last] = [
        "user (The conversation goes on.)",
        "assistant (The answer was cut off.)",
        "user (Go on.)",
    ];
    let plain = [
        "assistant A",
        "assistant - abcDEF123=f({})",
        "tool abcDEF123: 1",
        "user 2",
        "assistant B",
    ];
    assert_eq!(legal("openai", history.clone()), plain);
    let [a, asks, result, two, b] = plain;
    assert_eq!(
        legal("anthropic", history.clone()),
        [first, a, asks, result, two, b, last]
    );
    assert_eq!(
        legal("mistral", history),
        [a, asks, result, between, two, b, last]
    );
}

#[test]
fn a_request_has_someone_who_speaks() {
    let first = "user (The conversation goes on.)";
    assert_eq!(legal("openai", json!([])), [first]);
    assert_eq!(
        legal("anthropic", json!([system("Rule")])),
        ["system Rule", first]
    );
    assert_eq!(legal("ag-ui", json!([])), [""; 0]);
}

#[test]
fn reasoning_that_nothing_came_of_is_dropped() {
    let thought = |id: &str| json!({"id": id, "role": "reasoning", "content": "Hmm."});
    assert_eq!(
        legal(
            "openai",
            json!([
                user("1"),
                thought("a"),
                user("2"),
                thought("b"),
                says("B"),
                thought("c"),
                user("3"),
                thought("d"),
                says(""),
                user("4"),
            ])
        ),
        [
            "user 1",
            "user 2",
            "reasoning Hmm.",
            "assistant B",
            "user 3",
            "user 4"
        ],
    );
}

#[test]
fn a_refusal_is_words_beside_what_was_said() {
    let refusal = json!({"id": "1", "role": "assistant", "metadata": {"refusal": "I will not."}});
    let mut beside = refusal.clone();
    beside["content"] = json!("Well,");
    for provider in ["anthropic", "openai", "groq"] {
        let of = |said: &Value| legal(provider, json!([user("1"), said, user("2")]))[1].clone();
        assert_eq!(of(&refusal), "assistant I will not.", "{provider}");
        assert_eq!(of(&beside), "assistant Well,\n\nI will not.", "{provider}");
    }
}

#[test]
fn files_of_another_provider_become_words() {
    let file = |provider: &str| {
        json!({"id": "1", "role": "user", "content": [
            {"type": "document", "source": {"type": "file", "value": "file-1", "provider": provider}},
        ]})
    };
    let words = r#"user [{"type":"text","text":"[document, which cannot be shown here]"}]"#;
    assert_eq!(legal("openai", json!([file("anthropic")])), [words]);
    assert!(legal("openai", json!([file("openai")]))[0].contains("file-1"));
}

#[test]
fn activities_stay_at_home() {
    let activity = json!({"id": "a", "role": "activity", "activityType": "search", "content": {}});
    assert_eq!(legal("openai", json!([user("1"), activity])), ["user 1"]);
}
