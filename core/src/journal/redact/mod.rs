//! A journal without its texts, which still replays through the same states and effects.
//!
//! Every text is replaced by one of the same shape and length, in the inputs and within the recorded bytes of the
//! streams, so that frames, cuts and escapes stay where they are. Ids, the agent's state and what calls are made with
//! and give back get stand-ins that are equal where the originals are equal. Numbers, the names of the tools and of
//! their parameters, the model and the protocol's own words stay.

mod alias;
mod schema;
mod stream;
mod token;
mod walk;
mod words;

use super::digest::json;
use super::format::{Entry, Gives, Journal, Origin, Step};
use crate::dialect::{GenerationSettings, Offer, Resumption};
use crate::event::protobuf;
use crate::provider;
use crate::run::{EffectId, HookAnswer, Input, Question, RunConfig, TurnOptions, UserAnswer};
use crate::tool::{OutputType, Tool, ToolRegistry};
use alias::{Aliases, hidden, hide_bytes};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use walk::Area;

/// Why a journal cannot be redacted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum RedactError {
    /// A run came back from a snapshot that stands in the journal, and what a snapshot holds cannot be redacted.
    #[error(
        "entry {number} holds a whole snapshot, which cannot be redacted: record the run from its beginning, or share the journal as it is with care"
    )]
    Snapshot {
        /// The entry, from 1.
        number: usize,
    },
    /// A stream came in a binary encoding, whose texts cannot be replaced where they stand.
    #[error(
        "entry {number} begins a stream in protobuf, which cannot be redacted: record the run with JSON (`AgUiEncoding::Json`), or share the journal as it is with care"
    )]
    Binary {
        /// The entry, from 1.
        number: usize,
    },
    /// Without its texts the run would go another way.
    #[error(
        "without its texts the run differs at entry {number} (`{name}`): expected {expected}, got {got}; share the journal as it is with care, or cut it before this entry"
    )]
    Differs {
        /// The entry, from 1.
        number: usize,
        /// What happens there.
        name: String,
        /// The state and the effects with the texts.
        expected: String,
        /// The state and the effects without.
        got: String,
    },
    /// A part of it could not be read again: a fault of Stepwell's own.
    #[error(
        "a part of the journal could not be read again after it was redacted: {reason}; please report this"
    )]
    Unreadable {
        /// What could not be read, and why.
        reason: String,
    },
}

impl Journal {
    /// The journal with its texts hidden: it replays through the same states with the same effects.
    ///
    /// `seed` decides the stand-ins. It must be random and stay unknown to whoever gets the journal: with it, guessed
    /// texts could be confirmed.
    ///
    /// # Errors
    /// It holds a whole snapshot or a binary stream, or the run would go another way without its texts.
    pub fn redact(&self, seed: u64) -> Result<Self, RedactError> {
        if let Some(index) = self.entries.iter().position(begins_binary) {
            return Err(RedactError::Binary { number: index + 1 });
        }
        let mut aliases = Aliases::new(seed);
        let configs = self.entries.iter().filter_map(|entry| match &entry.step {
            Step::Restored(back) | Step::Revived(back) => back.config.as_deref(),
            Step::Input(_) => None,
        });
        for config in configs.chain([&self.config]) {
            know(config, &mut aliases);
        }
        for entry in &self.entries {
            if let Step::Input(Input::Start(start)) = &entry.step {
                let config = start.options.over(Arc::new(self.config.clone()));
                know(&config, &mut aliases);
            }
        }
        let mut journal = self.clone();
        journal.redacted = true;
        journal.thread_id = aliases.id(&self.thread_id).into();
        if let Some(history) = &self.history {
            journal.history = Some(again(history, &mut aliases)?);
        }
        let mut bodies = bodies(&journal);
        for (_, mut stream) in resumed(&mut bodies, &self.config) {
            stream::redact(self.config.endpoint.dialect, &mut stream, &mut aliases);
        }
        let mut streams = Streams::default();
        for (index, entry) in journal.entries.iter_mut().enumerate() {
            match &mut entry.step {
                Step::Input(input) => {
                    let stream = streams.of(input);
                    if let (Input::Received { bytes, .. }, Some(stream)) = (&mut *input, stream) {
                        let body = bodies.get_mut(&stream);
                        let piece = body.and_then(|body| body.take(bytes.len()));
                        *bytes = Cow::Owned(piece.unwrap_or_default().to_vec());
                    } else {
                        *input = redacted_input(input, &mut aliases)?;
                    }
                }
                Step::Restored(back) | Step::Revived(back) => {
                    if let Origin::Snapshot(_) = back.from {
                        return Err(RedactError::Snapshot { number: index + 1 });
                    }
                }
            }
        }
        // Last, since a schema is replaced by what it makes of the arguments.
        journal.config = redacted_config(&self.config, &mut aliases);
        for (entry, original) in journal.entries.iter_mut().zip(&self.entries) {
            if let (Step::Input(Input::Start(start)), Step::Input(Input::Start(original))) =
                (&mut entry.step, &original.step)
            {
                start.options = redacted_options(&original.options, &mut aliases);
            }
            if let Step::Restored(back) | Step::Revived(back) = &mut entry.step
                && let Some(config) = &mut back.config
            {
                **config = redacted_config(config, &mut aliases);
            }
        }
        let journal = journal.rewritten();
        self.compare(&journal)?;
        Ok(journal)
    }

