//! Scripts as JSON, for tests that are not written in Rust.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::server::access::Access;
use crate::server::background::Readability;
use crate::server::hop::{Content, Step, ToolCall};
use crate::writer::Usage;
use crate::{Hop, Script, ScriptError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a script, an object with `hops`")]
pub(crate) struct ScriptJson {
    hops: Vec<HopJson>,
    #[serde(default)]
    scenes: Vec<SceneJson>,
    #[serde(default)]
    repeat: bool,
    #[serde(default)]
    lenient: bool,
    #[serde(default)]
    piece_delay_ms: u64,
    bearer: Option<String>,
    aws_credentials: Option<AwsCredentialsJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AwsCredentialsJson {
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneJson {
    keyword: String,
    hops: Vec<HopJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HopJson {
    steps: Option<Vec<StepJson>>,
    #[serde(default, deserialize_with = "present")]
    body: Option<Value>,
    error: Option<String>,
    #[serde(default)]
    html: bool,
    #[serde(default)]
    silent: bool,
    #[serde(default)]
    hang_up: bool,
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    pieces: Option<usize>,
    piece_delay_ms: Option<u64>,
    #[serde(default)]
    interleave: bool,
    #[serde(default)]
    bare: bool,
    usage: Option<UsageJson>,
    stop_reason: Option<String>,
    cut_at: Option<usize>,
    chunks_of: Option<usize>,
    drop_every: Option<usize>,
    streams: Option<usize>,
    #[serde(default)]
    reads: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageJson {
    input: u64,
    output: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum StepJson {
    Text(String),
    Reasoning(String),
    ToolCall(ToolCallJson),
    PauseMs(u64),
    Stall,
    Cut,
    EndEarly,
    RawFrame(Value),
    RawBytes(RawBytesJson),
    ErrorEvent(ErrorEventJson),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolCallJson {
    name: String,
    id: Option<String>,
    #[serde(default, deserialize_with = "present")]
    arguments: Option<Value>,
    raw_arguments: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawBytesJson {
    Text(String),
    Bytes(Vec<u8>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ErrorEventJson {
    Message(String),
    #[serde(rename_all = "snake_case")]
    Full {
        message: String,
        code: Option<String>,
    },
}

/// A field that is there, `null` included.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl TryFrom<ScriptJson> for Script {
    type Error = ScriptError;

    fn try_from(json: ScriptJson) -> Result<Self, ScriptError> {
        let mut script = Self {
            hops: hops(json.hops)?,
            repeat: json.repeat,
            lenient: json.lenient,
            piece_delay: Duration::from_millis(json.piece_delay_ms),
            discards_requests: false,
            scenes: Vec::new(),
            access: Access::default(),
        };
        if let Some(key) = json.bearer {
            script = script.bearer(key);
        }
        if let Some(own) = json.aws_credentials {
            let token = own.session_token.as_deref();
            script = script.aws_credentials(own.access_key_id, own.secret_access_key, token);
        }
        for scene in json.scenes {
            script = script.scene(scene.keyword, hops(scene.hops)?);
        }
        script.validate()?;
        Ok(script)
    }
}

fn hops(json: Vec<HopJson>) -> Result<Vec<Hop>, ScriptError> {
    let hop = |(hop, json)| {
        Hop::try_from(json).map_err(|reason: String| ScriptError::Hop { hop, reason })
    };
    json.into_iter().enumerate().map(hop).collect()
}

impl TryFrom<HopJson> for Hop {
    type Error = String;

    fn try_from(json: HopJson) -> Result<Self, String> {
        let kinds = [
            json.steps.is_some(),
            json.body.is_some(),
            json.error.is_some(),
            json.html,
            json.silent,
            json.hang_up,
        ];
        if kinds.into_iter().filter(|is| *is).count() > 1 {
            return Err("a hop has one of steps, body, error, html, silent and hang_up".to_owned());
        }
        let needs_status = || {
            json.status
                .ok_or("error and html need a status, such as 500".to_owned())
        };
        let mut hop = if let Some(message) = json.error {
            Self::error(needs_status()?, message)
        } else if json.html {
            Self::html(needs_status()?)
        } else if json.silent {
            Self::silent()
        } else if json.hang_up {
            Self::hang_up()
        } else if let Some(body) = json.body {
            Self::status(json.status.unwrap_or(200)).body(body)
        } else if let Some(steps) = json.steps {
            let steps = steps
                .into_iter()
                .map(Step::try_from)
                .collect::<Result<_, _>>()?;
            let mut hop = Self::status(json.status.unwrap_or(200));
            hop.content = Content::Steps(steps);
            hop
        } else {
            json.status.map_or_else(Self::new, Self::status)
        };
        hop.headers = json.headers.into_iter().collect();
        hop.pieces = json.pieces;
        hop.piece_delay = json.piece_delay_ms.map(Duration::from_millis);
        hop.interleave = json.interleave;
        hop.bare = json.bare;
        hop.usage = json.usage.map(|usage| Usage {
            input: usage.input,
            output: usage.output,
        });
        hop.stop_reason = json.stop_reason;
        hop.cut_at = json.cut_at;
        hop.chunks_of = json.chunks_of;
        hop.background = Readability {
            drop_every: json.drop_every,
            streams: json.streams,
            reads: json.reads,
        };
        Ok(hop)
    }
}

impl TryFrom<StepJson> for Step {
    type Error = String;

    fn try_from(json: StepJson) -> Result<Self, String> {
        Ok(match json {
            StepJson::Text(text) => Self::Text(text),
            StepJson::Reasoning(text) => Self::Reasoning(text),
            StepJson::ToolCall(call) => {
                let arguments = match (call.arguments, call.raw_arguments) {
                    (Some(_), Some(_)) => {
                        return Err(
                            "a tool_call has arguments or raw_arguments, not both".to_owned()
                        );
                    }
                    (Some(arguments), None) => arguments.to_string(),
                    (None, Some(raw)) => raw,
                    (None, None) => "{}".to_owned(),
                };
                Self::ToolCall(ToolCall {
                    id: call.id,
                    name: call.name,
                    arguments,
                })
            }
            StepJson::PauseMs(milliseconds) => Self::Pause(Duration::from_millis(milliseconds)),
            StepJson::Stall => Self::Stall,
            StepJson::Cut => Self::Cut,
            StepJson::EndEarly => Self::EndEarly,
            StepJson::RawFrame(Value::String(text)) => Self::RawFrame(text),
            StepJson::RawFrame(value) => Self::RawFrame(value.to_string()),
            StepJson::RawBytes(RawBytesJson::Text(text)) => Self::RawBytes(text.into()),
            StepJson::RawBytes(RawBytesJson::Bytes(bytes)) => Self::RawBytes(Bytes::from(bytes)),
            StepJson::ErrorEvent(ErrorEventJson::Message(message)) => Self::ErrorEvent {
                message,
                code: None,
            },
            StepJson::ErrorEvent(ErrorEventJson::Full { message, code }) => {
                Self::ErrorEvent { message, code }
            }
        })
    }
}
