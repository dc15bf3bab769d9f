//! The possible moves: from the effects that the host holds, the peer's grammar, the timers and the user. Never from
//! the machine's own tables.

use crate::peer::Token;
use crate::world::{Hand, World};
use std::fmt;
use stepwell_core::CallKey;
use stepwell_core::run::{EffectId, HookPlace, StateKind, TimerKey};

/// One move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    Start,
    Cancel,
    Resume,
    /// The host dies and restarts with the contents of the store.
    Crash,
    /// The host dies and restarts, and reports what it had shown of an answer and not stored.
    CrashAndTell,
    NetworkLost,
    NetworkAvailable,
    Background,
    Foreground,
    /// The user types during the turn.
    Steers,
    /// A timer fires.
    Fire(TimerKey),
    /// Time passes until the next timer is due.
    Pass,
    Created(EffectId),
    NotCreated(EffectId),
    Authorized(EffectId),
    NotAuthorized(EffectId),
    /// The host chooses the model of this number.
    Chosen(EffectId, u32),
    /// The host's code cannot choose one.
    NotChosen(EffectId),
    Opened(EffectId),
    Refused(EffectId, u16),
    Unreachable(EffectId),
    Says(EffectId, Token),
    Ends(EffectId),
    Breaks(EffectId),
    Granted(EffectId),
    Denied(EffectId),
    /// The user allows it with arguments of their own.
    Edited(EffectId),
    /// The user stops one call.
    Stops(CallKey),
    Defers(EffectId),
    /// The host decodes the typed answer.
    Decodes(EffectId),
    /// The host's decoder refuses it.
    Misdecodes(EffectId),
    /// The hook lets pass what it looks at.
    Passes(EffectId),
    /// The hook puts something else in its place.
    Changes(EffectId),
    /// The hook refuses it.
    Vetoes(EffectId),
    /// The hook's code fails.
    Raises(EffectId),
    /// The tool asks the user.
    Asks(EffectId),
    /// The user answers a tool's question.
    Answers(EffectId),
    /// The user does not.
    Declines(EffectId),
    Works(EffectId),
    Fails(EffectId),
    /// The store has the write; the run does not know it yet.
    Commits(EffectId),
    /// The run is notified of the write.
    Acknowledges(EffectId),
    NotStored(EffectId),
}

impl Move {
    /// Returns whether the host dies.
    pub fn is_crash(self) -> bool {
        matches!(self, Self::Crash | Self::CrashAndTell)
    }

    /// Returns whether the move is kind: without a stop, a death, a fault or a delay.
    pub fn is_kind(self) -> bool {
        match self {
            Self::Fire(timer) => timer == TimerKey::Retry,
            Self::Cancel
            | Self::NetworkLost
            | Self::Background
            | Self::Steers
            | Self::Stops(_)
            | Self::Crash
            | Self::CrashAndTell
            | Self::NotStored(_)
            | Self::Breaks(_)
            | Self::Unreachable(_)
            | Self::NotCreated(_)
            | Self::NotAuthorized(_)
            | Self::NotChosen(_)
            | Self::Vetoes(_)
            | Self::Raises(_)
            | Self::Refused(..) => false,
            _ => true,
        }
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("the user says something"),
            Self::Cancel => f.write_str("the user stops the turn"),
            Self::Resume => f.write_str("the user answers the agent's question"),
            Self::Crash => f.write_str("the host dies and comes back"),
            Self::CrashAndTell => {
                f.write_str("the host dies and comes back, and tells what it had shown")
            }
            Self::Fire(timer) => write!(f, "the timer {timer:?} fires"),
            Self::NetworkLost => f.write_str("the network goes"),
            Self::NetworkAvailable => f.write_str("there is a network, or another one"),
            Self::Background => f.write_str("the app goes to the background"),
            Self::Foreground => f.write_str("the app is in the foreground again"),
            Self::Steers => f.write_str("the user types during the turn"),
            Self::Pass => f.write_str("time passes"),
            Self::Created(id) => write!(f, "{id}: the backend creates the run"),
            Self::NotCreated(id) => write!(f, "{id}: the backend does not create the run"),
            Self::Authorized(id) => write!(f, "{id}: the host has a key"),
            Self::NotAuthorized(id) => write!(f, "{id}: the host has no key"),
            Self::Chosen(id, model) => write!(f, "{id}: the host chooses the model {model}"),
            Self::NotChosen(id) => write!(f, "{id}: the host chooses no model"),
            Self::Opened(id) => write!(f, "{id}: the stream opens"),
            Self::Refused(id, status) => write!(f, "{id}: refused with {status}"),
            Self::Unreachable(id) => write!(f, "{id}: no connection"),
            Self::Says(id, token) => write!(f, "{id}: the peer says {token:?}"),
            Self::Ends(id) => write!(f, "{id}: the body ends"),
            Self::Breaks(id) => write!(f, "{id}: the connection breaks"),
            Self::Granted(id) => write!(f, "{id}: the user allows it"),
            Self::Denied(id) => write!(f, "{id}: the user does not allow it"),
            Self::Edited(id) => write!(f, "{id}: the user allows it with other arguments"),
            Self::Stops(call) => write!(f, "the user stops the call {call}"),
            Self::Defers(id) => write!(f, "{id}: the tool's result will come later"),
            Self::Decodes(id) => write!(f, "{id}: the host decodes the answer"),
            Self::Misdecodes(id) => write!(f, "{id}: the host cannot decode the answer"),
            Self::Passes(id) => write!(f, "{id}: the hook lets it pass"),
            Self::Changes(id) => write!(f, "{id}: the hook changes it"),
            Self::Vetoes(id) => write!(f, "{id}: the hook refuses it"),
            Self::Raises(id) => write!(f, "{id}: the hook fails"),
            Self::Asks(id) => write!(f, "{id}: the tool asks the user"),
            Self::Answers(id) => write!(f, "{id}: the user answers the tool"),
            Self::Declines(id) => write!(f, "{id}: the user does not answer the tool"),
            Self::Works(id) => write!(f, "{id}: the tool gives a result"),
            Self::Fails(id) => write!(f, "{id}: the tool fails"),
            Self::Commits(id) => write!(f, "{id}: the store has it"),
            Self::Acknowledges(id) => write!(f, "{id}: the run hears that it is stored"),
            Self::NotStored(id) => write!(f, "{id}: the store fails"),
        }
    }
}

