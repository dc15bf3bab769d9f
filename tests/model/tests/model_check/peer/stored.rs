//! OpenAI Responses in the background: one event of a token, numbered from 0, and the answer as a whole.

use super::{Kind, Said, Token};
use crate::bounds::Bounds;

/// The pieces of each answer's text.
pub const PIECES: [&str; 2] = ["a", "b"];

/// What a body has of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Body {
    /// Its events.
    #[default]
    Events,
    /// The answer as a whole, which has not come yet.
    Empty,
    /// The answer as a whole, as this says.
    Whole(Token),
}

/// An answer at the provider.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Made {
    /// The hop and the attempt of the request that began it.
    pub hop: u32,
    pub attempt: u32,
    /// Its events so far: what was streamed once is streamed again.
    pub events: Vec<Token>,
    pub is_cancelled: bool,
}

impl Made {
    pub fn id(&self) -> String {
        format!("r{}-{}", self.hop, self.attempt)
    }

    /// Finishes it while nobody reads its events: with the rest of its text, and with this call.
    pub fn finish(&mut self, call: Option<Kind>) {
        if self.events.last() == Some(&Token::Done) {
            return;
        }
        let said = Said::after(&self.events);
        if said.calls == 0 {
            let rest = PIECES.len() - said.pieces();
            self.events.extend([Token::Text].repeat(rest));
        }
        self.events.extend(call.map(Token::Call));
        self.events.push(Token::Done);
    }
}

impl Said {
    /// The stream of an answer after its first events.
    pub fn after(events: &[Token]) -> Self {
        let mut said = Self::default();
        for token in events {
            said.note(*token);
        }
        said
    }

    /// The body for the answer as a whole.
    pub fn whole() -> Self {
        Self {
            body: Body::Empty,
            ..Self::default()
        }
    }

    pub fn body(self) -> Body {
        self.body
    }

    /// Returns the number of complete events.
    pub fn events(self) -> usize {
        usize::from(self.events)
    }

    /// Returns the number of pieces of text that have come.
    pub fn pieces(self) -> usize {
        usize::from(self.text.saturating_sub(1))
    }

    /// Returns the tokens that may come next of this answer. A body that has none of them left only ends.
    pub fn next_stored(self, bounds: &Bounds, made: &Made, unfinished: u8) -> Vec<Token> {
        let mut tokens = Vec::new();
        if self.end > 0 {
            return tokens;
        }
        match (self.body, made.events.last()) {
            (Body::Events, _) => {}
            (Body::Whole(_), _) => return tokens,
            (Body::Empty, Some(Token::Done)) => return vec![Token::Whole(None)],
            (Body::Empty, Some(Token::Error)) => return vec![Token::Failed],
            (Body::Empty, _) if made.is_cancelled => return vec![Token::Cancelled],
            (Body::Empty, _) => {
                tokens.push(Token::Whole(None));
                if Self::after(&made.events).calls < bounds.calls {
                    let kinds = bounds.kinds.iter().copied();
                    tokens.extend(kinds.map(|kind| Token::Whole(Some(kind))));
                }
                if unfinished > 0 {
                    tokens.push(Token::Unfinished);
                }
                return tokens;
            }
        }
        if let Some(next) = made.events.get(self.events()) {
            return vec![*next];
        }
        if made.is_cancelled {
            return tokens;
        }
        if !self.begun {
            return vec![Token::Created];
        }
        if self.text == 1 {
            return vec![Token::Text];
        }
        if bounds.texts && self.calls == 0 && self.pieces() < PIECES.len() {
            tokens.push(Token::Text);
            if self.text == 0 {
                tokens.push(Token::HalfText);
            }
        }
        if self.calls < bounds.calls {
            tokens.extend(bounds.kinds.iter().copied().map(Token::Call));
        }
        tokens.push(Token::Done);
        if bounds.failures {
            tokens.extend([Token::Error, Token::Rubbish]);
        }
        tokens
    }

    /// The bytes of what is said next of this answer.
    pub(super) fn stored(self, token: Token, made: &Made) -> String {
        let (id, number) = (made.id(), self.events);
        let event = |kind: &str, rest: &str| {
            format!(
                "data: {{\"type\":\"response.{kind}\",\"sequence_number\":{number},{rest}}}\n\n"
            )
        };
        let answer = |status: &str, output: &str, rest: &str| {
            format!(r#"{{"id":"{id}","status":"{status}","output":[{output}]{rest}}}"#)
        };
        const USAGE: &str = r#","usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}"#;
        const ERROR: &str = r#","error":{"code":"server_error","message":"e"}"#;
        match token {
            Token::Created => {
                let answer = answer("in_progress", "", "");
                event("created", &format!(r#""response":{answer}"#))
            }
            Token::HalfText | Token::Text => {
                let piece = PIECES[self.pieces()];
                let place = r#""item_id":"m","output_index":0,"content_index":0"#;
                let frame = event(
                    "output_text.delta",
                    &format!(r#"{place},"delta":"{piece}""#),
                );
                self.halves(token, &frame)
            }
            Token::Call(kind) => {
                let (index, item) = (self.output_index(), self.item(made, self.calls, kind));
                let rest = format!(r#""output_index":{index},"item":{item}"#);
                event("output_item.done", &rest)
            }
            Token::Done => {
                let answer = answer("completed", &self.output(made), USAGE);
                event("completed", &format!(r#""response":{answer}"#))
            }
            Token::Error => {
                let answer = answer("failed", "", ERROR);
                event("failed", &format!(r#""response":{answer}"#))
            }
            Token::Unfinished => answer("in_progress", "", ""),
            Token::Whole(_) => {
                let whole = Self::after(&made.events);
                answer("completed", &whole.output(made), USAGE)
            }
            Token::Failed => answer("failed", "", ERROR),
            Token::Cancelled => answer("cancelled", "", ""),
            Token::Rubbish => "data: {]\n\n".to_owned(),
            other => unreachable!("no such event: {other:?}"),
        }
    }

    fn output_index(self) -> usize {
        usize::from(self.pieces() > 0) + usize::from(self.calls)
    }

    fn output(self, made: &Made) -> String {
        let mut items = Vec::new();
        if self.pieces() > 0 {
            let text = PIECES[..self.pieces()].concat();
            items.push(format!(
                r#"{{"type":"message","id":"m","role":"assistant","status":"completed","content":[{{"type":"output_text","text":"{text}","annotations":[]}}]}}"#
            ));
        }
        let calls = made.events.iter().filter_map(|token| match token {
            Token::Call(kind) => Some(*kind),
            _ => None,
        });
        let calls = (0..self.calls).zip(calls);
        items.extend(calls.map(|(index, kind)| self.item(made, index, kind)));
        items.join(",")
    }

    fn item(self, made: &Made, index: u8, kind: Kind) -> String {
        let (hop, name) = (made.hop, kind.tool());
        format!(
            r#"{{"type":"function_call","id":"f{index}","call_id":"c{hop}{index}","name":"{name}","status":"completed","arguments":"{{}}"}}"#
        )
    }
}
