//! The possible output of the model, or the agent: a small grammar, and its bytes on the wire.

mod stored;

pub use stored::{Body, Made, PIECES};

use crate::bounds::Bounds;
use stepwell_core::CallKey;
use stepwell_core::dialect::Dialect;

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A tool that must not run twice.
    Plain,
    /// A tool that may.
    Idempotent,
    /// A tool that the user must allow.
    Approval,
    /// A tool that does not exist.
    Unknown,
    /// Arguments that are not JSON.
    Malformed,
    /// Agents only: the backend answers the call itself.
    Answered,
    /// Agents only: the arguments never come to their end.
    Unended,
    /// The final tool, with the typed answer that was asked for.
    Final,
    /// The final tool, with another.
    Misfit,
}

impl Kind {
    pub fn tool(self) -> &'static str {
        match self {
            Self::Plain | Self::Malformed | Self::Answered | Self::Unended => "work",
            Self::Idempotent => "look",
            Self::Approval => "ask",
            Self::Unknown => "nobody",
            Self::Final | Self::Misfit => "final_result",
        }
    }

    /// Returns whether such a call is run at all.
    pub fn runs(self) -> bool {
        matches!(self, Self::Plain | Self::Idempotent | Self::Approval)
    }
}

/// One token of the peer's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Token {
    Heartbeat,
    /// The first half of the frame with the text.
    HalfText,
    /// The frame with the text, or what is left of it.
    Text,
    /// The frame with a text that is the typed answer.
    Fits,
    Call(Kind),
    /// Chat Completions: the chunk with the reason why the answer ends.
    Reason,
    /// Chat Completions: the same, where the provider's filter stopped the answer.
    Filtered,
    /// The end of the stream: `[DONE]`, `RUN_FINISHED`.
    Done,
    /// The stream reports that it failed.
    Error,
    /// A frame that cannot be read.
    Rubbish,
    /// Agents only: the run ends with a question to the user.
    Question,
    /// In the background: the first event, which has the answer's id.
    Created,
    /// The answer as a whole, which is not finished.
    Unfinished,
    /// The answer as a whole, which is finished; with another call than the stream had.
    Whole(Option<Kind>),
    /// The answer as a whole, which failed.
    Failed,
    /// The answer as a whole, which was cancelled.
    Cancelled,
}

impl Token {
    /// Returns whether it is a whole event of an answer that is made in the background.
    pub fn is_event(self) -> bool {
        matches!(
            self,
            Self::Created | Self::Text | Self::Call(_) | Self::Done | Self::Error
        )
    }
}

/// The output so far in one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Said {
    begun: bool,
    heartbeat: bool,
    /// 0: none, 1: half of it, 2: all. In the background: two pieces, of which 3 is both.
    text: u8,
    pub calls: u8,
    /// 0: more may come, 1: the reason was sent, 2: nothing more may come.
    end: u8,
    /// In the background: the number of the events that are complete.
    events: u8,
    body: Body,
}

impl Said {
    /// Returns whether the answer is over, though its stream may still be open.
    pub fn is_over(self) -> bool {
        self.end > 0
    }

    /// Returns the tokens that may come next.
    pub fn next(self, bounds: &Bounds, questions: u8) -> Vec<Token> {
        let mut tokens = Vec::new();
        let is_chat = bounds.config.endpoint.dialect == Dialect::OpenAiChat;
        if self.end > 0 {
            if self.end == 1 {
                tokens.push(Token::Done);
            }
            return tokens;
        }
        if bounds.texts && self.text == 1 {
            return vec![Token::Text];
        }
        if bounds.texts && self.calls == 0 && self.text == 0 {
            tokens.extend([Token::HalfText, Token::Text]);
            if bounds.config.output.is_some() {
                tokens.push(Token::Fits);
            }
            if !self.begun && !self.heartbeat {
                tokens.push(Token::Heartbeat);
            }
        }
        if self.calls < bounds.calls {
            tokens.extend(bounds.kinds.iter().copied().map(Token::Call));
        }
        tokens.push(if is_chat { Token::Reason } else { Token::Done });
        if bounds.filters {
            tokens.push(Token::Filtered);
        }
        if bounds.failures {
            tokens.extend([Token::Error, Token::Rubbish]);
        }
        if questions > 0 {
            tokens.push(Token::Question);
        }
        tokens
    }

    /// Says it: the bytes.
    pub fn say(&mut self, token: Token, dialect: Dialect, hop: u32) -> Vec<u8> {
        let mut out = String::new();
        match dialect {
            Dialect::AgUi => self.agent(token, hop, &mut out),
            _ => self.chat(token, hop, &mut out),
        }
        self.note(token);
        out.into_bytes()
    }

    /// Says it of an answer that is made in the background: the bytes.
    pub fn say_stored(&mut self, token: Token, made: &Made) -> Vec<u8> {
        let out = self.stored(token, made);
        self.note(token);
        out.into_bytes()
    }

