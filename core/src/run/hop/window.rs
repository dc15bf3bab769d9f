//! The model's context window: what happens before a request that nearly fills it, or does not fit.

use super::ask::ask_model;
use super::trim;
use crate::dialect::{Dialect, SentMessage};
use crate::event::Message;
use crate::run::parts::{Counted, RequestSize};
use crate::run::protocol::{
    CompactionWay, ContextMessage, ContextOverflow, ContextPolicy, EffectId, Failure, RunEvent,
    SummaryPolicy,
};
use crate::run::turn::Turn;
use crate::transcript::{Compaction, is_sent, token_estimate};
use crate::{MessageId, provider};
use std::sync::Arc;

/// Returns the provider's count from the hop before, or from the last one of the turn before.
pub(super) fn counted(turn: &Turn) -> Option<Counted> {
    // What OpenAI counts may be the conversation before it compacted it.
    if turn.config().endpoint.dialect == Dialect::OpenAiResponses && is_just_compacted(turn) {
        return None;
    }
    // An agent asks models of its own, any number of them.
    let [usage] = turn.transcript().summary().usage.as_slice() else {
        return None;
    };
    let tokens = turn.config().endpoint.dialect.context_tokens(usage)?;
    let mut messages = turn.transcript().messages().iter();
    let since = turn
        .hop_start()
        .or_else(|| Some(messages.rposition(is_of_the_model)? + 1));
    Some(Counted {
        tokens,
        since: since.unwrap_or(0),
    })
}

/// Returns whether the provider has compacted the conversation in its last answer.
fn is_just_compacted(turn: &Turn) -> bool {
    let by_provider = turn.transcript().compaction().by_provider.as_ref();
    let Some(id) = by_provider else {
        return false;
    };
    let messages = turn.transcript().messages().iter().rev();
    let mut answer = messages
        .skip_while(|message| !is_of_the_model(message))
        .take_while(|message| is_of_the_model(message));
    answer.any(|message| message.id() == id)
}

/// Asks the model, if the conversation fits its context. Compacts the conversation before that, or asks the host or a model
/// for what that takes, if the app wants it.
///
/// # Errors
/// The request does not fit.
pub(super) fn guard(turn: &mut Turn, counted: Option<Counted>) -> Result<(), Failure> {
    turn.window_mut().begin_request();
    if room(turn).is_none() {
        ask_model(turn);
        return Ok(());
    }
    let tokens = match counted {
        Some(counted) => {
            let since = turn.transcript().messages().get(counted.since..);
            let since = since.unwrap_or_default().iter();
            let since = since.filter(|message| !is_of_the_model(message));
            let since: u64 = since.map(token_estimate::of_message).sum();
            counted.tokens.saturating_add(since)
        }
        None => guessed(turn),
    };
    let is_guess = counted.is_none();
    compact(turn, RequestSize { tokens, is_guess })
}

/// Uses the ways to compact the conversation that are left, as far as it takes any, and then asks the model.
fn compact(turn: &mut Turn, size: RequestSize) -> Result<(), Failure> {
    let Some(room) = room(turn) else {
        ask_model(turn);
        return Ok(());
    };
    let mut size = size;
    if turn.is_compacted() {
        let config = Arc::clone(turn.config());
        let policy = &config.compaction;
        while size.tokens as f64 > room as f64 * policy.at {
            match policy.ways.get(turn.window_mut().next_way()) {
                Some(CompactionWay::DropResults { keep }) => {
                    size = drop_results(turn, *keep, size);
                }
                Some(CompactionWay::Summary(policy)) => {
                    if ask_for_summary(turn, policy, size, room) {
                        return Ok(());
                    }
                }
                Some(CompactionWay::Host) => {
                    ask_host(turn, size, false);
                    return Ok(());
                }
                // The provider compacts the conversation with the request, if it takes that request.
                Some(CompactionWay::Provider)
                    if compact_above(turn).is_some() && size.tokens <= room =>
                {
                    break;
                }
                Some(CompactionWay::Provider) => {}
                None => break,
            }
        }
    }
    ask_if_it_fits(turn, size, room)
}