    fn compare(&self, redacted: &Self) -> Result<(), RedactError> {
        for (index, entry) in self.entries.iter().enumerate() {
            let shape = |gives: &Gives| {
                let is_effect = |name: &&String| {
                    let id = name.rsplit(' ').next().unwrap_or_default();
                    id.parse::<EffectId>().is_ok()
                };
                let effects: Vec<_> = gives.outputs.iter().filter(is_effect).cloned().collect();
                let refused = if gives.refused.is_some() {
                    " (refused)"
                } else {
                    ""
                };
                format!("{} with [{}]{refused}", gives.state, effects.join(", "))
            };
            let now = redacted
                .entries
                .get(index)
                .and_then(|entry| entry.gives.as_ref());
            let now = now.map_or_else(|| "nothing".to_owned(), shape);
            if let Some(gives) = &entry.gives
                && shape(gives) != now
            {
                return Err(RedactError::Differs {
                    number: index + 1,
                    name: entry.step.name(),
                    expected: shape(gives),
                    got: now,
                });
            }
        }
        Ok(())
    }
}

/// Whether an entry begins a stream in a binary encoding.
fn begins_binary(entry: &Entry) -> bool {
    let Step::Input(Input::Opened {
        content_type: Some(content_type),
        ..
    }) = &entry.step
    else {
        return false;
    };
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case(protobuf::MEDIA_TYPE)
}

/// Which stream: its effect, and how often that was opened before.
type Stream = (EffectId, usize);

#[derive(Default)]
struct Streams(BTreeMap<EffectId, usize>);

impl Streams {
    fn of(&mut self, input: &Input<'_>) -> Option<Stream> {
        let effect = input.effect()?;
        let opened = self.0.entry(effect).or_default();
        *opened += usize::from(matches!(input, Input::Opened { .. }));
        Some((effect, *opened))
    }
}

#[derive(Default)]
struct Body {
    bytes: Vec<u8>,
    /// How many of them were taken.
    taken: usize,
}

impl Body {
    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let from = self.taken;
        self.taken += count;
        self.bytes.get(from..self.taken)
    }
}

/// The bodies of the streams, each in one piece.
fn bodies(journal: &Journal) -> BTreeMap<Stream, Body> {
    let mut bodies: BTreeMap<Stream, Body> = BTreeMap::new();
    let mut streams = Streams::default();
    for entry in &journal.entries {
        let Step::Input(input) = &entry.step else {
            continue;
        };
        let stream = streams.of(input);
        if let (Input::Received { bytes, .. }, Some(stream)) = (input, stream) {
            bodies
                .entry(stream)
                .or_default()
                .bytes
                .extend_from_slice(bytes);
        }
    }
    bodies
}

