//! What the app tells a run: each input of the core is one method.

use crate::error::Thrown;
use crate::machine::RunMachine;
use crate::{
    AnswersValue, CallKeyValue, ContentValue, FailureKindValue, HeadersValue, HookAnswerValue,
    JsonValue, MessageValue, MessagesValue, OutputsValue, QuestionValue, StartValue, from_js,
};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;
use stepwell_core::event::Message;
use stepwell_core::run::{Authorization, Decision, EffectId, Input, Refusal, UserAnswer};
use stepwell_core::tool::{ToolFailure, ToolFailureKind, ToolOutput};
use stepwell_json::{HookAnswer, Start};
use wasm_bindgen::prelude::*;

type Given = Result<OutputsValue, JsValue>;

fn id(effect: &str) -> Result<EffectId, Thrown> {
    effect
        .parse()
        .map_err(|error| Thrown::argument("the effect", error))
}

#[wasm_bindgen]
impl RunMachine {
    /// Starts the turn.
    pub fn start(
        &mut self,
        start: &StartValue,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let start: Start = from_js("the start", start)?;
        let start = start.into_core(self.config()?).map_err(Thrown::from)?;
        Ok(self.handle(Input::Start(Box::new(start)), now_ms)?)
    }

    /// The backend created a run.
    #[wasm_bindgen(js_name = runCreated)]
    pub fn run_created(
        &mut self,
        effect: &str,
        #[wasm_bindgen(js_name = runId)] run_id: String,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        let run_id = run_id.into();
        Ok(self.handle(Input::RunCreated { effect, run_id }, now_ms)?)
    }

    /// The backend did not create a run.
    #[wasm_bindgen(js_name = runNotCreated)]
    pub fn run_not_created(
        &mut self,
        effect: &str,
        message: String,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        Ok(self.handle(Input::RunNotCreated { effect, message }, now_ms)?)
    }

