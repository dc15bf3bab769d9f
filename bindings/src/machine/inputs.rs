//! What the app tells a run: each input of the core is one method.

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
use crate::time::Duration;
use crate::time::Timestamp;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use stepwell_core::event::Message;
use stepwell_core::run::{self, Authorization, Decision, Input, Refusal};
use stepwell_core::tool::{ToolFailure, ToolOutput};

#[uniffi::export]
impl RunMachine {
    /// Starts the turn.
    pub fn start(&self, start: Start, now: Timestamp) -> Result<Outputs, StepwellError> {
        let config = self.lock().run.config()?;
        let start = start.into_core(&config)?;
        self.handle(Input::Start(Box::new(start)), now)
    }

    /// The backend created a run.
    pub fn run_created(
        &self,
        effect: &str,
        run_id: String,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let run_id = run_id.into();
        self.handle(Input::RunCreated { effect, run_id }, now)
    }

    /// The backend did not create a run.
    pub fn run_not_created(
        &self,
        effect: &str,
        message: String,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::RunNotCreated { effect, message }, now)
    }

    /// The provider answered with a 2xx status: the body follows. `content_type` is the response's header.
    pub fn opened(
        &self,
        effect: &str,
        content_type: Option<String>,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(
            Input::Opened {
                effect,
                content_type,
            },
            now,
        )
    }

    /// The provider answered with any other status. `body` is the beginning of its answer, 64 KiB are plenty;
    /// `retry_after` the wait that its `Retry-After` asks for.
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

    /// No answer came at all.
    pub fn connection_failed(
        &self,
        effect: &str,
        message: String,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::ConnectionFailed { effect, message }, now)
    }

    /// Bytes of the body, as many as the transport gave, cut anywhere.
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

    /// The body ended as it should.
    pub fn ended(&self, effect: &str, now: Timestamp) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::Ended { effect }, now)
    }

    /// The connection broke within the body.
    pub fn lost(
        &self,
        effect: &str,
        message: String,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::Lost { effect, message }, now)
    }

    /// A tool gave a result: text, or JSON as text.
    pub fn tool_finished(
        &self,
        effect: &str,
        content: String,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let result = Ok(ToolOutput::from(content));
        self.handle(Input::ToolFinished { effect, result }, now)
    }

    /// As `tool_finished`, with a result that is more than text: a JSON array of AG-UI content parts, such as pictures.
    pub fn tool_finished_parts(
        &self,
        effect: &str,
        parts: JsonValue,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let result = Ok(parse_parts(parts)?);
        self.handle(Input::ToolFinished { effect, result }, now)
    }

    /// A tool failed; the model is shown the message. `kind` is `Error` if absent.
    #[uniffi::method(default(kind = None))]
    pub fn tool_failed(
        &self,
        effect: &str,
        message: String,
        now: Timestamp,
        kind: Option<ToolFailureKind>,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let kind = kind.unwrap_or(ToolFailureKind::Error);
        let result = Err(ToolFailure::new(kind.into(), message));
        self.handle(Input::ToolFinished { effect, result }, now)
    }

    /// The tool has begun something whose result comes later, in minutes or days, with `tool_finished` or
    /// `tool_failed`.
    pub fn tool_deferred(&self, effect: &str, now: Timestamp) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::ToolDeferred { effect }, now)
    }

    /// A running tool says how far it has come, from 0 to 1 if that is known, and what it does now: the event
    /// `ToolProgress`.
    pub fn tool_progress(
        &self,
        effect: &str,
        fraction: Option<f64>,
        message: Option<String>,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let input = Input::ToolProgress {
            effect: id(effect)?,
            fraction,
            message,
        };
        self.handle(input, now)
    }

    /// A running tool shows what it has so far, text or JSON as text, in the place of what it showed before: the event
    /// `ToolPartialResult`. 256 KiB at most.
    pub fn tool_partial_result(
        &self,
        effect: &str,
        content: String,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let output = ToolOutput::from(content);
        self.handle(Input::ToolPartialResult { effect, output }, now)
    }

    /// A running tool asks the user. The effects `AskUser` and then `AnswerTool` have the id `ask:HOP:INDEX:NUMBER`, with
    /// the question's `number` among those of the call, counted from 0 each time that the tool is run. A tool that is run
    /// again after a crash and asks the same at the same place is given the answer of before.
    pub fn tool_asks(
        &self,
        effect: &str,
        number: u32,
        question: Question,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let input = Input::ToolAsks {
            effect: id(effect)?,
            number,
            question: run::Question::new(
                question.message,
                any_json("the question's schema", question.schema)?,
            ),
        };
        self.handle(input, now)
    }

    /// The user answered a tool's question, with any JSON. If it does not fit the question's schema, that is an
    /// `InvalidArgument`, and it is still asked.
    pub fn answer(
        &self,
        effect: &str,
        value: JsonValue,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let value = any_json("the answer", value)?;
        let answer = run::UserAnswer::Given { value };
        self.handle(Input::UserAnswered { effect, answer }, now)
    }

    /// The user does not answer a tool's question. The reason is for the tool.
    pub fn decline(
        &self,
        effect: &str,
        reason: Option<String>,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let answer = run::UserAnswer::Declined { reason };
        self.handle(Input::UserAnswered { effect, answer }, now)
    }

    /// The user allows the call. With `arguments` it is run with these in the place of the model's, and the
    /// model is told; if they do not fit the tool, that is an `InvalidArgument`, and the call is still asking.
    #[uniffi::method(default(arguments = None))]
    pub fn approve(
        &self,
        effect: &str,
        now: Timestamp,
        arguments: Option<JsonValue>,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let decision = match arguments {
            None => Decision::Granted,
            Some(arguments) => Decision::Edited {
                arguments: arguments.into_text(),
            },
        };
        self.handle(Input::Decided { effect, decision }, now)
    }

    /// The user does not allow the call. The reason is for the model to read.
    pub fn deny(
        &self,
        effect: &str,
        reason: Option<String>,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        let decision = Decision::Denied { reason };
        self.handle(Input::Decided { effect, decision }, now)
    }

    /// The conversation is to go on with these of its messages. The history stays whole; the others are left out of this
    /// turn's requests. What belongs together stays together: a call with its results, and the reasoning before them;
    /// the last question and the last message stay too. The model is told `summary` in the place of the others.
    #[uniffi::method(default(summary = None))]
    pub fn context_trimmed(
        &self,
        effect: &str,
        keep: Vec<String>,
        now: Timestamp,
        summary: Option<String>,
    ) -> Result<Outputs, StepwellError> {
        let input = Input::ContextTrimmed {
            effect: id(effect)?,
            keep: keep.into_iter().map(Into::into).collect(),
            summary,
        };
        self.handle(input, now)
    }

    /// The app has no way to shorten the conversation: the turn fails.
    pub fn context_not_trimmed(
        &self,
        effect: &str,
        message: String,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::ContextNotTrimmed { effect, message }, now)
    }

    /// The app has decoded the typed answer: it counts.
    pub fn output_decoded(&self, effect: &str, now: Timestamp) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::OutputDecoded { effect }, now)
    }

    /// The app cannot decode the typed answer. The reason is for the model to read, which is asked again if it may be.
    pub fn output_refused(
        &self,
        effect: &str,
        reason: String,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::OutputRefused { effect, reason }, now)
    }

    /// The key of the next request, and headers to send besides. Neither is stored.
    #[uniffi::method(default(headers))]
    pub fn authorized(
        &self,
        effect: &str,
        key: Option<String>,
        now: Timestamp,
        headers: HashMap<String, String>,
    ) -> Result<Outputs, StepwellError> {
        // A map has no order; equal headers are to give equal requests.
        let headers: BTreeMap<_, _> = headers.into_iter().collect();
        let input = Input::Authorized {
            effect: id(effect)?,
            authorization: Authorization {
                key: key.map(Into::into),
                headers: headers.into_iter().collect(),
            },
        };
        self.handle(input, now)
    }

    /// The app has no credentials for the next request: the turn fails.
    pub fn not_authorized(
        &self,
        effect: &str,
        message: String,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::NotAuthorized { effect, message }, now)
    }

    /// A hook has looked. An answer that changes something else than it was asked about is none to the effect.
    pub fn hook_answered(
        &self,
        effect: &str,
        answer: HookAnswer,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let (effect, answer) = (id(effect)?, answer.into());
        self.handle(Input::HookAnswered { effect, answer }, now)
    }

    /// Blocks are stored.
    pub fn persisted(&self, effect: &str, now: Timestamp) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::Persisted { effect }, now)
    }

    /// Blocks could not be stored.
    pub fn persist_failed(
        &self,
        effect: &str,
        message: String,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let effect = id(effect)?;
        self.handle(Input::PersistFailed { effect, message }, now)
    }

    /// The user answered the agent's questions, all of them.
    pub fn resume(
        &self,
        answers: Vec<ResumeEntry>,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let answers = entries(answers)?;
        self.handle(Input::Resume(answers), now)
    }

    /// The user stops the turn. What is over stays as it is.
    pub fn cancel(&self, now: Timestamp) -> Result<Outputs, StepwellError> {
        self.handle(Input::Cancel, now)
    }

    /// The user stops one call. The others go on, and the model is told.
    pub fn cancel_call(&self, call: CallKey, now: Timestamp) -> Result<Outputs, StepwellError> {
        let call = call.into();
        self.handle(Input::CancelCall { call }, now)
    }

    /// The user types during the turn. The message waits until the next hop begins, and is answered in this turn; if
    /// it cannot be, the event `SteeringRefused` gives it back, also when the turn has ended meanwhile. `message_id` is
    /// unique in the thread.
    pub fn steer(
        &self,
        message_id: String,
        text: String,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let message = Message::user(message_id, text);
        self.handle(Input::Steer(Box::new(message)), now)
    }

    /// As `steer`, with an AG-UI message in JSON, where it is more than text.
    pub fn steer_message(
        &self,
        message: JsonValue,
        now: Timestamp,
    ) -> Result<Outputs, StepwellError> {
        let message = parse_message(message)?;
        self.handle(Input::Steer(Box::new(message)), now)
    }

    /// What the user was shown by a host that died, as AG-UI messages in JSON: for a run that was revived, before any
    /// other input. What the run does not know of it stays, marked with `metadata.cut`, and the answer is asked for anew.
    pub fn shown(&self, messages: JsonValue, now: Timestamp) -> Result<Outputs, StepwellError> {
        let messages = parse_messages("what was shown", messages)?;
        self.handle(Input::Shown(messages), now)
    }

    /// The app goes to the background; see `DevicePolicy`. Like `entered_foreground`, `network_lost` and
    /// `network_available`, it is taken in every state, and harmless when repeated.
    pub fn entered_background(&self, now: Timestamp) -> Result<Outputs, StepwellError> {
        self.handle(Input::EnteredBackground, now)
    }

    /// The app is in the foreground again.
    pub fn entered_foreground(&self, now: Timestamp) -> Result<Outputs, StepwellError> {
        self.handle(Input::EnteredForeground, now)
    }

    /// The network that the server is reached over is gone.
    pub fn network_lost(&self, now: Timestamp) -> Result<Outputs, StepwellError> {
        self.handle(Input::NetworkLost, now)
    }

    /// There is a network, or another one took the place of the one before.
    pub fn network_available(&self, now: Timestamp) -> Result<Outputs, StepwellError> {
        self.handle(Input::NetworkAvailable, now)
    }

    /// The app goes away: the outputs stop what it has begun, and give back what the user typed. The turn does not end
    /// by it: it can go on elsewhere, by `revive` from the `snapshot`. Each later input is a `Misuse`.
    pub fn dispose(&self, now: Timestamp) -> Result<Outputs, StepwellError> {
        self.handle(Input::Dispose, now)
    }

    /// Time has passed: what is due is done.
    pub fn timeout(&self, now: Timestamp) -> Result<Outputs, StepwellError> {
        self.handle(Input::Timeout, now)
    }
}
