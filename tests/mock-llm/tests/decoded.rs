//! What a script says is what the decoder of the dialect makes of the mock's bytes.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Map, Value, json};
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::{Dialect, HopIds};
use stepwell_core::event::Message;
use stepwell_core::pipeline::{Pipeline, StreamEnd};
use stepwell_mock_llm::{Hop, MockLlm, Script};

#[derive(Clone, Debug, PartialEq)]
enum Said {
    Reasoning(String),
    Text(String),
    Call {
        id: Option<String>,
        name: String,
        arguments: Value,
    },
}

fn said() -> impl Strategy<Value = Vec<Said>> {
    let text = "[a-z \"\\\\\n\u{e9}\u{6771}\u{1f980}]{1,30}";
    let value = prop_oneof![
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        text.prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..3).prop_map(Value::from),
    ];
    let arguments = prop::collection::btree_map("[a-z\u{e9}]{1,6}", value, 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>()));
    let call = (any::<bool>(), "[a-z]{1,8}", arguments);
    let one = prop_oneof![
        text.prop_map(Said::Reasoning),
        text.prop_map(Said::Text),
        call.prop_map(|(id, name, arguments)| Said::Call {
            id: id.then(|| String::from("id")),
            name,
            arguments
        }),
    ];
    prop::collection::vec(one, 0..8).prop_map(|mut all| {
        for (index, said) in all.iter_mut().enumerate() {
            if let Said::Call { id: Some(id), .. } = said {
                id.push_str(&index.to_string());
            }
        }
        all
    })
}

fn hop(said: &[Said], pieces: usize, interleave: bool) -> Hop {
    let hop = said.iter().fold(Hop::new(), |hop, said| match said {
        Said::Reasoning(text) => hop.reasoning(text),
        Said::Text(text) => hop.text(text),
        Said::Call {
            id: Some(id),
            name,
            arguments,
        } => hop.tool_call_with_id(id, name, arguments.clone()),
        Said::Call {
            id: None,
            name,
            arguments,
        } => hop.tool_call(name, arguments.clone()),
    });
    let hop = hop.pieces(pieces).usage(3, 4);
    if interleave { hop.interleave() } else { hop }
}

/// Stretches of the same kind are one.
fn joined(said: &[Said]) -> Vec<Said> {
    let mut joined: Vec<Said> = Vec::new();
    for said in said {
        match (joined.last_mut(), said) {
            (Some(Said::Text(text)), Said::Text(more))
            | (Some(Said::Reasoning(text)), Said::Reasoning(more)) => text.push_str(more),
            _ => joined.push(said.clone()),
        }
    }
    joined
}

/// What the conversation has, call ids only where the script chose them.
fn heard(conversation: &Conversation) -> Vec<Said> {
    let mut heard = Vec::new();
    for message in conversation.messages() {
        match message {
            Message::Reasoning(message) => heard.push(Said::Reasoning(message.content.clone())),
            Message::Assistant(message) => {
                let text = message.content.clone().filter(|text| !text.is_empty());
                heard.extend(text.map(Said::Text));
                heard.extend(message.tool_calls.iter().map(|call| Said::Call {
                    id: Some(call.id.to_string()).filter(|id| id.starts_with("id")),
                    name: call.function.name.clone(),
                    arguments: serde_json::from_str(&call.function.arguments).expect("JSON"),
                }));
            }
            _ => {}
        }
    }
    heard
}

async fn body(dialect: Dialect, hop: Hop) -> Vec<u8> {
    let server = MockLlm::start(Script::new().hop(hop))
        .await
        .expect("starts");
    let (url, question) = match dialect {
        Dialect::Gemini => (
            format!(
                "{}/models/m:streamGenerateContent?alt=sse",
                server.url(stepwell_mock_llm::Dialect::Gemini)
            ),
            json!({"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}),
        ),
        _ => (
            format!(
                "{}/api/chat",
                server.url(stepwell_mock_llm::Dialect::Ollama)
            ),
            json!({"model": "m", "messages": [{"role": "user", "content": "Hello"}]}),
        ),
    };
    let _ = rustls::crypto::ring::default_provider().install_default();
    let request = reqwest::Client::new().post(url).body(question.to_string());
    let response = request.send().await.expect("answers");
    assert_eq!(response.status(), 200);
    response.bytes().await.expect("whole").to_vec()
}

fn check(
    dialect: Dialect,
    said: &[Said],
    pieces: usize,
    interleave: bool,
) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let body = runtime.block_on(body(dialect, hop(said, pieces, interleave)));
    let ids = HopIds {
        run_id: "r".into(),
        ..HopIds::default()
    };
    let mut pipeline = Pipeline::new(dialect, ids, Default::default());
    let mut conversation = Conversation::default();
    let end = pipeline
        .receive(&body, &mut conversation, &mut ())
        .and_then(|()| pipeline.end(&mut conversation, &mut ()));
    prop_assert_eq!(end, Ok(StreamEnd::Finished));
    prop_assert_eq!(heard(&conversation), joined(said));
    let usage = &conversation.summary().usage;
    prop_assert_eq!(usage[0].input_tokens, Some(3));
    prop_assert_eq!(usage[0].output_tokens, Some(4));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gemini_says_what_the_script_says(said in said(), pieces in 1..20_usize, interleave: bool) {
        check(Dialect::Gemini, &said, pieces, interleave)?;
    }

    #[test]
    fn ollama_says_what_the_script_says(said in said(), pieces in 1..20_usize, interleave: bool) {
        check(Dialect::Ollama, &said, pieces, interleave)?;
    }
}
