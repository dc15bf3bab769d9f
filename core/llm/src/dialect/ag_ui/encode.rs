use super::enforcement::strip;
use super::on_interrupt;
use super::shapes::{CONTEXT, MESSAGE, RESUME, Shape, TOOL};
use crate::dialect::encoding::SEGMENT;
use crate::dialect::{Encode, HopIds, HttpRequest, ModelRequest};
use crate::event::{
    ContentPart, Context, Message, Metadata, PROTOCOL_VERSION, ResumeEntry, TextualMessage,
    ToolDefinition, ToolMessage,
};
use crate::provider::AgUiEncoding;
use percent_encoding::utf8_percent_encode;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Encodes a hop as an AG-UI run: a `RunAgentInput`, posted to the endpoint's address.
pub(in crate::dialect) struct Encoder;

/// `RunAgentInput` in borrowed form. Fields that are optional in 1.0 are always sent, since older agents require them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Input<'a> {
    thread_id: &'a str,
    run_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_run_id: Option<&'a str>,
    state: AgentState<'a>,
    messages: Messages<'a>,
    tools: Vec<Tool<'a>>,
    context: Vec<Closed<'a, Context>>,
    forwarded_props: Cow<'a, Metadata>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resume: Vec<Closed<'a, ResumeEntry>>,
}

/// The app's instructions, if there are any, and the conversation.
struct Messages<'a> {
    instructions: Option<Message>,
    said: &'a [&'a Message],
}

/// The id of the message with the instructions. It is constant, so that an agent that keeps the conversation has the
/// message once.
const INSTRUCTIONS: &str = "instructions";

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // An activity is the client's own; an agent must not see it.
        let said = self
            .said
            .iter()
            .copied()
            .filter(|message| !matches!(message, Message::Activity(_)));
        serializer.collect_seq(self.instructions.iter().chain(said).map(CleanMessage))
    }
}

/// A message without the fields that AG-UI 1.0 does not know. Empty arguments are sent as an empty object, which some
/// agents require.
struct CleanMessage<'a>(&'a Message);

impl Serialize for CleanMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut message = serde_json::to_value(self.0).map_err(serde::ser::Error::custom)?;
        strip(&mut message, &MESSAGE);
        let calls = message.get_mut("toolCalls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten() {
            if let Some(Value::String(arguments)) = call.pointer_mut("/function/arguments")
                && matches!(arguments.trim(), "" | "null")
            {
                "{}".clone_into(arguments);
            }
        }
        message.serialize(serializer)
    }
}

/// The shared state, in which null is replaced with an empty object.
struct AgentState<'a>(&'a Value);

impl Serialize for AgentState<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => json!({}).serialize(serializer),
            state => state.serialize(serializer),
        }
    }
}

/// A value of a closed shape, without the fields that AG-UI 1.0 does not know.
struct Closed<'a, T> {
    value: &'a T,
    shape: &'static Shape,
}

fn closed<'a, T>(values: &'a [T], shape: &'static Shape) -> Vec<Closed<'a, T>> {
    let closed = values.iter().map(|value| Closed { value, shape });
    closed.collect()
}

/// Returns the endpoint's address with the hop's ids inserted, since a backend that creates runs first may have an
/// address for each run.
fn address(template: &str, ids: &HopIds) -> String {
    let place = |address: String, place, id: &str| {
        if address.contains(place) {
            let id = utf8_percent_encode(id, SEGMENT).to_string();
            return address.replace(place, &id);
        }
        address
    };
    let address = place(template.to_owned(), "{thread_id}", &ids.thread_id);
    place(address, "{run_id}", &ids.run_id)
}

/// Returns the accepted media types, in order of preference.
fn accept(encoding: AgUiEncoding) -> &'static str {
    match encoding {
        AgUiEncoding::Json => "text/event-stream",
        _ if !cfg!(feature = "protobuf") => "text/event-stream",
        AgUiEncoding::JsonFirst => "text/event-stream, application/vnd.ag-ui.event+proto;q=0.9",
        AgUiEncoding::ProtobufFirst => "application/vnd.ag-ui.event+proto, text/event-stream;q=0.9",
    }
}

impl<T: Serialize> Serialize for Closed<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = serde_json::to_value(self.value).map_err(serde::ser::Error::custom)?;
        strip(&mut value, self.shape);
        value.serialize(serializer)
    }
}

/// A tool, always with parameters.
struct Tool<'a>(&'a ToolDefinition);

impl Serialize for Tool<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = serde_json::to_value(self.0).map_err(serde::ser::Error::custom)?;
        strip(&mut value, &TOOL);
        if let Some(tool) = value.as_object_mut() {
            tool.entry("parameters")
                .or_insert_with(|| json!({"type": "object", "properties": {}}));
        }
        value.serialize(serializer)
    }
}

/// Returns the forwarded properties, and the answers to interrupts. Answers to LangGraph's interrupts are forwarded.
fn answered<'a>(request: &ModelRequest<'a>) -> (Cow<'a, Metadata>, &'a [ResumeEntry]) {
    let mut forwarded = Cow::Borrowed(&request.settings.extra);
    let Some(said) = on_interrupt::command(request.resume) else {
        return (forwarded, request.resume);
    };
    let command = forwarded.to_mut().entry("command").or_insert(Value::Null);
    match command {
        Value::Object(command) => drop(command.insert("resume".to_owned(), said)),
        command => *command = json!({ "resume": said }),
    }
    (forwarded, &[])
}

impl Encode for Encoder {
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest {
        let options = request.endpoint.quirks.ag_ui;
        let (forwarded_props, resume) = answered(request);
        let input = Input {
            thread_id: &request.ids.thread_id,
            run_id: &request.ids.run_id,
            protocol_version: (!options.is_before_1_0).then_some(PROTOCOL_VERSION),
            parent_run_id: request.parent_run_id.map(|id| id.as_str()),
            state: AgentState(request.state),
            messages: Messages {
                instructions: request.instructions.map(|text| {
                    Message::System(TextualMessage {
                        id: INSTRUCTIONS.into(),
                        content: text.to_owned(),
                        ..TextualMessage::default()
                    })
                }),
                said: request.messages,
            },
            tools: request.tools.iter().map(Tool).collect(),
            context: closed(&request.settings.context, &CONTEXT),
            forwarded_props,
            resume: closed(resume, &RESUME),
        };
        let endpoint = request.endpoint;
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("accept".to_owned(), accept(options.encoding).to_owned()),
        ];
        if let Some(key) = &endpoint.key {
            headers.push((
                "authorization".to_owned(),
                format!("Bearer {}", key.expose()),
            ));
        }
        // The endpoint's own headers win over the dialect's.
        headers.retain(|(name, _)| {
            let own = |(own, _): &(String, String)| own.eq_ignore_ascii_case(name);
            !endpoint.headers.iter().any(own)
        });
        let own = endpoint.headers.iter();
        headers.extend(own.map(|(name, value)| (name.to_ascii_lowercase(), value.clone())));
        HttpRequest {
            method: "POST",
            url: address(&endpoint.base_url, request.ids),
            headers,
            // Serialising JSON values into memory cannot fail.
            body: serde_json::to_vec(&input).unwrap_or_default(),
        }
    }

    fn takes(&self, _: &ContentPart) -> bool {
        true
    }

    fn takes_in_result(&self, _: &ContentPart, _: &ToolMessage, _: &str) -> bool {
        true
    }
}
