//! Google's Gemini: `streamGenerateContent` with `alt=sse`.
//!
//! Source: <https://ai.google.dev/api/generate-content>. The wording of the refusals is that of the service. As the older
//! models do, it gives calls no ids; a call whose id the script chose comes as the newer ones send it, with its id, the
//! first of an answer with a thought signature, which must come back.

mod check;

use serde_json::{Map, Value, json};

use super::{Answer, Answers, Asked, Encoder, Part, Refusal, Speaker, Wire, count};
use crate::hop::Usage;

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

    fn read(&self, body: &Value, lenient: bool) -> Result<Asked, Refusal> {
        if !body.is_object() {
            let text = "Invalid JSON payload received. Unexpected end of string. Expected a value.";
            return Err(Refusal::new(400, text));
        }
        if !lenient {
            check::request(body)?;
        }
        Ok(Asked {
            stream: true,
            answers: answers(body),
        })
    }

    fn error(&self, refusal: &Refusal) -> Value {
        error(refusal.status, &refusal.message, None)
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream"
    }

    fn encoder(&self, _body: &Value, position: usize) -> Box<dyn Encoder> {
        Box::new(Chunks {
            position,
            open: Vec::new(),
            signed: false,
            malformed: false,
        })
    }

    /// The method always streams: [`read`](Self::read) says so, and nothing asks for this.
    fn whole(&self, _body: &Value, _position: usize, _answer: &Answer) -> Value {
        Value::Null
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

fn contents(body: &Value) -> &[Value] {
    body["contents"].as_array().map_or(&[][..], Vec::as_slice)
}

fn parts(content: &Value) -> &[Value] {
    content["parts"].as_array().map_or(&[][..], Vec::as_slice)
}

fn has(content: &Value, field: &str) -> bool {
    parts(content).iter().any(|part| part.get(field).is_some())
}

fn answers(body: &Value) -> Answers {
    count(
        contents(body)
            .iter()
            .map(|content| match content["role"].as_str() {
                Some("model") => Speaker::Model,
                _ if has(content, "functionResponse") => Speaker::Tool,
                _ => Speaker::User,
            }),
    )
}

struct Chunks {
    position: usize,
    /// The calls whose arguments still come: place, id, name, arguments.
    open: Vec<(usize, String, String, String)>,
    /// Whether the answer has its thought signature.
    signed: bool,
    malformed: bool,
}

impl Chunks {
    fn part(&self, part: &Value, out: &mut Vec<u8>) {
        let content = json!({"parts": [part], "role": "model"});
        let candidate = json!({"content": content, "index": 0});
        self.chunk(&json!([candidate]), None, out);
    }

    fn chunk(&self, candidates: &Value, usage: Option<Usage>, out: &mut Vec<u8>) {
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
        self.frame(&chunk.to_string(), out);
    }

    /// A call is whole. What is no JSON object the service drops, and says that the call is malformed.
    fn call(&mut self, call: &(usize, String, String, String), out: &mut Vec<u8>) {
        let (index, id, name, arguments) = call;
        let mut function = Map::new();
        function.insert("name".to_owned(), name.as_str().into());
        match serde_json::from_str::<Value>(arguments) {
            Ok(Value::Object(fields)) => {
                function.insert("args".to_owned(), fields.into());
            }
            _ if arguments.is_empty() || arguments == "null" => {}
            _ => {
                self.malformed = true;
                return;
            }
        }
        let mut part = Map::new();
        let scripted = *id != format!("call_{}_{index}", self.position);
        if scripted {
            function.insert("id".to_owned(), id.as_str().into());
        }
        part.insert("functionCall".to_owned(), function.into());
        if scripted && !std::mem::replace(&mut self.signed, true) {
            part.insert(
                "thoughtSignature".to_owned(),
                format!("signature-{id}").into(),
            );
        }
        self.part(&part.into(), out);
    }
}

impl Encoder for Chunks {
    fn encode(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        match part {
            Part::Start
            | Part::TextStart
            | Part::TextEnd
            | Part::ReasoningStart
            | Part::ReasoningEnd => {}
            Part::Text(piece) => self.part(&json!({"text": piece}), out),
            Part::Reasoning(piece) => self.part(&json!({"text": piece, "thought": true}), out),
            Part::CallStart { index, id, name } => {
                let call = (index, id.to_owned(), name.to_owned(), String::new());
                self.open.push(call);
            }
            Part::CallArguments { index, piece, .. } => {
                let call = self.open.iter_mut().find(|call| call.0 == index);
                if let Some((.., arguments)) = call {
                    arguments.push_str(piece);
                }
            }
            Part::CallEnd { id } => {
                if let Some(place) = self.open.iter().position(|call| call.1 == id) {
                    let call = self.open.remove(place);
                    self.call(&call, out);
                }
            }
            Part::Error { message, code } => {
                self.frame(&error(500, message, code).to_string(), out);
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
                self.chunk(&json!([candidate]), Some(usage), out);
            }
        }
    }

    /// The service ends its lines with CR and LF.
    fn frame(&self, data: &str, out: &mut Vec<u8>) {
        for line in data.split('\n') {
            out.extend_from_slice(b"data: ");
            out.extend_from_slice(line.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }
}
