//! The model's context window: what happens before a request that nearly fills it, or does not fit.

use super::ask::ask_model;
use super::trim;
use crate::event::{MEDIA_ACTIVITY, Message};
use crate::run::parts::Counted;
use crate::run::protocol::{
    ContextMessage, ContextOverflow, ContextPolicy, EffectId, Failure, RunEvent,
};
use crate::run::turn::Turn;
use crate::transcript::token_estimate;
use crate::{MessageId, provider};

/// Returns the provider's count from the hop before, or from the last one of the turn before.
pub(super) fn counted(turn: &Turn) -> Option<Counted> {
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

/// Asks the model, if the conversation fits its context; or the host, what to leave out.
///
/// # Errors
/// The request does not fit.
pub(super) fn guard(turn: &mut Turn, counted: Option<Counted>) -> Result<(), Failure> {
    turn.window_mut().begin_request();
    let guard = turn.config().context_guard;
    let Some(room) = room(turn) else {
        ask_model(turn);
        return Ok(());
    };
    let is_guess = counted.is_none();
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
    let is_sure = !is_guess || guard.window.is_some();
    let stops_at = if is_sure {
        room
    } else {
        room.saturating_add(room / 2)
    };
    match guard.at_limit {
        ContextPolicy::Trim if tokens > room => {
            turn.window_mut().ask_to_trim(tokens);
            let hop = turn.hop();
            turn.emit(EffectId::Trim { hop });
        }
        ContextPolicy::Fail if tokens > stops_at => return Err(too_long(turn, tokens)),
        _ => {
            warn(turn, tokens, room);
            ask_model(turn);
        }
    }
    Ok(())
}

/// Returns the overflow that the host is asked to trim.
pub(in crate::run) fn overflow(turn: &Turn) -> ContextOverflow {
    let messages = turn.window().kept(turn.transcript().messages());
    let messages = messages.iter().filter(|message| is_sent(message));
    ContextOverflow {
        tokens: turn.window().asked_tokens(),
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
    let before = guessed(turn);
    let messages = turn.window().kept(turn.transcript().messages());
    let messages = messages.iter().filter(|message| is_sent(message));
    let left_out = trim::left_out(messages, keep);
    turn.window_mut().leave_out(&left_out, summary);
    let after = guessed(turn);
    let tokens = turn.window_mut().trimmed_tokens(before, after);
    let Some(room) = room(turn).filter(|room| tokens <= *room) else {
        return Err(too_long(turn, tokens));
    };
    turn.event(RunEvent::ContextTrimmed { left_out, tokens });
    warn(turn, tokens, room);
    ask_model(turn);
    Ok(())
}

/// The host cannot make the conversation fit.
pub(in crate::run) fn cannot_trim(turn: &mut Turn, message: &str) -> Failure {
    turn.warn(format!("the conversation could not be trimmed: {message}"));
    too_long(turn, turn.window().asked_tokens())
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

fn guessed(turn: &Turn) -> u64 {
    let config = turn.config();
    let messages = turn.window().kept(turn.transcript().messages());
    let messages: u64 = messages.iter().map(token_estimate::of_message).sum();
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

/// Activities are shown, and never sent, but for media that a model made.
fn is_sent(message: &Message) -> bool {
    !matches!(message, Message::Activity(activity) if activity.activity_type != MEDIA_ACTIVITY)
}
