//! Checks that the decoder of its dialect decodes an answer's frames to the answer's content.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Map, Value};
use stepwell_core::dialect::HopIds;
use stepwell_core::event::Message;
use stepwell_core::pipeline::{Pipeline, StreamEnd};
use stepwell_core::transcript::Transcript;
use stepwell_mock_llm::{Answer, Call, Dialect, Setting};

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

fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<_> = text.chars().collect();
    let pieces = characters.chunks(size);
    pieces.map(|piece| piece.iter().collect()).collect()
}

/// The answer, neighbouring calls mixed or one after the other.
fn answer(said: &[Said], size: usize, mixes: bool) -> Answer {
    let call = |said: &Said| match said {
        Said::Call {
            id,
            name,
            arguments,
        } => {
            let pieces = pieces(&arguments.to_string(), size);
            Some(match id {
                Some(id) => Call::new(id, name, pieces),
                None => Call::unnamed(name, pieces),
            })
        }
        _ => None,
    };
    let is_call = |said: &Said| matches!(said, Said::Call { .. });
    let batches = said.chunk_by(|one, next| mixes && is_call(one) && is_call(next));
    let answer = batches.fold(Answer::new(), |answer, batch| match &batch[0] {
        Said::Reasoning(text) => answer.reasoning(pieces(text, size)),
        Said::Text(text) => answer.text(pieces(text, size)),
        Said::Call { .. } => answer.calls(batch.iter().filter_map(call)),
    });
    answer.usage(3, 4)
}

/// Reasoning, text and calls by themselves: the formats differ in what order they keep between them.
fn gathered(said: &[Said]) -> (String, String, Vec<Said>) {
    let mut all = (String::new(), String::new(), Vec::new());
    for said in said {
        match said {
            Said::Reasoning(text) => all.0.push_str(text),
            Said::Text(text) => all.1.push_str(text),
            call @ Said::Call { .. } => all.2.push(call.clone()),
        }
    }
    all
}

/// Returns the content of the conversation, call ids only where the script chose them.
fn heard(transcript: &Transcript) -> Vec<Said> {
    let mut heard = Vec::new();
    for message in transcript.messages() {
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

fn check(
    dialect: Dialect,
    said: &[Said],
    size: usize,
    mixes: bool,
    seals: bool,
) -> Result<(), TestCaseError> {
    let mut setting = Setting::new();
    if seals {
        setting = setting.signs();
    }
    let body = answer(said, size, mixes).body(dialect, &setting);
    let decodes = serde_json::from_value(dialect.name().into()).expect("it has them all");
    let ids = HopIds {
        run_id: "r".into(),
        ..HopIds::default()
    };
    let mut pipeline = Pipeline::new(decodes, ids, Default::default());
    let mut transcript = Transcript::default();
    let end = pipeline
        .receive(&body, &mut transcript, &mut ())
        .and_then(|()| pipeline.end(&mut transcript, &mut ()));
    prop_assert_eq!(end, Ok(StreamEnd::Finished), "{:?}", dialect);
    prop_assert_eq!(
        gathered(&heard(&transcript)),
        gathered(said),
        "{:?}",
        dialect
    );
    let usage = &transcript.summary().usage;
    prop_assert_eq!(usage[0].input_tokens, Some(3), "{:?}", dialect);
    prop_assert_eq!(usage[0].output_tokens, Some(4), "{:?}", dialect);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_decoders_say_what_the_answer_says(said in said(), size in 1..20_usize, mixes: bool, seals: bool) {
        for dialect in Dialect::ALL {
            check(dialect, &said, size, mixes, seals)?;
        }
    }
}
