//! The inputs of a run: each input of the core is one method.

use super::start::{
    ResumeEntry, Start, any_json, entries, parse_message, parse_messages, parse_parts,
};
use super::{RunMachine, id};
use crate::effect::{CallKey, Outputs};
use crate::error::StepwellError;
use crate::event::ToolFailureKind;
use crate::hook::HookAnswer;
use crate::json_value::JsonValue;
use crate::question::Question;
use crate::time::{Duration, Timestamp};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use stepwell_core::event::Message;
use stepwell_core::run::{self, Authorization, Decision, EffectId, Input, Refusal, UserAnswer};
use stepwell_core::tool::{ToolFailure, ToolResult};

#[uniffi::export]
impl RunMachine {
    /// Starts the turn.
    pub fn start(&self, start: Start, now: Timestamp) -> Result<Outputs, StepwellError> {
        let config = self.lock().run.config()?;
        let start = start.into_core(&config)?;
        self.handle(Input::Start(Box::new(start)), now)
    }

    /// The provider answered with any other status. `body` is the beginning of the answer, of which 64 KiB are plenty;
    /// `retry_after` the wait that the answer's `Retry-After` asks for.
    #[uniffi::method(default(retry_after = None))]
    pub fn refused(
        &self,
        effect: &str,
        status: u16,
        body: &[u8],
        now: Timestamp,
        retry_after: Option<Duration>,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let refusal = Refusal {
            status,
            retry_after: retry_after.map(Into::into),
            body: body.to_owned(),
        };
        self.handle(Input::Refused { effect, refusal }, now)
    }

    /// Bytes of the body, in chunks as the transport gave them, cut anywhere.
    pub fn receive(
        &self,
        effect: &str,
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let bytes = Cow::Borrowed(bytes);
        self.handle(Input::Received { effect, bytes }, now)
    }
}

