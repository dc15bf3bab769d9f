//! An input as a step of a scenario.

use serde_json::{Map, Value, json};
use stepwell_core::event::{Message, MessageContent};
use stepwell_core::run::{
    Decision, EffectId, HookAnswer, Input, Refusal, Start, TurnOptions, UserAnswer,
};
use stepwell_core::tool::{ToolFailureKind, ToolOutput};

/// Returns the step that gives a run this input; `None` if the form of scenarios has no such input.
#[must_use]
pub fn step(input: &Input<'_>) -> Option<Value> {
    let of = |name: &str, effect: &EffectId| Step::new(name).with("effect", effect.to_string());
    let step = match input {
        Input::Start(start) => start_step(start)?,
        Input::RunCreated { effect, run_id } => {
            of("run_created", effect).with("run_id", run_id.to_string())
        }
        Input::RunNotCreated { effect, message } => {
            of("run_not_created", effect).with("message", message.as_str())
        }
        Input::Opened {
            effect,
            content_type,
        } => of("opened", effect).maybe("content_type", content_type.as_deref()),
        Input::Refused { effect, refusal } => refusal_step(of("refused", effect), refusal)?,
        Input::ConnectionFailed { effect, message } => {
            of("connection_failed", effect).with("message", message.as_str())
        }
        Input::Received { effect, bytes } => {
            of("receive", effect).with("text", std::str::from_utf8(bytes).ok()?)
        }
        Input::Ended { effect } => of("ended", effect),
        Input::Lost { effect, message } => of("lost", effect).with("message", message.as_str()),
        Input::ToolFinished { effect, result } => match result {
            Ok(output) => of("tool_finished", effect).with("content", text_of(output)?),
            Err(failure) if failure.kind == ToolFailureKind::Error => {
                of("tool_failed", effect).with("message", failure.message.as_str())
            }
            Err(_) => return None,
        },
        Input::ToolDeferred { effect } => of("tool_deferred", effect),
        Input::ToolProgress {
            effect,
            fraction,
            message,
        } => of("tool_progress", effect)
            .maybe("fraction", *fraction)
            .maybe("message", message.as_deref()),
        Input::ToolPartialResult { effect, output } => {
            of("tool_partial_result", effect).with("content", text_of(output)?)
        }
        Input::ToolAsks {
            effect,
            number,
            question,
        } => of("tool_asks", effect)
            .with("number", *number)
            .with("message", question.message.as_str())
            .with("schema", question.schema.clone()),
        Input::UserAnswered { effect, answer } => match answer {
            UserAnswer::Given { value } => of("answer", effect).with("value", value.clone()),
            UserAnswer::Declined { reason } => {
                of("decline", effect).maybe("reason", reason.as_deref())
            }
            _ => return None,
        },
        Input::Decided { effect, decision } => match decision {
            Decision::Granted => of("approve", effect),
            Decision::Edited { arguments } => {
                let arguments: Value = serde_json::from_str(arguments).ok()?;
                of("approve", effect).with("arguments", arguments)
            }
            Decision::Denied { reason } => of("deny", effect).maybe("reason", reason.as_deref()),
            _ => return None,
        },
        Input::Persisted { effect } => of("persisted", effect),
        Input::PersistFailed { effect, message } => {
            of("persist_failed", effect).with("message", message.as_str())
        }
        Input::ContextTrimmed {
            effect,
            keep,
            summary,
        } => of("context_trimmed", effect)
            .with("keep", json!(keep))
            .maybe("summary", summary.as_deref()),
        Input::ContextNotTrimmed { effect, message } => {
            of("context_not_trimmed", effect).with("message", message.as_str())
        }
        Input::ModelResting { model, until } => Step::new("model_resting")
            .with("model", *model)
            .with("until_ms", until.0),
        Input::ModelChosen { effect, model } => of("model_chosen", effect).with("model", *model),
        Input::ModelNotChosen { effect, message } => {
            of("model_not_chosen", effect).with("message", message.as_str())
        }
        Input::OutputDecoded { effect } => of("output_decoded", effect),
        Input::OutputRefused { effect, reason } => {
            of("output_refused", effect).with("reason", reason.as_str())
        }
        Input::Authorized {
            effect,
            authorization,
        } => {
            let headers: Map<_, _> = authorization
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), value.as_str().into()))
                .collect();
            of("authorized", effect)
                .maybe(
                    "key",
                    authorization
                        .key
                        .as_ref()
                        .map(|key| key.expose().to_owned()),
                )
                .with("headers", headers)
        }
        Input::NotAuthorized { effect, message } => {
            of("not_authorized", effect).with("message", message.as_str())
        }
        Input::HookAnswered { effect, answer } => hook_step(of("hook_answered", effect), answer)?,
        Input::Resume(answers) => Step::new("resume").with("answers", json!(answers)),
        Input::Cancel => Step::new("cancel"),
        Input::CancelCall { call } => {
            Step::new("cancel_call").with("call", format!("{}:{}", call.hop, call.index))
        }
        Input::Steer(message) => {
            let Message::User(user) = &**message else {
                return None;
            };
            Step::new("steer")
                .with("message_id", user.id.to_string())
                .with("say", user.content.to_text())
        }
        Input::EnteredBackground => Step::new("entered_background"),
        Input::EnteredForeground => Step::new("entered_foreground"),
        Input::NetworkLost => Step::new("network_lost"),
        Input::NetworkAvailable => Step::new("network_available"),
        Input::Dispose => Step::new("dispose"),
        Input::Timeout => Step::new("timeout"),
        _ => return None,
    };
    Some(Value::Object(step.0))
}