/// The bodies of each stream: those of one hop, where each goes on after the last event of the one before.
fn resumed<'a>(
    bodies: &'a mut BTreeMap<Stream, Body>,
    config: &RunConfig,
) -> BTreeMap<(u32, usize, u32), Vec<&'a mut [u8]>> {
    let resumes = config.endpoint.quirks.resumption == Resumption::LastEventId;
    let mut streams: BTreeMap<_, Vec<&mut [u8]>> = BTreeMap::new();
    for ((effect, opened), body) in bodies {
        let EffectId::Open { hop, attempt } = *effect else {
            continue;
        };
        let first = if resumes { 0 } else { attempt };
        let stream = streams.entry((hop, *opened, first)).or_default();
        stream.push(body.bytes.as_mut_slice());
    }
    streams
}

fn know(config: &RunConfig, aliases: &mut Aliases) {
    let tools = &config.tools;
    for tool in tools.definitions() {
        aliases.tools.insert(tool.name.clone());
        if let Some(parameters) = &tool.parameters {
            schema::names(parameters, &mut aliases.keys);
        }
    }
    if let Some(output) = &config.output {
        schema::names(output.schema(), &mut aliases.keys);
        let offer = Offer::new(
            &config.endpoint,
            tools.definitions(),
            &config.settings,
            Some(output),
        );
        aliases.tools.extend(offer.final_tool);
    }
}

/// The same value with its texts replaced.
fn again<T: Serialize + DeserializeOwned>(
    value: &T,
    aliases: &mut Aliases,
) -> Result<T, RedactError> {
    let redacted = walk::value(&json(value), Area::Protocol, aliases);
    serde_json::from_value(redacted).map_err(|error| RedactError::Unreadable {
        reason: error.to_string(),
    })
}

fn redacted_input(
    input: &Input<'static>,
    aliases: &mut Aliases,
) -> Result<Input<'static>, RedactError> {
    let mut input = input.clone();
    if let Input::Start(start) = &mut input {
        // They have a way of their own.
        start.options = TurnOptions::default();
    }
    if let Some(redacted) = redacted_question(&input, aliases) {
        return Ok(redacted);
    }
    if let Input::HookAnswered { effect, answer } = &input {
        return Ok(Input::HookAnswered {
            effect: *effect,
            answer: redacted_hook(answer, aliases)?,
        });
    }
    let mut redacted = again(
        &WithInput {
            input: input.clone(),
        },
        aliases,
    )?
    .input;
    if let (
        Input::Refused { refusal, .. },
        Input::Refused {
            refusal: original, ..
        },
    ) = (&mut redacted, &input)
    {
        let mut body = original.body.clone();
        if serde_json::from_slice::<Value>(&body).is_ok() {
            walk::Walk {
                data: &mut body,
                aliases,
                pieces: &mut (),
                own: &[],
            }
            .run(Area::Protocol);
        } else {
            hide_bytes(&mut body);
        }
        refusal.body = body;
    }
    Ok(redacted)
}