    /// The provider answered with a 2xx status: the body follows. `contentType` is the response's header.
    pub fn opened(
        &mut self,
        effect: &str,
        #[wasm_bindgen(js_name = contentType)] content_type: Option<String>,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        let input = Input::Opened {
            effect,
            content_type,
        };
        Ok(self.handle(input, now_ms)?)
    }

    /// The provider answered with any other status. `body` is the beginning of its answer, 64 KiB are plenty;
    /// `retryAfterMs` the wait that its `Retry-After` asks for.
    pub fn refused(
        &mut self,
        effect: &str,
        status: u16,
        body: &[u8],
        #[wasm_bindgen(js_name = retryAfterMs)] retry_after_ms: Option<f64>,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        let refusal = Refusal {
            status,
            retry_after: retry_after_ms.map(|wait| Duration::from_millis(wait.max(0.0) as u64)),
            body: body.to_owned(),
        };
        Ok(self.handle(Input::Refused { effect, refusal }, now_ms)?)
    }

    /// No answer came at all.
    #[wasm_bindgen(js_name = connectionFailed)]
    pub fn connection_failed(
        &mut self,
        effect: &str,
        message: String,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        Ok(self.handle(Input::ConnectionFailed { effect, message }, now_ms)?)
    }

    /// Bytes of the body, as many as the transport gave, cut anywhere.
    pub fn receive(
        &mut self,
        effect: &str,
        bytes: &[u8],
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        let bytes = Cow::Borrowed(bytes);
        Ok(self.handle(Input::Received { effect, bytes }, now_ms)?)
    }

    /// The body ended as it should.
    pub fn ended(
        &mut self,
        effect: &str,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        Ok(self.handle(Input::Ended { effect }, now_ms)?)
    }

    /// The connection broke within the body.
    pub fn lost(
        &mut self,
        effect: &str,
        message: String,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        Ok(self.handle(Input::Lost { effect, message }, now_ms)?)
    }

    /// A tool gave a result: text, JSON as text, or AG-UI content parts.
    #[wasm_bindgen(js_name = toolFinished)]
    pub fn tool_finished(
        &mut self,
        effect: &str,
        content: &ContentValue,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        let content = from_js("the result", content)?;
        let result = Ok(ToolOutput { content });
        Ok(self.handle(Input::ToolFinished { effect, result }, now_ms)?)
    }

    /// A tool failed; the model is shown the message. `kind` is `error` if left out.
    #[wasm_bindgen(js_name = toolFailed)]
    pub fn tool_failed(
        &mut self,
        effect: &str,
        message: String,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
        kind: Option<FailureKindValue>,
    ) -> Given {
        let effect = id(effect)?;
        let kind = match kind.and_then(|kind| kind.as_string()).as_deref() {
            None | Some("error") => ToolFailureKind::Error,
            Some("panicked") => ToolFailureKind::Panicked,
            Some("timedOut") => ToolFailureKind::TimedOut,
            Some(other) => {
                let reason = format!("`{other}` is not one that a tool can give");
                return Err(Thrown::argument("the kind", reason).into());
            }
        };
        let result = Err(ToolFailure::new(kind, message));
        Ok(self.handle(Input::ToolFinished { effect, result }, now_ms)?)
    }

    /// The tool has begun something whose result comes later, in minutes or days, with `toolFinished` or `toolFailed`.
    #[wasm_bindgen(js_name = toolDeferred)]
    pub fn tool_deferred(
        &mut self,
        effect: &str,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        Ok(self.handle(Input::ToolDeferred { effect }, now_ms)?)
    }

    /// A running tool says how far it has come, from 0 to 1 if that is known, and what it does now.
    #[wasm_bindgen(js_name = toolProgress)]
    pub fn tool_progress(
        &mut self,
        effect: &str,
        fraction: Option<f64>,
        message: Option<String>,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let input = Input::ToolProgress {
            effect: id(effect)?,
            fraction,
            message,
        };
        Ok(self.handle(input, now_ms)?)
    }

    /// A running tool shows what it has so far, in the place of what it showed before: text, or an array of content parts;
    /// 256 KiB at most.
    #[wasm_bindgen(js_name = toolPartialResult)]
    pub fn tool_partial_result(
        &mut self,
        effect: &str,
        content: &ContentValue,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        let content = from_js("the result", content)?;
        let output = ToolOutput { content };
        Ok(self.handle(Input::ToolPartialResult { effect, output }, now_ms)?)
    }

    /// A running tool asks the user. The effects `askUser` and then `answerTool` have the id `ask:HOP:INDEX:NUMBER`, with
    /// the question's `number` among those of the call, counted from 0 each time that the tool is run. A tool that is run
    /// again after a crash and asks the same at the same place is given the answer of before.
    #[wasm_bindgen(js_name = toolAsks)]
    pub fn tool_asks(
        &mut self,
        effect: &str,
        number: u32,
        question: &QuestionValue,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let input = Input::ToolAsks {
            effect: id(effect)?,
            number,
            question: from_js("the question", question)?,
        };
        Ok(self.handle(input, now_ms)?)
    }

    /// The user answered a tool's question. An answer that does not fit its schema throws, and it is still asked.
    pub fn answer(
        &mut self,
        effect: &str,
        value: &JsonValue,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        let value = from_js("the answer", value)?;
        let answer = UserAnswer::Given { value };
        Ok(self.handle(Input::UserAnswered { effect, answer }, now_ms)?)
    }

    /// The user does not answer a tool's question. The reason is for the tool.
    pub fn decline(
        &mut self,
        effect: &str,
        reason: Option<String>,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        let answer = UserAnswer::Declined { reason };
        Ok(self.handle(Input::UserAnswered { effect, answer }, now_ms)?)
    }

    /// The user allows the call. With `edited` it is run with these arguments in the place of the model's, and the
    /// model is told; if they do not fit the tool, that throws, and the call is still asking.
    pub fn approve(
        &mut self,
        effect: &str,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
        edited: Option<JsonValue>,
    ) -> Given {
        let effect = id(effect)?;
        let decision = match edited {
            None => Decision::Granted,
            Some(edited) => {
                let arguments: serde_json::Value = from_js("the arguments", &edited)?;
                let arguments = arguments.to_string();
                Decision::Edited { arguments }
            }
        };
        Ok(self.handle(Input::Decided { effect, decision }, now_ms)?)
    }

    /// The user does not allow the call. The reason is for the model to read.
    pub fn deny(
        &mut self,
        effect: &str,
        reason: Option<String>,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        let decision = Decision::Denied { reason };
        Ok(self.handle(Input::Decided { effect, decision }, now_ms)?)
    }

    /// The conversation is to go on with the messages of these ids; what belongs to them is kept with them. The model
    /// is told `summary` in the place of the others. The history stays whole.
    #[wasm_bindgen(js_name = contextTrimmed)]
    pub fn context_trimmed(
        &mut self,
        effect: &str,
        keep: Vec<String>,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
        summary: Option<String>,
    ) -> Given {
        let input = Input::ContextTrimmed {
            effect: id(effect)?,
            keep: keep.into_iter().map(Into::into).collect(),
            summary,
        };
        Ok(self.handle(input, now_ms)?)
    }

    /// There is no way to shorten the conversation: the turn fails.
    #[wasm_bindgen(js_name = contextNotTrimmed)]
    pub fn context_not_trimmed(
        &mut self,
        effect: &str,
        message: String,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        Ok(self.handle(Input::ContextNotTrimmed { effect, message }, now_ms)?)
    }

    /// The app has decoded the typed answer: it counts.
    #[wasm_bindgen(js_name = outputDecoded)]
    pub fn output_decoded(
        &mut self,
        effect: &str,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        Ok(self.handle(Input::OutputDecoded { effect }, now_ms)?)
    }

    /// The app cannot decode the typed answer. The reason is for the model to read, which is asked again if it may be.
    #[wasm_bindgen(js_name = outputRefused)]
    pub fn output_refused(
        &mut self,
        effect: &str,
        reason: String,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        Ok(self.handle(Input::OutputRefused { effect, reason }, now_ms)?)
    }

    /// The key of the next request, and headers to send besides. Neither is stored.
    pub fn authorized(
        &mut self,
        effect: &str,
        key: Option<String>,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
        headers: Option<HeadersValue>,
    ) -> Given {
        let headers = headers.map(|headers| from_js("the headers", &headers));
        let headers: BTreeMap<String, String> = headers.transpose()?.unwrap_or_default();
        let input = Input::Authorized {
            effect: id(effect)?,
            authorization: Authorization {
                key: key.map(Into::into),
                headers: headers.into_iter().collect(),
            },
        };
        Ok(self.handle(input, now_ms)?)
    }

    /// There are no credentials for the next request: the turn fails.
    #[wasm_bindgen(js_name = notAuthorized)]
    pub fn not_authorized(
        &mut self,
        effect: &str,
        message: String,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        Ok(self.handle(Input::NotAuthorized { effect, message }, now_ms)?)
    }

    /// A hook has looked. An answer that changes something else than it was asked about is none to the effect.
    #[wasm_bindgen(js_name = hookAnswered)]
    pub fn hook_answered(
        &mut self,
        effect: &str,
        answer: &HookAnswerValue,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let answer: HookAnswer = from_js("the hook's answer", answer)?;
        let (effect, answer) = (id(effect)?, answer.into());
        Ok(self.handle(Input::HookAnswered { effect, answer }, now_ms)?)
    }

    /// Blocks are stored.
    pub fn persisted(
        &mut self,
        effect: &str,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        Ok(self.handle(Input::Persisted { effect }, now_ms)?)
    }

    /// Blocks could not be stored.
    #[wasm_bindgen(js_name = persistFailed)]
    pub fn persist_failed(
        &mut self,
        effect: &str,
        message: String,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let effect = id(effect)?;
        Ok(self.handle(Input::PersistFailed { effect, message }, now_ms)?)
    }

    /// The user answered the agent's questions, all of them.
    pub fn resume(
        &mut self,
        answers: &AnswersValue,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let answers = from_js("the answers", answers)?;
        Ok(self.handle(Input::Resume(answers), now_ms)?)
    }

    /// The user stops the turn. What is over stays as it is.
    pub fn cancel(&mut self, #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>) -> Given {
        Ok(self.handle(Input::Cancel, now_ms)?)
    }

    /// The user stops one call. The others go on, and the model is told.
    #[wasm_bindgen(js_name = cancelCall)]
    pub fn cancel_call(
        &mut self,
        call: &CallKeyValue,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let call = from_js("the call", call)?;
        Ok(self.handle(Input::CancelCall { call }, now_ms)?)
    }

    /// The user types during the turn: an AG-UI message of the role `user`. It waits until the next hop begins, and is
    /// answered in this turn; if it cannot be, the event `steeringRefused` gives it back.
    pub fn steer(
        &mut self,
        message: &MessageValue,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let message: Message = from_js("the message", message)?;
        Ok(self.handle(Input::Steer(Box::new(message)), now_ms)?)
    }

    /// What the user was shown by a host that died, as AG-UI messages: for a run that was revived, before any other
    /// input. What the run does not know of it stays, marked with `metadata.cut`, and the answer is asked for anew.
    pub fn shown(
        &mut self,
        messages: &MessagesValue,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        let messages: Vec<Message> = from_js("the messages", messages)?;
        Ok(self.handle(Input::Shown(messages), now_ms)?)
    }

    /// The app goes to the background; see `DevicePolicy`. Like the following three, it is taken in every state, and
    /// harmless when repeated.
    #[wasm_bindgen(js_name = enteredBackground)]
    pub fn entered_background(
        &mut self,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        Ok(self.handle(Input::EnteredBackground, now_ms)?)
    }

    /// The app is in the foreground again.
    #[wasm_bindgen(js_name = enteredForeground)]
    pub fn entered_foreground(
        &mut self,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        Ok(self.handle(Input::EnteredForeground, now_ms)?)
    }

    /// The network that the server is reached over is gone.
    #[wasm_bindgen(js_name = networkLost)]
    pub fn network_lost(&mut self, #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>) -> Given {
        Ok(self.handle(Input::NetworkLost, now_ms)?)
    }

    /// There is a network, or another one took the place of the one before.
    #[wasm_bindgen(js_name = networkAvailable)]
    pub fn network_available(
        &mut self,
        #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>,
    ) -> Given {
        Ok(self.handle(Input::NetworkAvailable, now_ms)?)
    }

    /// The page goes away: the outputs stop what it has begun, and give back what the user typed. The turn does not
    /// end by it: it can go on elsewhere, by `revive` from the `snapshot`. Each later input throws.
    pub fn dispose(&mut self, #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>) -> Given {
        Ok(self.handle(Input::Dispose, now_ms)?)
    }

    /// Time has passed: what is due is done.
    pub fn timeout(&mut self, #[wasm_bindgen(js_name = nowMs)] now_ms: Option<f64>) -> Given {
        Ok(self.handle(Input::Timeout, now_ms)?)
    }
}
