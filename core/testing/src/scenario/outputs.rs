//! The outputs of an input, in the form that every language writes: effects in full, events in a line each.

use serde_json::{Map, Value, json};
use std::fmt::Debug;
use stepwell_core::CallKey;
use stepwell_core::event::Event;
use stepwell_core::run::{
    Effect, EffectId, Failure, HookSubject, Outcome, Output, RunEvent, TurnLimit, UserAnswer,
};
use stepwell_core::tool::ToolResult;

/// An event: its kind, its growing text, and its other content.
struct Line {
    kind: String,
    /// Pieces of one thing that follow each other are one, however the bytes were cut.
    grows: Option<String>,
    detail: String,
}

/// The outputs of one input.
#[derive(Default)]
pub(super) struct Collected {
    events: Vec<Line>,
    effects: Vec<Value>,
}

impl Collected {
    pub(super) fn take(&mut self, output: Output) {
        match output {
            Output::Effect(id, effect) => self.effects.push(effect_value(id, effect)),
            Output::Moved(_) => {}
            Output::Event(event) => {
                let line = line(event);
                match self.events.last_mut() {
                    Some(last)
                        if line.grows.is_some()
                            && last.kind == line.kind
                            && last.grows == line.grows =>
                    {
                        last.detail.push_str(&line.detail);
                    }
                    _ => self.events.push(line),
                }
            }
        }
    }

    pub(super) fn put_into(self, gives: &mut Map<String, Value>) {
        if !self.effects.is_empty() {
            gives.insert("effects".to_owned(), self.effects.into());
        }
        let text = |line: Line| match line.detail.as_str() {
            "" => Value::from(line.kind),
            detail => Value::from(format!("{}: {detail}", line.kind)),
        };
        if !self.events.is_empty() {
            let events: Vec<_> = self.events.into_iter().map(text).collect();
            gives.insert("events".to_owned(), events.into());
        }
    }
}

fn key(call: CallKey) -> String {
    format!("{}:{}", call.hop, call.index)
}

/// The name of an enum's variant: `MaxToolRounds { max: 1 }` is `max_tool_rounds`.
pub(super) fn name(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    let end = text
        .find(|letter: char| !letter.is_alphanumeric())
        .unwrap_or(text.len());
    let mut name = String::new();
    for letter in text[..end].chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

/// Formats a turn's outcome as a line.
pub(super) fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Incomplete { reason } => format!("incomplete {}: {reason}", reason.name()),
        Outcome::LimitReached { limit } => {
            format!("limit_reached {}: {limit}", limit_name(limit))
        }
        Outcome::Failed { failure } => format!("failed {}: {failure}", failure_name(failure)),
        other => name(other),
    }
}

fn limit_name(limit: &TurnLimit) -> String {
    name(limit)
}

fn failure_name(failure: &Failure) -> String {
    name(failure)
}

fn line(event: RunEvent) -> Line {
    let plain = |kind: &str, detail: String| Line {
        kind: kind.to_owned(),
        grows: None,
        detail,
    };
    match event {
        RunEvent::AgUi(event) => ag_ui(event),
        RunEvent::Started { .. } => plain("started", String::new()),
        RunEvent::HopStarted { hop, run_id } => plain("hop_started", format!("{hop} {run_id}")),
        RunEvent::ToolCallUpdate(update) => {
            let what = match update.result {
                Some(Err(failure)) => format!(" ({}): {}", name(&failure.kind), failure.message),
                Some(Ok(output)) => format!(": {}", output.content.to_text()),
                None => String::new(),
            };
            let status = name(&update.status);
            plain(
                "tool_call_update",
                format!("{} {status}{what}", key(update.call)),
            )
        }
        RunEvent::PartialArguments(update) => Line {
            kind: "partial_arguments".to_owned(),
            grows: Some(update.tool_call_id.into_string()),
            detail: String::new(),
        },
        RunEvent::Retrying {
            kind,
            attempt,
            delay_ms,
            reason,
        } => plain(
            "retrying",
            format!("{attempt} in {delay_ms} ms, {}: {reason}", name(&kind)),
        ),
        RunEvent::Interrupted { interrupts } => {
            let ids: Vec<_> = interrupts.into_iter().map(|asked| asked.id).collect();
            plain("interrupted", ids.join(" "))
        }
        RunEvent::Pending { pending } => {
            let ids: Vec<_> = pending.into_iter().map(|pending| pending.id).collect();
            plain("pending", ids.join(" "))
        }
        RunEvent::AnswerDropped { effect } => plain("answer_dropped", effect.to_string()),
        RunEvent::Warning { message } => plain("warning", message),
        RunEvent::Completed(ended) => plain("completed", outcome(&ended)),
        RunEvent::UnknownToolCall { tool_call_id } => {
            plain("unknown_tool_call", tool_call_id.into_string())
        }
        RunEvent::SteeringTaken { message_id, hop } => {
            plain("steering_taken", format!("{message_id} {hop}"))
        }
        RunEvent::SteeringRefused { reason, .. } => plain("steering_refused", name(&reason)),
        RunEvent::WaitingForNetwork { up_to_ms } => {
            plain("waiting_for_network", up_to_ms.to_string())
        }
        RunEvent::StreamResumed { hop, attempt } => {
            plain("stream_resumed", format!("{hop}:{attempt}"))
        }
        RunEvent::ContextNearlyFull { tokens, window } => {
            plain("context_nearly_full", format!("{tokens} of {window}"))
        }
        RunEvent::ToolProgress(progress) => {
            let percent = progress
                .fraction
                .map(|fraction| format!(" {} %", (fraction * 100.0).round()));
            let message = progress.message.map(|message| format!(" {message}"));
            let detail = key(progress.call) + &percent.unwrap_or_default();
            plain("tool_progress", detail + &message.unwrap_or_default())
        }
        RunEvent::ToolPartialResult(partial) => plain(
            "tool_partial_result",
            format!("{} {}", key(partial.call), partial.output.content.to_text()),
        ),
        RunEvent::HookRefused {
            hook,
            moment,
            reason,
            ..
        } => plain("hook_refused", format!("{hook} {moment}, {reason}")),
        RunEvent::ContextTrimmed {
            left_out, tokens, ..
        } => {
            let ids: Vec<_> = left_out.iter().map(|id| id.as_str()).collect();
            plain(
                "context_trimmed",
                format!("{tokens}, without {}", ids.join(" ")),
            )
        }
        RunEvent::PartialOutput(update) => Line {
            kind: "partial_output".to_owned(),
            grows: Some(update.hop.to_string()),
            detail: String::new(),
        },
        RunEvent::OutputRefused {
            reason,
            retries_left,
            ..
        } => plain("output_refused", format!("{retries_left}, {reason}")),
        RunEvent::ModelChanged {
            model,
            previous,
            after,
            ..
        } => {
            let kind = after.map(|kind| format!(" after {}", name(&kind)));
            plain(
                "model_changed",
                format!(
                    "{} to {}{}",
                    previous.model,
                    model.model,
                    kind.unwrap_or_default()
                ),
            )
        }
        // An event of a later core.
        other => plain(&name(&other), String::new()),
    }
}