    pub fn note(&mut self, token: Token) {
        self.begun |= token != Token::Heartbeat;
        match token {
            Token::Heartbeat => self.heartbeat = true,
            Token::HalfText => self.text = 1,
            Token::Text | Token::Fits => self.text = self.text.max(1) + 1,
            Token::Call(_) => self.calls += 1,
            Token::Reason | Token::Filtered => self.end = 1,
            Token::Done | Token::Error | Token::Rubbish | Token::Question => self.end = 2,
            Token::Created
            | Token::Unfinished
            | Token::Whole(_)
            | Token::Failed
            | Token::Cancelled => {}
        }
        if self.body == Body::Empty {
            self.body = Body::Whole(token);
        }
        self.events += u8::from(token.is_event());
    }

    fn halves(self, token: Token, frame: &str) -> String {
        let middle = frame.len() / 2;
        match (token, self.text) {
            (Token::HalfText, _) => frame[..middle].to_owned(),
            (_, 1) => frame[middle..].to_owned(),
            _ => frame.to_owned(),
        }
    }

    fn chat(self, token: Token, hop: u32, out: &mut String) {
        let chunk = |delta: &str, reason: &str| {
            format!(
                "data: {{\"id\":\"x\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n"
            )
        };
        *out = match token {
            Token::Heartbeat => ": still here\n\n".to_owned(),
            Token::HalfText | Token::Text => {
                self.halves(token, &chunk(r#"{"content":"t"}"#, "null"))
            }
            Token::Call(kind) => {
                let (index, name) = (self.calls, kind.tool());
                let arguments = match kind {
                    Kind::Malformed | Kind::Misfit => "[",
                    Kind::Final => r#"{\"n\":1}"#,
                    _ => "",
                };
                chunk(
                    &format!(
                        r#"{{"tool_calls":[{{"index":{index},"id":"c{hop}{index}","type":"function","function":{{"name":"{name}","arguments":"{arguments}"}}}}]}}"#
                    ),
                    "null",
                )
            }
            Token::Fits => chunk(r#"{"content":"{\"n\":1}"}"#, "null"),
            Token::Reason => chunk("{}", r#""stop""#),
            Token::Filtered => chunk("{}", r#""content_filter""#),
            Token::Done => "data: [DONE]\n\n".to_owned(),
            Token::Error => "data: {\"error\":{\"message\":\"e\",\"code\":500}}\n\n".to_owned(),
            Token::Rubbish => "data: {]\n\n".to_owned(),
            other => unreachable!("a model that is streamed says no {other:?}"),
        };
    }

    fn agent(self, token: Token, hop: u32, out: &mut String) {
        if !self.begun && token != Token::Heartbeat {
            *out = format!(
                "data: {{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"a{hop}\"}}\n\n"
            );
        }
        let finished = |outcome: &str| {
            format!(
                "data: {{\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"a{hop}\"{outcome}}}\n\n"
            )
        };
        let said = match token {
            Token::Heartbeat => ": still here\n\n".to_owned(),
            Token::HalfText | Token::Text => {
                let id = format!("m{hop}");
                let whole = format!(
                    "data: {{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"{id}\",\"role\":\"assistant\"}}\n\n\
                     data: {{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"{id}\",\"delta\":\"t\"}}\n\n\
                     data: {{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"{id}\"}}\n\n"
                );
                self.halves(token, &whole)
            }
            Token::Call(kind) => {
                let (id, name) = (format!("c{hop}{}", self.calls), kind.tool());
                let mut call = format!(
                    "data: {{\"type\":\"TOOL_CALL_START\",\"toolCallId\":\"{id}\",\"toolCallName\":\"{name}\",\"parentMessageId\":\"p{hop}\"}}\n\n"
                );
                if kind != Kind::Unended {
                    call += &format!(
                        "data: {{\"type\":\"TOOL_CALL_END\",\"toolCallId\":\"{id}\"}}\n\n"
                    );
                }
                if kind == Kind::Answered {
                    call += &format!(
                        "data: {{\"type\":\"TOOL_CALL_RESULT\",\"messageId\":\"r{id}\",\"toolCallId\":\"{id}\",\"content\":\"done\"}}\n\n"
                    );
                }
                call
            }
            Token::Done => finished(""),
            Token::Error => "data: {\"type\":\"RUN_ERROR\",\"message\":\"e\"}\n\n".to_owned(),
            Token::Rubbish => "data: {]\n\n".to_owned(),
            Token::Question => finished(
                r#","outcome":{"type":"interrupt","interrupts":[{"id":"q","reason":"question"}]}"#,
            ),
            other => unreachable!("an agent says no {other:?}"),
        };
        out.push_str(&said);
    }
}

/// The provider's id for a call.
pub fn provider_id(call: CallKey) -> String {
    format!("c{}{}", call.hop, call.index)
}
