use super::ids::Ids;
use super::open_calls::OpenCalls;
use super::{History, Rules};
use crate::dialect::HopIds;
use crate::dialect::SentMessage;
use crate::event::{Message, MessageContent, ToolMessage};
use crate::{MessageId, ToolCallId};
use std::collections::BTreeSet;

/// The result for a call that has none.
const NO_RESULT: &str = "There is no result: the call was not carried out to its end.";

/// The consecutive messages of the model, which the formats have as one answer. Results may be among them: in the
/// history a result is right after the message with its call, even if the model continued before it saw the result.
#[derive(Default)]
struct AnswerSpan {
    /// The run of the answer's hop, if its messages name it.
    run: Option<String>,
    /// The index of its last message that is sent: one with text or a call, or the model's reasoning after it.
    last: Option<usize>,
    /// The index of the result of each of its calls, in order.
    results: Vec<Option<usize>>,
    /// Whether results have followed: a message after them belongs to another answer, unless it is of the same hop.
    has_results: bool,
}

/// Gives every call exactly one result, right after the answer that asked for it, and a unique id. Drops the other
/// results, and reasoning without an answer.
pub(super) fn pair(history: &mut History<'_>, rules: &Rules<'_>) {
    let (answers, places) = answers(history, rules);
    let mut ids = Ids::new(rules.call_ids);
    let mut last_answer = None;
    let mut old: Vec<_> = std::mem::take(history).into_iter().map(Some).collect();
    for at in 0..old.len() {
        let Some(mut message) = old[at].take_if(|message| !matches!(**message, Message::Tool(_)))
        else {
            continue;
        };
        let Some(answer) = places[at].map(|place| &answers[place]) else {
            history.push(message);
            continue;
        };
        if answer.last.is_none_or(|last| last < at) {
            // Reasoning without an answer.
            continue;
        }
        if last_answer != places[at] {
            last_answer = places[at];
            ids.begin_answer();
        }
        rename(&mut message, &mut ids);
        let is_last = answer.last == Some(at);
        history.push(message);
        if is_last {
            let asked = asked_before(history, answer.results.len());
            for (result, id) in answer.results.iter().zip(asked) {
                let result = result.and_then(|at| old[at].take());
                history.push(
                    result.map_or_else(|| no_result(&id).into(), |result| answering(result, &id)),
                );
            }
        }
    }
}

/// The ids, as they are now, of the last `count` calls.
fn asked_before(history: &History<'_>, count: usize) -> Vec<ToolCallId> {
    let mut ids: Vec<_> = history
        .iter()
        .rev()
        .filter_map(|message| match &**message {
            Message::Assistant(message) => Some(message.tool_calls.iter().rev()),
            _ => None,
        })
        .flatten()
        .take(count)
        .map(|call| call.id.clone())
        .collect();
    ids.reverse();
    ids
}

/// The answers of a history with the places of their calls' results, and for each message the answer it is part of.
fn answers(history: &History<'_>, rules: &Rules<'_>) -> (Vec<AnswerSpan>, Vec<Option<usize>>) {
    let mut answers: Vec<AnswerSpan> = Vec::new();
    let mut places = vec![None; history.len()];
    let mut open = OpenCalls::default();
    let mut is_open = false;
    for (at, message) in history.iter().enumerate() {
        let is_answer = matches!(**message, Message::Assistant(_) | Message::Reasoning(_));
        if is_answer {
            let run = HopIds::run_of(message.id());
            let goes_on = is_open
                && answers.last().is_some_and(|answer| {
                    !answer.has_results || (run.is_some() && run == answer.run.as_deref())
                });
            if !goes_on {
                answers.push(AnswerSpan::default());
            }
            let place = answers.len().saturating_sub(1);
            places[at] = Some(place);
            let answer = &mut answers[place];
            // The reasoning of an answer that was cut off has no run with an answer.
            let is_late_thought = matches!(**message, Message::Reasoning(_))
                && rules.takes_late_reasoning
                && answer.last.is_some()
                && run.is_some()
                && run == answer.run.as_deref();
            if is_late_thought {
                answer.last = Some(at);
            }
            if let Message::Assistant(message) = &**message {
                answer.last = Some(at);
                for call in &message.tool_calls {
                    open.ask(&call.id, place, answer.results.len());
                    answer.results.push(None);
                }
                answer.run = run.map(str::to_owned);
            }
        }
        is_open = is_answer || (is_open && matches!(**message, Message::Tool(_)));
        if let (false, true, Some(answer)) = (is_answer, is_open, answers.last_mut()) {
            answer.has_results = true;
        }
        if let Message::Tool(result) = &**message
            && let Some((place, index)) = open.answer(&result.tool_call_id)
        {
            answers[place].results[index] = Some(at);
        }
    }
    (answers, places)
}

/// Gives the message's calls ids that are legal and their own.
fn rename(message: &mut SentMessage<'_>, ids: &mut Ids) {
    let new: Vec<_> = match &**message {
        Message::Assistant(said) => said.tool_calls.iter().map(|call| ids.take(call)).collect(),
        _ => return,
    };
    if new.iter().all(Option::is_none) {
        return;
    }
    if let Message::Assistant(said) = message.to_mut() {
        for (call, new) in said.tool_calls.iter_mut().zip(new) {
            if let Some(new) = new {
                call.id = new;
            }
        }
    }
}

/// The result with the id that its call has now.
fn answering<'a>(mut result: SentMessage<'a>, id: &ToolCallId) -> SentMessage<'a> {
    let differs = matches!(&*result, Message::Tool(result) if result.tool_call_id != *id);
    if differs && let Message::Tool(result) = result.to_mut() {
        result.tool_call_id = id.clone();
    }
    result
}

fn no_result(call: &ToolCallId) -> Message {
    Message::Tool(ToolMessage {
        id: MessageId::from(format!("{call}-no-result")),
        tool_call_id: call.clone(),
        content: MessageContent::Text(NO_RESULT.to_owned()),
        error: Some(NO_RESULT.to_owned()),
        ..ToolMessage::default()
    })
}

/// Gives every call without a result one, after the message that asked and the results that follow it. All else is
/// unchanged.
pub(super) fn answer_all(history: &mut History<'_>) {
    let mut answered: BTreeSet<ToolCallId> = BTreeSet::new();
    // From the end, and so the other way round.
    let mut whole: History<'_> = Vec::with_capacity(history.len());
    let mut results: History<'_> = Vec::new();
    for message in std::mem::take(history).into_iter().rev() {
        if let Message::Tool(result) = &*message {
            answered.insert(result.tool_call_id.clone());
            results.push(message);
            continue;
        }
        if let Message::Assistant(said) = &*message {
            let calls = said.tool_calls.iter().map(|call| &call.id);
            let open = calls.filter(|id| answered.insert((*id).clone()));
            let open: Vec<_> = open.map(no_result).map(SentMessage::from).collect();
            whole.extend(open.into_iter().rev());
        }
        whole.append(&mut results);
        whole.push(message);
    }
    whole.append(&mut results);
    whole.reverse();
    *history = whole;
}