fn ag_ui(event: Event) -> Line {
    let kind = event.kind().to_lowercase();
    let (grows, detail) = match event {
        Event::TextMessageContent(piece) => (Some(piece.message_id.into_string()), piece.delta),
        Event::ReasoningMessageContent(piece) => {
            (Some(piece.message_id.into_string()), piece.delta)
        }
        Event::ToolCallArgs(piece) => (Some(piece.tool_call_id.into_string()), piece.delta),
        Event::ToolCallStart(start) => (None, start.tool_call_name),
        Event::ToolCallResult(result) => (None, result.content.to_text()),
        Event::StepStarted(step) => (None, step.step_name),
        Event::StepFinished(step) => (None, step.step_name),
        Event::Custom(custom) => (None, custom.name),
        _ => (None, String::new()),
    };
    Line {
        kind,
        grows,
        detail,
    }
}

fn effect_value(id: EffectId, effect: Effect) -> Value {
    let effect_name = name(&effect);
    let mut value = json!({ "id": id.to_string(), "effect": effect_name });
    let fields = match effect {
        Effect::CreateRun {
            thread_id,
            parent_run_id,
        } => json!({ "thread_id": thread_id, "parent_run_id": parent_run_id }),
        Effect::OpenStream { request } | Effect::CancelAnswer { request } => {
            let headers: Map<_, _> = request
                .headers
                .into_iter()
                .map(|(name, value)| (name, Value::from(value)))
                .collect();
            // A request about a stored answer has none.
            let body: Option<Value> = match request.body.as_slice() {
                [] => None,
                body => Some(serde_json::from_slice(body).expect("JSON")),
            };
            json!({ "method": request.method, "url": request.url, "headers": headers, "body": body })
        }
        Effect::AskApproval { invocation } | Effect::RunTool { invocation } => json!({
            "tool_call_id": invocation.tool_call_id,
            "name": invocation.name,
            "arguments": invocation.arguments.value,
            "raw_arguments": invocation.arguments.raw,
            "attempt": (invocation.attempt > 1).then_some(invocation.attempt),
        }),
        Effect::AskUser {
            invocation,
            question,
        } => json!({
            "tool_call_id": invocation.tool_call_id,
            "message": question.message,
            "schema": question.schema,
        }),
        Effect::AnswerTool { answer } => match answer {
            UserAnswer::Given { value } => json!({ "value": value }),
            UserAnswer::Declined { reason } => json!({ "reason": reason }),
        },
        Effect::Persist {
            turn,
            status,
            outcome: ended,
            blocks,
            checkpoint: _,
        } => json!({
            "turn": turn,
            "status": name(&status),
            "outcome": ended.as_ref().map(outcome),
            "blocks": blocks,
        }),
        Effect::TrimContext { overflow } => {
            let messages: Vec<_> = overflow
                .messages
                .iter()
                .map(|message| json!({ "message_id": message.id, "tokens": message.tokens }))
                .collect();
            json!({ "tokens": overflow.tokens, "window": overflow.window, "messages": messages })
        }
        Effect::ChooseModel { context } => json!({ "context": context }),
        Effect::DecodeOutput { value } => json!({ "value": value }),
        Effect::Authorize { rejected } => json!({ "rejected": rejected }),
        Effect::RunHook { hook, subject } => {
            let mut fields = match *subject {
                HookSubject::Request(request) => json!({
                    "instructions": request.instructions,
                    "messages": request.messages,
                }),
                HookSubject::Answer(answer) => json!({ "text": answer.text }),
                HookSubject::Call(call) => json!({
                    "name": call.name,
                    "arguments": call.arguments.value,
                }),
                HookSubject::Result(result) => json!({
                    "name": result.invocation.name,
                    "content": result.content,
                    "is_error": result.is_error,
                }),
                _ => json!({}),
            };
            fields["hook"] = hook.into();
            fields
        }
        // Outputs without content, and those of a later core.
        _ => json!({}),
    };
    for (name, field) in fields.as_object().into_iter().flatten() {
        if !field.is_null() {
            value[name.as_str()] = field.clone();
        }
    }
    value
}

/// Builds a tool's result from a scenario's text.
pub(super) fn result(content: &str) -> ToolResult {
    Ok(content.to_owned().into())
}