/// A step that is being written.
struct Step(Map<String, Value>);

impl Step {
    fn new(input: &str) -> Self {
        Self(Map::from_iter([("input".to_owned(), input.into())]))
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    fn maybe(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

fn text_of(output: &ToolOutput) -> Option<String> {
    match &output.content {
        MessageContent::Text(text) => Some(text.clone()),
        MessageContent::Parts(_) => None,
    }
}

fn start_step(start: &Start) -> Option<Step> {
    if start.options != TurnOptions::default() {
        return None;
    }
    let mut step = Step::new("start")
        .with("run_id", start.run_id.to_string())
        .maybe(
            "parent_run_id",
            start.parent_run_id.as_ref().map(ToString::to_string),
        );
    if let Some(message) = &start.message {
        step = step.with("message", serde_json::to_value(message).ok()?);
    }
    if !start.resume.is_empty() {
        step = step.with("answers", json!(start.resume));
    }
    Some(step)
}

fn refusal_step(step: Step, refusal: &Refusal) -> Option<Step> {
    let after = refusal
        .retry_after
        .map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
    Some(
        step.with("status", refusal.status)
            .maybe("retry_after_ms", after)
            .with("body", std::str::from_utf8(&refusal.body).ok()?),
    )
}

fn hook_step(step: Step, answer: &HookAnswer) -> Option<Step> {
    Some(match answer {
        HookAnswer::GoOn => step.with("says", "go_on"),
        HookAnswer::ChangeRequest {
            instructions,
            messages,
        } => step
            .with("says", "change_request")
            .maybe("instructions", instructions.as_deref())
            .maybe(
                "messages",
                messages.as_ref().map(|messages| json!(messages)),
            ),
        HookAnswer::ChangeArguments { arguments } => step
            .with("says", "change_arguments")
            .with("arguments", serde_json::from_str::<Value>(arguments).ok()?),
        HookAnswer::ChangeResult { output } => step
            .with("says", "change_result")
            .with("content", text_of(output)?),
        HookAnswer::Refused { reason } => {
            step.with("says", "refused").with("reason", reason.as_str())
        }
        HookAnswer::Failed { message } => step
            .with("says", "failed")
            .with("message", message.as_str()),
        _ => return None,
    })
}
