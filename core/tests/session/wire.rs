//! The bodies of a plan's hops, in the words of each API.

use crate::plan::{Call, End, Hop, Part};
use serde_json::Value;
use stepwell_core::dialect::{Dialect, Endpoint};
use stepwell_core::provider;
use stepwell_mock_llm::{Answer, Setting};

/// An API that threads run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    Chat,
    OpenRouter,
    Responses,
    Anthropic,
    Gemini,
    Ollama,
    Mistral,
    Agent,
}

impl Api {
    pub const ALL: [Self; 8] = [
        Self::Chat,
        Self::OpenRouter,
        Self::Responses,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::Mistral,
        Self::Agent,
    ];

    pub fn endpoint(self) -> Endpoint {
        let (name, api) = match self {
            Self::Chat => ("openai-compatible", None),
            Self::OpenRouter => ("openrouter", None),
            Self::Responses => ("openai", Some("responses")),
            Self::Anthropic => ("anthropic", None),
            Self::Gemini => ("gemini", None),
            Self::Ollama => ("ollama", None),
            Self::Mistral => ("mistral", None),
            Self::Agent => ("ag-ui", None),
        };
        provider::find(name)
            .expect("the table has it")
            .endpoint(
                api,
                "a-model",
                Some("http://localhost/v1"),
                Some("key".into()),
            )
            .expect("nothing is missing")
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }
}

/// A call of a hop as it goes over the wire. Its id may be one that was used before.
pub fn call_id(name: &str, index: usize, call: &Call) -> String {
    if call.reused {
        "call_again".to_owned()
    } else {
        format!("call_{name}_{index}")
    }
}

/// The body of a hop; `name` tells it apart from the others of the thread.
pub fn body(api: Api, name: &str, hop: &Hop) -> Vec<u8> {
    let dialect = api.endpoint().dialect;
    let mut answer = Answer::new();
    let mut calls = 0;
    for part in &hop.parts {
        answer = match part {
            Part::Text(text) => answer.text([*text]),
            Part::Cited(text) => answer.cited(*text),
            Part::Refusal(text) => answer.refusal([*text]),
            Part::Thought(text, false) => answer.reasoning([*text]),
            Part::Thought(text, true) => answer.sealed_reasoning([*text], "c2ln"),
            Part::Redacted => answer.redacted_reasoning("ZW5j"),
            Part::Calls(batch) => batch.iter().fold(answer, |answer, call| {
                calls += 1;
                answer.call(wire_call(dialect, name, calls - 1, call))
            }),
            Part::Agent(_) => answer,
        };
    }
    if hop.usage {
        answer = answer.usage(10, 5);
    }
    answer = match hop.end {
        End::Fails => answer.error("overloaded"),
        End::Cut | End::Breaks => answer.cut(),
        _ => answer,
    };
    let numbers = name.split(|letter: char| !letter.is_ascii_digit());
    let numbers = numbers.filter_map(|number| number.parse::<usize>().ok());
    let position = numbers.fold(0, |position, number| position * 100 + number);
    let dialect = stepwell_mock_llm::Dialect::from_name(dialect.name()).expect("it has them all");
    answer.body(dialect, &Setting::new().position(position))
}

/// A call in two pieces. Gemini and Ollama give calls no ids, and their arguments are always an object.
fn wire_call(dialect: Dialect, name: &str, index: usize, call: &Call) -> stepwell_mock_llm::Call {
    let (first, second) = call.arguments.split_at(call.arguments.len() / 2);
    let wired = match dialect {
        Dialect::Gemini | Dialect::Ollama => {
            let is_object = serde_json::from_str::<Value>(call.arguments).is_ok();
            let arguments = if is_object { call.arguments } else { "{}" };
            stepwell_mock_llm::Call::unnamed(call.tool, [arguments])
        }
        _ => stepwell_mock_llm::Call::new(call_id(name, index, call), call.tool, [first, second]),
    };
    if call.sealed {
        wired.sealed("Y2FsbA==")
    } else {
        wired
    }
}
