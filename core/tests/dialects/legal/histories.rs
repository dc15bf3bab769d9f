//! Histories as mad as a conversation can get, and worse.

use super::pieces;
use super::random::Random;
use super::targets::PROVIDERS;
use serde_json::json;
use stepwell_core::ToolCallId;
use stepwell_core::event::{
    ActivityMessage, AssistantMessage, Message, MessageContent, ReasoningMessage, TextualMessage,
    ToolCall, ToolMessage, UserMessage,
};

/// How many are made for each source.
pub(crate) const COUNT: u64 = 200;

/// A history that begins with `source` and may go over to others.
pub(crate) fn history(seed: u64, source: &str) -> Vec<Message> {
    let mut making = Making {
        random: Random::new(
            seed ^ source
                .bytes()
                .fold(7, |sum, byte| sum * 31 + u64::from(byte)),
        ),
        provider: source.to_owned(),
        messages: Vec::new(),
        open: Vec::new(),
        words: 0,
        hops: 0,
        hop: None,
    };
    let steps = 3 + making.random.below(6);
    for _ in 0..steps {
        if making.random.chance(12) {
            making.provider = (*making.random.pick(&PROVIDERS)).to_owned();
        }
        making.step();
    }
    making.messages
}

struct Making {
    random: Random,
    /// Whose answers come now.
    provider: String,
    messages: Vec<Message>,
    /// The calls without a result.
    open: Vec<ToolCallId>,
    words: usize,
    hops: usize,
    /// The run of the hop that answers now, where the ids of its messages are made from it.
    hop: Option<usize>,
}

impl Making {
    fn id(&self) -> String {
        format!("m{}", self.messages.len())
    }

    /// The id of what the model says, or thinks.
    fn said_id(&self, kind: &str) -> String {
        match self.hop {
            Some(hop) => format!("run.{hop}-{kind}-{}", self.messages.len()),
            None => self.id(),
        }
    }

    fn next_hop(&mut self) {
        self.hops += 1;
        self.hop = self.random.chance(60).then_some(self.hops);
    }

    /// A word that no other text has.
    fn word(&mut self) -> String {
        self.words += 1;
        format!("word{}end", self.words)
    }

    fn step(&mut self) {
        self.next_hop();
        match self.random.below(20) {
            0..=4 => self.user(),
            5..=12 => self.turn(),
            13 => self.system(),
            14 => self.reasoning(),
            15 => self.assistant(0),
            16 => self.results(),
            17 => self.stray(),
            18 => self.activity(),
            _ => {
                let calls = self.random.below(3);
                self.assistant(calls);
            }
        }
    }

    /// What a machine makes: thoughts, text, calls, results, and it goes on or is cut off somewhere.
    fn turn(&mut self) {
        if self.random.chance(60) {
            self.user();
        }
        if self.random.chance(50) {
            self.reasoning();
        }
        let calls = self.random.below(4);
        self.assistant(calls);
        if calls > 0 && self.random.chance(75) {
            self.results();
            if self.random.chance(20) {
                // What it thought behind its calls.
                self.reasoning();
            }
            if self.random.chance(20) {
                // It went on before it saw the results.
                let calls = self.random.below(2);
                self.assistant(calls);
                self.results();
            }
            if self.random.chance(70) {
                self.next_hop();
                self.assistant(0);
            }
        }
    }

    fn user(&mut self) {
        let word = self.word();
        let content = pieces::content(&mut self.random, &word, &self.provider);
        self.messages.push(Message::User(UserMessage {
            id: self.id().into(),
            content,
            ..UserMessage::default()
        }));
    }

    fn system(&mut self) {
        let word = self.word();
        let said = TextualMessage {
            id: self.id().into(),
            content: match self.random.below(5) {
                0 => String::new(),
                1 => "  ".to_owned(),
                _ => format!("Rule {word}."),
            },
            ..TextualMessage::default()
        };
        self.messages.push(if self.random.chance(50) {
            Message::System(said)
        } else {
            Message::Developer(said)
        });
    }

    fn reasoning(&mut self) {
        let content = match self.random.below(5) {
            0 => String::new(),
            1 => " ".to_owned(),
            _ => "Hmm.".to_owned(),
        };
        let encrypted_value = match self.random.below(8) {
            0 => None,
            1 => Some("junk".to_owned()),
            _ => pieces::sealed(&mut self.random, &self.provider, false),
        };
        self.messages.push(Message::Reasoning(ReasoningMessage {
            id: self.said_id("reasoning").into(),
            content,
            encrypted_value,
            ..ReasoningMessage::default()
        }));
    }