impl World {
    /// A tool asks once, each time that it is run.
    fn may_ask(&self, id: EffectId) -> bool {
        matches!(id, EffectId::Tool(call) if self.asked_by(call).is_none())
    }

    /// All that can happen now.
    pub fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        let state = self.machine.state();
        if state == StateKind::Idle {
            moves.push(Move::Start);
        }
        for (id, hand) in &self.hands {
            let id = *id;
            match hand {
                Hand::Create => moves.extend([Move::Created(id), Move::NotCreated(id)]),
                Hand::Key => moves.extend([Move::Authorized(id), Move::NotAuthorized(id)]),
                Hand::Choice => {
                    let models = self.bounds.models();
                    moves.extend((0..models).map(|model| Move::Chosen(id, model)));
                    moves.push(Move::NotChosen(id));
                }
                Hand::Request | Hand::Rest(..) => {
                    moves.push(Move::Opened(id));
                    if self.bounds.asks_for_keys() {
                        moves.push(Move::Refused(id, 401));
                    }
                    if self.bounds.failures {
                        moves.push(Move::Refused(id, 400));
                        if self.may_break() {
                            moves.extend([Move::Refused(id, 503), Move::Unreachable(id)]);
                        }
                    }
                }
                Hand::Stream(said) if self.bounds.background.is_some() => {
                    let tokens = self.next_stored(*said);
                    if self.may_break() || tokens.is_empty() {
                        moves.extend([Move::Ends(id), Move::Breaks(id)]);
                    }
                    moves.extend(tokens.into_iter().map(|token| Move::Says(id, token)));
                }
                Hand::Stream(said) => {
                    let mut tokens = said.next(&self.bounds, self.questions);
                    if state == StateKind::Summarizing {
                        tokens.retain(|token| !matches!(token, Token::Call(_)));
                    }
                    moves.extend(tokens.into_iter().map(|token| Move::Says(id, token)));
                    moves.extend([Move::Ends(id), Move::Breaks(id)]);
                }
                Hand::Approval => {
                    moves.extend([Move::Granted(id), Move::Denied(id)]);
                    if self.bounds.extras.edits {
                        moves.push(Move::Edited(id));
                    }
                }
                Hand::Tool => {
                    moves.extend([Move::Works(id), Move::Fails(id)]);
                    if self.bounds.extras.deferrals {
                        moves.push(Move::Defers(id));
                    }
                    if self.bounds.extras.asks && self.may_ask(id) {
                        moves.push(Move::Asks(id));
                    }
                }
                Hand::Decoding => moves.extend([Move::Decodes(id), Move::Misdecodes(id)]),
                Hand::Hook => {
                    moves.extend([Move::Passes(id), Move::Vetoes(id), Move::Raises(id)]);
                    if !matches!(
                        id,
                        EffectId::Hook {
                            place: HookPlace::Answer { .. },
                            ..
                        }
                    ) {
                        moves.push(Move::Changes(id));
                    }
                }
                Hand::Question => moves.extend([Move::Answers(id), Move::Declines(id)]),
                Hand::Deferred => moves.extend([Move::Works(id), Move::Fails(id)]),
                Hand::Write(_) => moves.extend([Move::Commits(id), Move::NotStored(id)]),
                Hand::Committed => moves.push(Move::Acknowledges(id)),
            }
        }
        if self.bounds.extras.stops {
            // The calls that the user sees.
            let calls = self.machine.transcript().calls();
            moves.extend(calls.iter().map(|call| Move::Stops(call.key)));
        }
        if state == StateKind::Interrupted {
            moves.push(Move::Resume);
        }
        if self.bounds.abstraction.time {
            let mut timers = self.machine.running_timers();
            timers.retain(|timer| *timer != TimerKey::Silence || self.may_break());
            moves.extend(timers.into_iter().map(Move::Fire));
        } else if self.machine.poll_timeout().is_some() {
            moves.push(Move::Pass);
        }
        if state != StateKind::Completed {
            moves.push(Move::Cancel);
        }
        if self.bounds.device > 0 && state != StateKind::Completed {
            // A return is always possible, so that nothing waits for ever.
            if self.is_offline || self.device > 0 {
                moves.push(Move::NetworkAvailable);
            }
            if self.is_background {
                moves.push(Move::Foreground);
            }
            if self.device > 0 && !self.is_offline {
                moves.push(Move::NetworkLost);
            }
            if self.device > 0 && !self.is_background {
                moves.push(Move::Background);
            }
        }
        let is_active = !matches!(state, StateKind::Idle | StateKind::Completed);
        if self.steers > 0 && is_active {
            moves.push(Move::Steers);
        }
        if self.crashes > 0 && self.store.snapshot.is_some() {
            moves.push(Move::Crash);
            if self.bounds.shows {
                moves.push(Move::CrashAndTell);
            }
        }
        moves
    }
}
