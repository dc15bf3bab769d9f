//! What the scripted model reads and writes: the formats of two providers. `tests/kills` has the same.

use serde_json::Value;
use stepwell_mock_llm::{Block, Dialect, Setting, Usage, Writer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provider {
    /// OpenAI's Chat Completions.
    Chat,
    /// Anthropic's Messages.
    Messages,
}

/// A part of the conversation, for any provider.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    User(String),
    Model(String),
    Call(String),
    Result(String),
}

/// A part of an answer.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Text(String),
    Call {
        index: usize,
        id: String,
        name: String,
    },
    Arguments {
        index: usize,
        text: String,
    },
}

impl Provider {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Chat => Self::Messages,
            Self::Messages => Self::Chat,
        }
    }

    pub(super) fn of_path(path: &str) -> Self {
        match path.ends_with("/messages") {
            true => Self::Messages,
            false => Self::Chat,
        }
    }

    /// The conversation of a request.
    pub(super) fn transcript(self, request: &Value) -> Vec<Said> {
        let messages = request["messages"].as_array().into_iter().flatten();
        let mut said = Vec::new();
        for message in messages {
            match self {
                Self::Chat => chat_message(message, &mut said),
                Self::Messages => blocks(message, &mut said),
            }
        }
        said
    }

    /// The tools that a request offers.
    pub(super) fn tools(self, request: &Value) -> Vec<String> {
        let tools = request["tools"].as_array().into_iter().flatten();
        let name = |tool: &Value| match self {
            Self::Chat => tool["function"]["name"].as_str().map(str::to_owned),
            Self::Messages => tool["name"].as_str().map(str::to_owned),
        };
        tools.filter_map(name).collect()
    }

    /// The frames of an answer, one for each part and some around them.
    pub(super) fn frames(self, parts: &[Part]) -> Vec<String> {
        let (dialect, usage) = match self {
            Self::Chat => (Dialect::OpenAiChat, None),
            Self::Messages => (
                Dialect::Anthropic,
                Some(Usage {
                    input: 1,
                    output: 1,
                }),
            ),
        };
        let mut writer = Writer::new(dialect, &Setting::new());
        let mut frames = Vec::new();
        // Parts that are written together are one frame, since each takes its time and may be the last.
        let mut take = |writer: &mut Writer| {
            let bytes = writer.take().concat();
            if !bytes.is_empty() {
                frames.push(String::from_utf8(bytes).unwrap_or_default());
            }
        };
        let mut open: Option<&str> = None;
        writer.start();
        take(&mut writer);
        for part in parts {
            match part {
                Part::Text(text) => writer.piece(Block::Text, text),
                Part::Call { index, id, name } => {
                    if let Some(before) = open.replace(id) {
                        writer.call_end(before);
                    }
                    writer.call_start(*index, id, name);
                }
                Part::Arguments { index, text } => {
                    writer.call_arguments(*index, open.unwrap_or_default(), text);
                }
            }
            take(&mut writer);
        }
        if let Some(last) = open {
            writer.call_end(last);
        }
        writer.close();
        take(&mut writer);
        writer.finish(None, usage);
        let end = writer.take().into_iter();
        frames.extend(end.map(|frame| String::from_utf8(frame).unwrap_or_default()));
        frames
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

fn chat_message(message: &Value, said: &mut Vec<Said>) {
    let text = text_of(&message["content"]);
    match message["role"].as_str() {
        Some("user") => said.push(Said::User(text)),
        Some("assistant") => {
            if !text.is_empty() {
                said.push(Said::Model(text));
            }
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            let ids = calls.filter_map(|call| call["id"].as_str());
            said.extend(ids.map(|id| Said::Call(id.to_owned())));
        }
        Some("tool") => {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            said.push(Said::Result(id.to_owned()));
        }
        _ => {}
    }
}

fn blocks(message: &Value, said: &mut Vec<Said>) {
    let is_user = message["role"] == "user";
    let speak = |text: &str| match is_user {
        true => Said::User(text.to_owned()),
        false => Said::Model(text.to_owned()),
    };
    if let Some(text) = message["content"].as_str() {
        said.push(speak(text));
    }
    for block in message["content"].as_array().into_iter().flatten() {
        let word = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str() {
            Some("text") => said.push(speak(&word("text"))),
            Some("tool_use") => said.push(Said::Call(word("id"))),
            Some("tool_result") => said.push(Said::Result(word("tool_use_id"))),
            _ => {}
        }
    }
}

/// Returns the number of tool rounds in the conversation: calls with results.
pub(super) fn rounds(transcript: &[Said]) -> usize {
    let is_call = |said: &Said| matches!(said, Said::Call(_));
    let mut rounds = 0;
    let mut was_result = true;
    for said in transcript {
        if is_call(said) && was_result {
            rounds += 1;
            was_result = false;
        }
        was_result |= matches!(said, Said::Result(_));
    }
    rounds
}

/// Checks a provider's rule: each call is answered once, before the next message.
pub(super) fn each_call_has_its_result(transcript: &[Said]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for said in transcript {
        match said {
            Said::Call(id) => open.push(id),
            Said::Result(id) => match open.iter().position(|call| call == id) {
                Some(at) => drop(open.remove(at)),
                None => return Err(format!("`{id}` has a result and no call, or two")),
            },
            Said::User(_) | Said::Model(_) => {
                if let Some(call) = open.first() {
                    return Err(format!("`{call}` has no result"));
                }
            }
        }
    }
    match open.first() {
        Some(call) => Err(format!("`{call}` has no result")),
        None => Ok(()),
    }
}