/// Asks the model, if the request fits.
fn ask_if_it_fits(turn: &mut Turn, size: RequestSize, room: u64) -> Result<(), Failure> {
    let guard = turn.config().context_guard;
    let is_sure = !size.is_guess || guard.window.is_some();
    let stops_at = if is_sure {
        room
    } else {
        room.saturating_add(room / 2)
    };
    match guard.at_limit {
        ContextPolicy::Trim if size.tokens > room => ask_host(turn, size, true),
        ContextPolicy::Fail if size.tokens > stops_at => return Err(too_long(turn, size.tokens)),
        _ => {
            warn(turn, size.tokens, room);
            ask_model(turn);
        }
    }
    Ok(())
}

/// Asks the host what to leave out.
fn ask_host(turn: &mut Turn, size: RequestSize, is_last_resort: bool) {
    turn.window_mut().wait(size, is_last_resort);
    let hop = turn.hop();
    turn.emit(EffectId::Trim { hop });
}

/// Returns the overflow that the host is asked to trim.
pub(in crate::run) fn overflow(turn: &Turn) -> ContextOverflow {
    let tokens = turn.window().waiting_tokens();
    overflow_of(turn, tokens)
}

fn overflow_of(turn: &Turn, tokens: u64) -> ContextOverflow {
    let messages = turn.carried_messages();
    let messages = messages.iter().filter(|message| is_sent(message));
    ContextOverflow {
        tokens,
        window: room(turn).unwrap_or(0),
        messages: messages
            .map(|message| ContextMessage {
                id: message.id().clone(),
                tokens: token_estimate::of_message(message),
            })
            .collect(),
    }
}

/// Applies the host's choice of messages to keep, and its summary of the others. The model is asked if the request then
/// fits.
///
/// # Errors
/// The request is still too long.
pub(in crate::run) fn trimmed(
    turn: &mut Turn,
    keep: &[MessageId],
    summary: Option<String>,
) -> Result<(), Failure> {
    let (size, is_last_resort) = turn.window_mut().take_waiting();
    let (left_out, mut compaction) = without_all_but(turn, keep);
    compaction.summary = summary.or(compaction.summary);
    let size = size_with(turn, &compaction, size);
    let Some(room) = room(turn).filter(|room| !is_last_resort || size.tokens <= *room) else {
        return Err(too_long(turn, size.tokens));
    };
    turn.compact(compaction, left_out, Vec::new(), size.tokens);
    if is_last_resort {
        warn(turn, size.tokens, room);
        ask_model(turn);
        return Ok(());
    }
    compact(turn, size)
}

/// The host cannot make the conversation fit.
///
/// # Errors
/// The request does not fit without that.
pub(in crate::run) fn not_trimmed(turn: &mut Turn, message: &str) -> Result<(), Failure> {
    turn.warn(format!("the conversation could not be trimmed: {message}"));
    match turn.window_mut().take_waiting() {
        (size, true) => Err(too_long(turn, size.tokens)),
        (size, false) => compact(turn, size),
    }
}

/// Replaces old results by a marker. Returns the size of the request then.
fn drop_results(turn: &mut Turn, keep: u32, size: RequestSize) -> RequestSize {
    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
    let mut compaction = turn.transcript().compaction().clone();
    if compaction.drop_results(keep, turn.transcript().messages()) == 0 {
        return size;
    }
    let size = size_with(turn, &compaction, size);
    turn.compact(compaction, Vec::new(), Vec::new(), size.tokens);
    size
}

/// Asks a model for a summary of the older messages. Returns whether there are any.
fn ask_for_summary(turn: &mut Turn, policy: &SummaryPolicy, size: RequestSize, room: u64) -> bool {
    if !turn.window().takes_summaries() || turn.config().check_compaction().is_err() {
        return false;
    }
    let overflow = overflow_of(turn, size.tokens.max(room));
    let (left_out, compaction) = without_all_but(turn, &overflow.newest(policy.keep));
    if left_out.is_empty() {
        return false;
    }
    turn.window_mut().wait(size, false);
    turn.begin_summary(compaction);
    true
}