/// What a tool asks and the user answers: the schema is the app's, and the answer is to fit it as before.
fn redacted_question(input: &Input<'static>, aliases: &mut Aliases) -> Option<Input<'static>> {
    match input {
        Input::ToolAsks {
            effect,
            number,
            question,
        } => {
            schema::names(&question.schema, &mut aliases.keys);
            Some(Input::ToolAsks {
                effect: *effect,
                number: *number,
                question: Question {
                    message: hidden(&question.message),
                    schema: schema::redact(&question.schema, aliases),
                },
            })
        }
        Input::UserAnswered { effect, answer } => Some(Input::UserAnswered {
            effect: *effect,
            answer: match answer {
                UserAnswer::Given { value } => UserAnswer::Given {
                    value: walk::value(value, Area::Own, aliases),
                },
                UserAnswer::Declined { reason } => UserAnswer::Declined {
                    reason: reason.as_deref().map(hidden),
                },
            },
        }),
        _ => None,
    }
}

/// What a hook says, with what it puts in the place of messages, arguments and results.
fn redacted_hook(answer: &HookAnswer, aliases: &mut Aliases) -> Result<HookAnswer, RedactError> {
    Ok(match answer {
        HookAnswer::GoOn => HookAnswer::GoOn,
        HookAnswer::ChangeRequest {
            instructions,
            messages,
        } => HookAnswer::ChangeRequest {
            instructions: instructions.as_deref().map(hidden),
            messages: messages
                .as_ref()
                .map(|messages| again(messages, aliases))
                .transpose()?,
        },
        HookAnswer::ChangeArguments { arguments } => HookAnswer::ChangeArguments {
            arguments: match serde_json::from_str::<Value>(arguments) {
                Ok(value) => walk::value(&value, Area::Own, aliases).to_string(),
                Err(_) => hidden(arguments),
            },
        },
        HookAnswer::ChangeResult { output } => HookAnswer::ChangeResult {
            output: again(output, aliases)?,
        },
        HookAnswer::Refused { reason } => HookAnswer::refuse(hidden(reason)),
        HookAnswer::Failed { message } => HookAnswer::Failed {
            message: hidden(message),
        },
    })
}

/// The key tells an input that is nothing but its name from a text.
#[derive(serde::Serialize, serde::Deserialize)]
struct WithInput {
    input: Input<'static>,
}

fn redacted_config(config: &RunConfig, aliases: &mut Aliases) -> RunConfig {
    let mut redacted = config.clone();
    redacted.instructions = config.instructions.as_deref().map(hidden);
    let endpoint = &mut redacted.endpoint;
    let known = provider::find(&endpoint.provider).ok();
    if known.is_none() {
        endpoint.provider = hidden(&endpoint.provider);
    }
    let is_public = known.is_some_and(|provider| {
        let mut addresses = provider
            .apis
            .iter()
            .filter_map(|api| api.base_url.as_deref());
        addresses.any(|address| address == endpoint.base_url)
    });
    if !is_public {
        endpoint.base_url = hidden_address(&endpoint.base_url);
    }
    for (_, value) in &mut endpoint.headers {
        *value = hidden(value);
    }
    redact_settings(&mut redacted.settings, aliases);
    redacted.tools = redacted_tools(&config.tools, aliases);
    redacted.output = output_of(&config.output, aliases);
    redacted
}

fn output_of(output: &Option<OutputType>, aliases: &mut Aliases) -> Option<OutputType> {
    output
        .as_ref()
        .map(|output| redacted_output(output, aliases))
}

fn redact_settings(settings: &mut GenerationSettings, aliases: &mut Aliases) {
    settings.user = settings.user.as_deref().map(hidden);
    let extra = serde_json::Value::Object(std::mem::take(&mut settings.extra));
    if let serde_json::Value::Object(extra) = walk::value(&extra, Area::Own, aliases) {
        settings.extra = extra;
    }
}

fn redacted_options(options: &TurnOptions, aliases: &mut Aliases) -> TurnOptions {
    let mut redacted = options.clone();
    redacted.instructions = options.instructions.as_deref().map(hidden);
    redacted.user = options.user.as_deref().map(hidden);
    redacted.tools = redacted_tools(&options.tools, aliases);
    redacted.output = output_of(&options.output, aliases);
    if let Some(settings) = &mut redacted.settings {
        redact_settings(settings, aliases);
    }
    for (_, value) in &mut redacted.headers {
        *value = hidden(value);
    }
    redacted
}

/// An address of which only the scheme and the signs are left.
fn hidden_address(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}", hidden(rest)),
        None => hidden(url),
    }
}

fn redacted_output(output: &OutputType, aliases: &mut Aliases) -> OutputType {
    let schema = schema::redact(output.schema(), aliases);
    // A schema that is none any more takes everything.
    let redacted = OutputType::new(output.name(), schema)
        .or_else(|_| OutputType::new(output.name(), true.into()));
    let Ok(redacted) = redacted else {
        return output.clone();
    };
    redacted
        .mode(output.wanted_mode())
        .retries(output.most_retries())
        .decoded_by_host(output.is_decoded_by_host())
}

fn redacted_tools(tools: &ToolRegistry, aliases: &mut Aliases) -> ToolRegistry {
    let redacted = tools.definitions().iter().filter_map(|definition| {
        let mut tool: Tool = tools.get(&definition.name)?.clone();
        tool.definition.description = hidden(&definition.description);
        tool.definition.metadata = None;
        tool.definition.extra.clear();
        tool.definition.parameters = definition
            .parameters
            .as_ref()
            .map(|parameters| schema::redact(parameters, aliases));
        Some(tool)
    });
    let mut registry = ToolRegistry::new();
    for tool in redacted {
        // A schema that is none any more leaves its tool out.
        let _ = registry.add(tool);
    }
    registry
}