/// The inputs as a table. Each entry is a method: its name, in brackets the effect that it answers, its other arguments
/// (after the semicolon the optional one, which comes last), and the input of the core.
macro_rules! inputs {
    ($(
        $(#[$meta:meta])*
        $name:ident[$($effect:ident)?]($($arg:ident: $ty:ty),* $(; $last:ident: $last_ty:ty)?) => $input:expr;
    )*) => {
        #[uniffi::export]
        impl RunMachine {
            $(
                $(#[$meta])*
                pub fn $name(
                    &self,
                    $($effect: &str,)?
                    $($arg: $ty,)*
                    now: Timestamp,
                    $($last: $last_ty,)?
                ) -> Result<Outputs, StepwellError> {
                    $(let $effect = id($effect)?;)?
                    self.handle($input, now)
                }
            )*
        }
    };
}

inputs! {
    /// The backend created a run.
    run_created[effect](run_id: String) => Input::RunCreated { effect, run_id: run_id.into() };
    /// The backend did not create a run.
    run_not_created[effect](message: String) => Input::RunNotCreated { effect, message };
    /// The provider answered with a 2xx status: the body follows. `content_type` is the response's header.
    opened[effect](content_type: Option<String>) => Input::Opened { effect, content_type };
    /// No answer came at all.
    connection_failed[effect](message: String) => Input::ConnectionFailed { effect, message };
    /// The body ended as it should.
    ended[effect]() => Input::Ended { effect };
    /// The connection broke within the body.
    lost[effect](message: String) => Input::Lost { effect, message };
    /// A tool returned a result: text, or JSON as text.
    tool_finished[effect](content: String) => finished(effect, Ok(content.into()));
    /// As `tool_finished`, with a result that is more than text: a JSON array of AG-UI content parts, such as pictures.
    tool_finished_parts[effect](parts: JsonValue) => finished(effect, Ok(parse_parts(parts)?));
    /// A tool failed; the model is shown the message. `kind` is `Error` if absent.
    #[uniffi::method(default(kind = None))]
    tool_failed[effect](message: String; kind: Option<ToolFailureKind>)
        => finished(effect, Err(failure(kind, message)));
    /// The tool has begun something whose result comes later, in minutes or days, with `tool_finished` or
    /// `tool_failed`.
    tool_deferred[effect]() => Input::ToolDeferred { effect };
    /// A running tool reports its progress, from 0 to 1 if that is known, and what it is doing: the event
    /// `ToolProgress`.
    tool_progress[effect](fraction: Option<f64>, message: Option<String>)
        => Input::ToolProgress { effect, fraction, message };
    /// A running tool shows its partial result, text or JSON as text, which replaces the previous one: the event
    /// `ToolPartialResult`. 256 KiB at most.
    tool_partial_result[effect](content: String)
        => Input::ToolPartialResult { effect, output: content.into() };
    /// A running tool asks the user. The effects `AskUser` and then `AnswerTool` have the id `ask:HOP:INDEX:NUMBER`,
    /// with the question's `number` among those of the call, counted from 0 each time that the tool is run. A tool that
    /// is run again after a crash and asks the same question at the same place gets the earlier answer.
    tool_asks[effect](number: u32, question: Question)
        => Input::ToolAsks { effect, number, question: asked(question)? };
    /// The user answered a tool's question, with any JSON. An answer that does not fit the question's schema is an
    /// `InvalidArgument`, and the question stays open.
    answer[effect](value: JsonValue)
        => answered(effect, UserAnswer::Given { value: any_json("the answer", value)? });
    /// The user does not answer a tool's question. The reason is for the tool.
    decline[effect](reason: Option<String>) => answered(effect, UserAnswer::Declined { reason });
    /// The user allows the call. With `arguments` the call is run with these instead of the model's, and the model is
    /// informed; arguments that do not fit the tool are an `InvalidArgument`, and the approval stays open.
    #[uniffi::method(default(arguments = None))]
    approve[effect](; arguments: Option<JsonValue>) => decided(effect, approved(arguments));
    /// The user does not allow the call. The reason is for the model to read.
    deny[effect](reason: Option<String>) => decided(effect, Decision::Denied { reason });
    /// The app shortened the conversation to these messages. The history stays complete; the other messages are left
    /// out of the requests of this turn and of those that follow it. What belongs together stays together: a call with its
    /// results, and the reasoning before them. The last question and the last message stay too. The model gets `summary` instead of the others.
    #[uniffi::method(default(summary = None))]
    context_trimmed[effect](keep: Vec<String>; summary: Option<String>) => trimmed(effect, keep, summary);
    /// The app has no way to shorten the conversation: the turn fails.
    context_not_trimmed[effect](message: String) => Input::ContextNotTrimmed { effect, message };
    /// The app chose the model of the next hop, by its number: 0 is the configuration's own, 1 the first of its fallback. A
    /// number that no model has is a `Misuse`, and the choice stays open.
    model_chosen[effect](model: u32) => Input::ModelChosen { effect, model };
    /// The app could not choose a model: the turn continues with the one that it has.
    model_not_chosen[effect](message: String) => Input::ModelNotChosen { effect, message };
    /// The app decoded the typed answer, which is accepted.
    output_decoded[effect]() => Input::OutputDecoded { effect };
    /// The app cannot decode the typed answer. The model reads the reason, and is asked again if retries are left.
    output_refused[effect](reason: String) => Input::OutputRefused { effect, reason };
    /// The key of the next request, and additional headers. Neither is stored.
    #[uniffi::method(default(headers))]
    authorized[effect](key: Option<String>; headers: HashMap<String, String>)
        => Input::Authorized { effect, authorization: authorization(key, headers) };
    /// The app has no credentials for the next request: the turn fails.
    not_authorized[effect](message: String) => Input::NotAuthorized { effect, message };
    /// A hook answered. An answer that changes something other than the hook's subject is not an answer to the effect.
    hook_answered[effect](answer: HookAnswer) => Input::HookAnswered { effect, answer: answer.into() };
    /// Blocks are stored.
    persisted[effect]() => Input::Persisted { effect };
    /// Blocks could not be stored.
    persist_failed[effect](message: String) => Input::PersistFailed { effect, message };
    /// The user answered all of the agent's questions.
    resume[](answers: Vec<ResumeEntry>) => Input::Resume(entries(answers)?);
    /// The user stops the turn. Results that are complete stay as they are.
    cancel[]() => Input::Cancel;
    /// The user stops one call. The other calls continue, and the model is informed.
    cancel_call[](call: CallKey) => Input::CancelCall { call: call.into() };
    /// The user sends a message during the turn. The message waits until the next hop begins, and is answered in this
    /// turn; if that is not possible, the event `SteeringRefused` returns the message, also when the turn has ended
    /// meanwhile. `message_id` is unique in the thread.
    steer[](message_id: String, text: String) => Input::Steer(Box::new(Message::user(message_id, text)));
    /// As `steer`, with an AG-UI message in JSON, where it is more than text.
    steer_message[](message: JsonValue) => Input::Steer(Box::new(parse_message(message)?));
    /// The messages that the user was shown by a host that died, as AG-UI messages in JSON: for a run that was revived,
    /// before any other input. What the run does not know of them stays, marked with `metadata.cut`, and the answer is
    /// asked for again.
    shown[](messages: JsonValue) => Input::Shown(parse_messages("what was shown", messages)?);
    /// The app goes to the background; see `DevicePolicy`. Like `entered_foreground`, `network_lost` and
    /// `network_available`, this input is accepted in every state, and harmless when repeated.
    entered_background[]() => Input::EnteredBackground;
    /// The app is in the foreground again.
    entered_foreground[]() => Input::EnteredForeground;
    /// The network that the server is reached over is gone.
    network_lost[]() => Input::NetworkLost;
    /// There is a network, or another one replaced it.
    network_available[]() => Input::NetworkAvailable;
    /// A model failed in another turn: until then it is asked only if all others have failed too.
    model_resting[](model: u32, until: Timestamp) => Input::ModelResting { model, until: until.into() };
    /// The app releases the run: the outputs stop the work that the run began, and return what the user typed. The turn
    /// does not end: it can continue elsewhere, by `revive` from the `snapshot`. Each later input is a `Misuse`.
    dispose[]() => Input::Dispose;
    /// Time has passed: the run handles the timers that are due.
    timeout[]() => Input::Timeout;
}

fn finished(effect: EffectId, result: ToolResult) -> Input<'static> {
    Input::ToolFinished { effect, result }
}

fn failure(kind: Option<ToolFailureKind>, message: String) -> ToolFailure {
    let kind = kind.unwrap_or(ToolFailureKind::Error);
    ToolFailure::new(kind.into(), message)
}

fn asked(question: Question) -> Result<run::Question, StepwellError> {
    let schema = any_json("the question's schema", question.schema)?;
    Ok(run::Question::new(question.message, schema))
}

fn answered(effect: EffectId, answer: UserAnswer) -> Input<'static> {
    Input::UserAnswered { effect, answer }
}

fn decided(effect: EffectId, decision: Decision) -> Input<'static> {
    Input::Decided { effect, decision }
}

fn approved(arguments: Option<JsonValue>) -> Decision {
    match arguments {
        None => Decision::Granted,
        Some(arguments) => Decision::Edited {
            arguments: arguments.into_text(),
        },
    }
}

fn trimmed(effect: EffectId, keep: Vec<String>, summary: Option<String>) -> Input<'static> {
    let keep = keep.into_iter().map(Into::into).collect();
    Input::ContextTrimmed {
        effect,
        keep,
        summary,
    }
}

/// A map has no order; equal headers should give equal requests.
fn authorization(key: Option<String>, headers: HashMap<String, String>) -> Authorization {
    let headers: BTreeMap<_, _> = headers.into_iter().collect();
    Authorization {
        key: key.map(Into::into),
        headers: headers.into_iter().collect(),
    }
}