/// Continues with the summary, or without one if there is none. `attempt` is that of the last request for it.
///
/// # Errors
/// The request does not fit.
pub(in crate::run) fn summarized(turn: &mut Turn, attempt: u32) -> Result<(), Failure> {
    let (summary, usage) = turn.take_summary(attempt);
    let (size, _) = turn.window_mut().take_waiting();
    let Some(compaction) = summary else {
        turn.window_mut().give_summaries_up();
        turn.record_summary_usage(usage);
        return compact(turn, size);
    };
    let before = turn.transcript().compaction();
    let left_out = compaction.newly_left_out(before, turn.transcript().messages());
    let left_out = left_out.iter().map(|message| message.id().clone());
    let left_out = left_out.collect();
    let size = size_with(turn, &compaction, size);
    turn.compact(compaction, left_out, usage, size.tokens);
    compact(turn, size)
}

/// Returns what is left out if these messages are kept, with those that belong to them, and the compaction that leaves it
/// out.
fn without_all_but(turn: &Turn, keep: &[MessageId]) -> (Vec<MessageId>, Compaction) {
    let messages = turn.carried_messages();
    let messages = SentMessage::references(&messages).into_iter();
    let left_out = trim::left_out(messages.filter(|message| is_sent(message)), keep);
    let mut compaction = turn.transcript().compaction().clone();
    compaction.leave_out(&left_out, turn.transcript().messages());
    (left_out, compaction)
}

/// The tokens that a request may take; nothing if the model's window is not known.
fn room(turn: &Turn) -> Option<u64> {
    let config = turn.config();
    let endpoint = &config.endpoint;
    let known = || provider::context_window(&endpoint.provider, &endpoint.model);
    let window = config.context_guard.window;
    let window = window.or_else(|| known().map(|known| known.window))?;
    let answer = u64::from(config.settings.max_output_tokens.unwrap_or(0));
    // An app that wants more for the answer than there is has made a mistake that the provider will name.
    Some(if answer < window {
        window - answer
    } else {
        window
    })
}

/// Returns the number of tokens above which the provider is to compact the conversation itself, if the app wants that and
/// the provider can.
pub(super) fn compact_above(turn: &Turn) -> Option<u64> {
    let config = turn.config();
    if !config.compaction.ways.contains(&CompactionWay::Provider) {
        return None;
    }
    let least = config.endpoint.dialect.compacts_from()?;
    let above = room(turn)? as f64 * config.compaction.at;
    Some((above as u64).max(least))
}

/// Returns the size of a request with this compaction, if `size` is that with the present one.
fn size_with(turn: &Turn, compaction: &Compaction, size: RequestSize) -> RequestSize {
    let after = guessed_with(turn, compaction);
    // No estimate knows the size of what only a provider can read.
    if compaction.by_provider != turn.transcript().compaction().by_provider {
        return RequestSize {
            tokens: after,
            is_guess: true,
        };
    }
    size.scaled(guessed(turn), after)
}

fn guessed(turn: &Turn) -> u64 {
    guessed_with(turn, turn.transcript().compaction())
}

/// Returns an estimate of the tokens of a request with this compaction.
fn guessed_with(turn: &Turn, compaction: &Compaction) -> u64 {
    let config = turn.config();
    let messages = compaction.apply(turn.transcript().messages(), &config.endpoint);
    let messages = messages.iter().map(|message| {
        let is_compacted = Some(message.id()) == compaction.by_provider.as_ref();
        let sealed = is_compacted.then(|| token_estimate::of_sealed(message));
        token_estimate::of_message(message).saturating_add(sealed.unwrap_or(0))
    });
    let messages: u64 = messages.sum();
    let tools: u64 = if turn.sums_up() {
        0
    } else {
        let tools = config.tools.definitions().iter();
        tools.map(token_estimate::of_tool).sum()
    };
    let instructions = turn.window().instructions(config.instructions.as_deref());
    let instructions = instructions.as_deref().map_or(0, token_estimate::of_text);
    messages.saturating_add(tools).saturating_add(instructions)
}

fn warn(turn: &mut Turn, tokens: u64, room: u64) {
    let Some(part) = turn.config().context_guard.warn_at else {
        return;
    };
    if (tokens as f64) < room as f64 * part {
        return;
    }
    if turn.window_mut().warn() {
        turn.event(RunEvent::ContextNearlyFull {
            tokens,
            window: room,
        });
    }
}

fn too_long(turn: &Turn, tokens: u64) -> Failure {
    Failure::ContextTooLong {
        tokens,
        window: room(turn).unwrap_or(0),
    }
}

fn is_of_the_model(message: &Message) -> bool {
    matches!(message, Message::Assistant(_) | Message::Reasoning(_))
}