    fn assistant(&mut self, calls: usize) {
        let word = self.word();
        let mut said = AssistantMessage {
            id: self.said_id("message").into(),
            content: match self.random.below(8) {
                0 => Some(String::new()),
                1 => Some("\n".to_owned()),
                2 => None,
                _ if calls > 0 && self.random.chance(50) => None,
                _ => Some(format!("Answer {word}.")),
            },
            ..AssistantMessage::default()
        };
        if self.random.chance(4) {
            said.content = None;
            let refusal = json!(format!("I will not {word}."));
            said.metadata = Some([("refusal".to_owned(), refusal)].into_iter().collect());
        }
        if self.random.chance(15) {
            said.encrypted_value = pieces::sealed(&mut self.random, &self.provider, true);
        }
        for count in 0..calls {
            let id = pieces::call_id(&mut self.random, &self.provider, count);
            let name = pieces::tool(&mut self.random);
            let arguments = pieces::arguments(&mut self.random);
            let mut call = ToolCall::new(id, name, arguments);
            if self.random.chance(40) {
                call.encrypted_value = pieces::sealed(&mut self.random, &self.provider, true);
            }
            self.open.push(call.id.clone());
            said.tool_calls.push(call);
        }
        self.messages.push(Message::Assistant(said));
    }

    /// Results of some calls that are open, in some order, some late, some twice.
    fn results(&mut self) {
        while !self.open.is_empty() && !self.random.chance(12) {
            let at = match self.random.chance(70) {
                true => 0,
                false => self.random.below(self.open.len()),
            };
            let id = self.open.remove(at);
            if self.random.chance(8) {
                self.user();
            }
            self.result(id.clone());
            if self.random.chance(6) {
                self.result(id);
            }
        }
    }

    fn result(&mut self, id: ToolCallId) {
        let word = self.word();
        let content = pieces::content(&mut self.random, &word, &self.provider);
        let error = match self.random.below(6) {
            0 => Some("it failed".to_owned()),
            1 => Some(String::new()),
            _ => None,
        };
        self.messages.push(Message::Tool(ToolMessage {
            id: self.id().into(),
            tool_call_id: id,
            content,
            error,
            ..ToolMessage::default()
        }));
    }

    /// A result of no call.
    fn stray(&mut self) {
        let id = pieces::call_id(&mut self.random, &self.provider, 0);
        self.result(id.into());
    }

    fn activity(&mut self) {
        self.messages.push(Message::Activity(ActivityMessage {
            id: self.id().into(),
            activity_type: "search".to_owned(),
            content: serde_json::Map::new(),
            ..ActivityMessage::default()
        }));
    }
}

/// What a cancel in the middle of the message leaves of it, if it can be cut.
pub(crate) fn cut(message: &Message) -> Option<Message> {
    match message {
        Message::Assistant(said) => {
            let mut said = said.clone();
            match said.tool_calls.pop() {
                Some(mut call) => {
                    call.function.arguments = half(&call.function.arguments);
                    said.tool_calls.push(call);
                }
                None => {
                    let text = said.content.as_mut()?;
                    *text = half(text);
                }
            }
            Some(Message::Assistant(said))
        }
        Message::Reasoning(said) => {
            let mut said = said.clone();
            said.encrypted_value = None;
            said.content = half(&said.content);
            Some(Message::Reasoning(said))
        }
        _ => None,
    }
}

fn half(text: &str) -> String {
    text.chars().take(text.chars().count() / 2).collect()
}

/// What the machine adds at a cancel: a result for every call of the last answer that has none.
pub(crate) fn cancelled(messages: &mut Vec<Message>) {
    let open: Vec<_> = match messages.last() {
        Some(Message::Assistant(said)) => {
            said.tool_calls.iter().map(|call| call.id.clone()).collect()
        }
        _ => return,
    };
    for id in open {
        messages.push(Message::Tool(ToolMessage {
            id: format!("r{}", messages.len()).into(),
            tool_call_id: id,
            content: MessageContent::Text("the call was cancelled".to_owned()),
            error: Some("the call was cancelled".to_owned()),
            ..ToolMessage::default()
        }));
    }
}
