//! Google's Gemini: `streamGenerateContent` with `alt=sse`.
//!
//! Source: <https://ai.google.dev/api/generate-content>. As the older models do, it gives calls no ids; a call whose id
//! the script chose comes as the newer ones send it, with its id, the first of an answer with a thought signature,
//! which the client must return.

use serde_json::{Map, Value, json};

use super::{
    Answers, Encoder, Frames, OpenCall, OpenCalls, Part, Refusal, Setting, Speaker, Wire, count,
    object,
};
use crate::answer::made_id;
use crate::writer::{Block, Usage};

const MODEL: &str = "mock";

pub(crate) struct Gemini;

impl Wire for Gemini {
    fn serves(&self, path: &str) -> bool {
        let name = path.strip_prefix("/v1beta/models/");
        name.and_then(|name| name.strip_suffix(":streamGenerateContent"))
            .is_some_and(|name| !name.is_empty() && !name.contains('/'))
    }

    fn check_query(&self, query: &str) -> Result<(), Refusal> {
        if query.split('&').any(|pair| pair == "alt=sse") {
            return Ok(());
        }
        let text =
            "Without alt=sse the answer is one JSON array, which the mock provider does not send.";
        Err(Refusal::new(400, text))
    }

    fn streams(&self, _body: &Value) -> bool {
        true
    }

    fn answers(&self, body: &Value) -> Answers {
        let contents = body["contents"].as_array().map_or(&[][..], Vec::as_slice);
        count(contents.iter().map(|content| {
            let mut parts = content["parts"].as_array().into_iter().flatten();
            match content["role"].as_str() {
                Some("model") => Speaker::Model,
                _ if parts.any(|part| part.get("functionResponse").is_some()) => Speaker::Tool,
                _ => Speaker::User,
            }
        }))
    }

    fn error(&self, refusal: &Refusal) -> Value {
        error(refusal.status, &refusal.message, None)
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream"
    }

    fn encoder(&self, setting: &Setting) -> Box<dyn Encoder> {
        Box::new(Chunks {
            position: setting.position,
            open: OpenCalls::default(),
            signed: false,
            malformed: false,
        })
    }
}

fn error(status: u16, message: &str, word: Option<&str>) -> Value {
    let word = word.unwrap_or(match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "UNKNOWN",
    });
    json!({"error": {"code": status, "message": message, "status": word}})
}

struct Chunks {
    position: usize,
    open: OpenCalls,
    /// Whether the answer has its thought signature.
    signed: bool,
    malformed: bool,
}

impl Chunks {
    fn part(&self, part: &Value, out: &mut Frames) {
        let content = json!({"parts": [part], "role": "model"});
        let candidate = json!({"content": content, "index": 0});
        self.chunk(&json!([candidate]), None, out);
    }

    fn chunk(&self, candidates: &Value, usage: Option<Usage>, out: &mut Frames) {
        let mut chunk = json!({"candidates": candidates});
        if let Some(usage) = usage {
            chunk["usageMetadata"] = json!({
                "promptTokenCount": usage.input,
                "candidatesTokenCount": usage.output,
                "totalTokenCount": usage.input.saturating_add(usage.output),
            });
        }
        chunk["modelVersion"] = MODEL.into();
        chunk["responseId"] = format!("response-{}", self.position).into();
        out.push(self.frame(&chunk.to_string()));
    }

    /// Writes a complete call. Arguments that are no JSON object are dropped by the service, which reports the call as
    /// malformed.
    fn call(&mut self, call: OpenCall, out: &mut Frames) {
        let Some(fields) = object(&call.arguments) else {
            self.malformed = true;
            return;
        };
        let mut function = Map::new();
        function.insert("name".to_owned(), call.name.into());
        if !matches!(call.arguments.as_str(), "" | "null") {
            function.insert("args".to_owned(), fields.into());
        }
        let mut seal = call.seal;
        if call.id != made_id(self.position, call.index) {
            if !std::mem::replace(&mut self.signed, true) {
                seal.get_or_insert_with(|| format!("signature-{}", call.id));
            }
            function.insert("id".to_owned(), call.id.into());
        }
        let mut part = json!({"functionCall": function});
        if let Some(seal) = seal {
            part["thoughtSignature"] = seal.into();
        }
        self.part(&part, out);
    }
}

impl Encoder for Chunks {
    fn encode(&mut self, part: Part<'_>, out: &mut Frames) {
        match part {
            Part::Start | Part::Begin(_) | Part::End(_) => {}
            Part::Piece(Block::Reasoning, piece) => {
                self.part(&json!({"text": piece, "thought": true}), out);
            }
            Part::Piece(_, piece) | Part::Cited(piece) => self.part(&json!({"text": piece}), out),
            Part::Sealed(piece, seal) => {
                let part = json!({"text": piece, "thought": true, "thoughtSignature": seal});
                self.part(&part, out);
            }
            Part::Redacted(data) => {
                self.part(&json!({"text": "", "thoughtSignature": data}), out);
            }
            Part::CallStart {
                index,
                id,
                name,
                seal,
            } => self.open.begin(index, id, name, seal),
            Part::CallArguments { index, piece, .. } => self.open.add(index, piece),
            Part::CallEnd { id } => {
                if let Some(call) = self.open.end(id) {
                    self.call(call, out);
                }
            }
            Part::Error { message, code } => {
                out.push(self.frame(&error(500, message, code).to_string()));
            }
            Part::Finish { stop_reason, usage } => {
                let usual = if self.malformed {
                    "MALFORMED_FUNCTION_CALL"
                } else {
                    "STOP"
                };
                let candidate = json!({
                    "content": {"parts": [{"text": ""}], "role": "model"},
                    "finishReason": stop_reason.unwrap_or(usual),
                    "index": 0,
                });
                self.chunk(&json!([candidate]), usage, out);
            }
        }
    }

    /// The service ends its lines with CR and LF.
    fn frame(&self, data: &str) -> Vec<u8> {
        let lines = data.split('\n').map(|line| format!("data: {line}\r\n"));
        (lines.collect::<String>() + "\r\n").into_bytes()
    }
}
