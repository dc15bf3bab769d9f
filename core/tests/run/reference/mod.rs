//! The run beside a simple reference: its phase, its open calls and which of them run, its hops, its tries and its
//! clocks. The machine gets real bytes; the reference knows only what they mean.

mod real;

use crate::cases::cases;
use crate::world::{config, offer};
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use real::Real;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{
    Deadline, Effect, EffectId, ErrorKind, Failure, Incomplete, Input, LimitPolicy, Outcome,
    Output, Refusal, Retry, RunConfig, RunEvent, RunMachine, Start, StateKind, TimerKey,
};
use stepwell_core::tool::{Tool, ToolFailure};
use stepwell_core::transcript::Transcript;
use stepwell_core::{CallKey, Timestamp};
use stepwell_testing::history::check_history;

const SILENCE: u64 = 20_000;
const CLOSING: u64 = 3_000;
const TOOL: u64 = 50_000;
const TURN: u64 = 300_000;
const FIRST_DELAY: u64 = 100;
const MAX_RETRY_AFTER: u64 = 120;

/// What a call asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    Work,
    /// A tool that may run twice.
    Look,
    Invented,
    Broken,
}

#[derive(Clone, Debug)]
enum Step {
    Start,
    Opened,
    Refused {
        status: u16,
        retry_after: Option<u64>,
    },
    ConnectionFailed,
    Heartbeat,
    Text,
    Calls(Vec<Asked>),
    /// The stream says that it is done; its body is still open.
    Done,
    Ended,
    Lost,
    Tool {
        index: u32,
        ok: bool,
    },
    /// A result for a call that is not open.
    Late(CallKey),
    Timeout,
    /// Woken though nothing is due.
    TooEarly,
    Cancel,
    Restore,
    Revive,
}

/// How a turn ended, in a word.
type End = &'static str;

/// A kind of failure, in a word.
type Kind = &'static str;

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    Idle,
    Opening,
    Waiting,
    Streaming { begun: bool, done: bool },
    Tools,
    Over(End),
}

#[derive(Clone, Debug)]
struct Reference {
    policy: LimitPolicy,
    limit: u32,
    attempts: u32,
    /// How many attempts there are after a rate limit, if others than those.
    rate_limit: Option<u32>,
    /// How many calls run at once.
    room: u32,
    has_turn_clock: bool,
    now: u64,
    phase: Phase,
    hop: u32,
    rounds: u32,
    attempt: u32,
    /// How often the answer was asked for again, by kind of failure.
    tries: BTreeMap<Kind, u32>,
    withheld: bool,
    /// The calls of the hop, and what came of each; `None` while it is open.
    calls: Vec<(Asked, Option<&'static str>)>,
    /// What the history says to each call that was settled.
    settled: Vec<(String, &'static str)>,
    text: String,
    /// Whether the hop's answer has text.
    speaks: bool,
    silence: Option<u64>,
    closing: Option<u64>,
    retry: Option<u64>,
    /// The calls that run, and when they have run too long; other open ones wait.
    tools: BTreeMap<u32, u64>,
    turn: Option<u64>,
    /// Whether the last step was an answer to nothing.
    dropped: bool,
}

impl Reference {
    fn open(&self) -> Vec<u32> {
        let calls = self.calls.iter().zip(0..);
        let open = calls.filter(|((_, result), _)| result.is_none());
        open.map(|(_, index)| index).collect()
    }

    /// Every clock that runs, not only the one that is next.
    fn timers(&self) -> Vec<(TimerKey, u64)> {
        let hop = self.hop;
        let tools = self.tools.iter();
        let tools = tools.map(|(&index, &at)| (TimerKey::Tool(CallKey { hop, index }), at));
        let one = |key, at: Option<u64>| at.map(|at| (key, at));
        let mut timers: Vec<_> = one(TimerKey::Silence, self.silence)
            .into_iter()
            .chain(one(TimerKey::Retry, self.retry))
            .chain(tools)
            .chain(one(TimerKey::Turn, self.turn))
            .chain(one(TimerKey::Closing, self.closing))
            .collect();
        timers.sort();
        timers
    }

    fn next_deadline(&self) -> Option<u64> {
        let all = [self.silence, self.closing, self.retry, self.turn];
        all.into_iter()
            .flatten()
            .chain(self.tools.values().copied())
            .min()
    }

    fn over(&mut self, end: End) {
        let reason = match end {
            "cancelled" => "was cancelled",
            "max rounds" | "too many rounds" => "at its limit of tool rounds",
            _ => "broke off",
        };
        for (_, result) in &mut self.calls {
            result.get_or_insert(reason);
        }
        self.settle();
        (self.silence, self.closing, self.retry, self.turn) = (None, None, None, None);
        self.tools.clear();
        self.phase = Phase::Over(end);
    }

    fn settle(&mut self) {
        for (index, (_, result)) in self.calls.drain(..).enumerate() {
            let id = format!("h{}c{index}", self.hop);
            self.settled.push((id, result.expect("all are answered")));
        }
    }

    /// Counts a try after a failure of this kind, if there may be another one. Returns how many such there were before.
    fn count_try(&mut self, kind: Kind) -> Option<u32> {
        let most = match kind {
            "rate limit" => self.rate_limit.unwrap_or(self.attempts),
            "output" => self.attempts.min(3),
            "fault of ours" => 1,
            _ => self.attempts,
        };
        let all = self.attempts.max(self.rate_limit.unwrap_or(0));
        let count: u32 = self.tries.values().sum();
        let tries = self.tries.entry(kind).or_default();
        let before = *tries;
        (before + 1 < most && count + 1 < all).then(|| {
            *tries += 1;
            before
        })
    }

    fn try_again(&mut self, kind: Kind, retry_after: Option<u64>, end: End) {
        self.silence = None;
        let is_too_long = retry_after.is_some_and(|wait| wait > MAX_RETRY_AFTER);
        let Some(before) = (!is_too_long).then(|| self.count_try(kind)).flatten() else {
            return self.over(end);
        };
        let backoff = FIRST_DELAY << before;
        self.attempt += 1;
        self.retry = Some(self.now + backoff.max(retry_after.unwrap_or(0) * 1000));
        self.phase = Phase::Waiting;
    }

    /// The body ended, or the connection broke, before the answer did.
    fn broken(&mut self, end: End) {
        match self.phase {
            Phase::Streaming { done: true, .. } => self.ended(),
            Phase::Streaming { begun: true, .. } => self.over(end),
            _ if end == "silent" => self.try_again("timeout", None, end),
            _ => self.try_again("connection", None, end),
        }
    }

    fn ended(&mut self) {
        (self.silence, self.closing) = (None, None);
        match self.phase {
            Phase::Streaming { done: true, .. } => {}
            Phase::Streaming { begun: true, .. } => return self.over("truncated"),
            // Nothing was shown: it is asked for again.
            _ => return self.try_again("connection", None, "truncated"),
        }
        if self.calls.is_empty() {
            let may = !self.speaks && self.rounds < self.limit && !self.withheld;
            if may && self.count_try("output").is_some() {
                return self.next_hop();
            }
            return self.over(if self.speaks { "success" } else { "empty" });
        }
        if self.rounds >= self.limit || self.withheld {
            match self.policy {
                LimitPolicy::SumUp if !self.withheld => {
                    self.withheld = true;
                    for (_, result) in &mut self.calls {
                        *result = Some("at its limit of tool rounds");
                    }
                }
                LimitPolicy::Fail => return self.over("too many rounds"),
                _ => return self.over("max rounds"),
            }
        }
        for (asked, result) in &mut self.calls {
            match asked {
                Asked::Invented => result.get_or_insert("invented"),
                Asked::Broken => result.get_or_insert("JSON"),
                Asked::Work | Asked::Look => continue,
            };
        }
        let is_unreadable = self
            .calls
            .iter()
            .all(|(asked, result)| *asked == Asked::Broken && *result == Some("JSON"));
        self.phase = Phase::Tools;
        if is_unreadable {
            self.settle();
            self.rounds += 1;
            return match self.count_try("output") {
                Some(_) => self.next_hop(),
                None => self.over("unreadable"),
            };
        }
        self.go_on();
    }

    fn go_on(&mut self) {
        for index in self.open() {
            if self.tools.len() < self.room as usize {
                self.tools.entry(index).or_insert(self.now + TOOL);
            }
        }
        if self.tools.is_empty() {
            self.settle();
            self.rounds += 1;
            self.tries.clear();
            self.next_hop();
        }
    }

    fn next_hop(&mut self) {
        self.hop += 1;
        self.attempt = 0;
        self.ask();
    }

    fn ask(&mut self) {
        self.phase = Phase::Opening;
        self.silence = Some(self.now + SILENCE);
    }

    fn finish(&mut self, index: u32, result: &'static str) {
        self.tools.remove(&index);
        self.calls[index as usize].1 = Some(result);
        self.go_on();
    }

    fn timeout(&mut self) {
        while let Some(at) = self.next_deadline().filter(|at| *at <= self.now) {
            if self.silence == Some(at) {
                self.silence = None;
                self.broken("silent");
            } else if self.closing == Some(at) {
                self.ended();
            } else if self.retry == Some(at) {
                self.retry = None;
                self.ask();
            } else if let Some((&index, _)) = self.tools.iter().find(|(_, due)| **due == at) {
                self.finish(index, "took too long");
            } else {
                self.over("turn too long");
            }
        }
    }

    fn revive(&mut self) {
        match self.phase {
            Phase::Opening => self.silence = Some(self.now + SILENCE),
            // The answer is asked for anew, and what was shown of it stays.
            Phase::Streaming {
                begun: true,
                done: false,
            } => {
                for (_, result) in &mut self.calls {
                    result.get_or_insert("broke off");
                }
                self.settle();
                self.tries.clear();
                self.next_hop();
            }
            Phase::Streaming { .. } => self.broken("connection"),
            Phase::Tools => {
                let (calls, now) = (&mut self.calls, self.now);
                self.tools.retain(|&index, due| {
                    let (asked, result) = &mut calls[index as usize];
                    *due = now + TOOL;
                    if *asked == Asked::Work {
                        *result = Some("is not known");
                    }
                    *asked == Asked::Look
                });
                self.go_on();
            }
            Phase::Idle | Phase::Waiting | Phase::Over(_) => {}
        }
    }

    /// What the host must have in its hands.
    fn hands(&self) -> BTreeSet<EffectId> {
        let (hop, attempt) = (self.hop, self.attempt);
        match self.phase {
            Phase::Opening | Phase::Streaming { .. } => [EffectId::Open { hop, attempt }].into(),
            Phase::Tools => {
                let running = self.tools.keys();
                running
                    .map(|&index| EffectId::Tool(CallKey { hop, index }))
                    .collect()
            }
            _ => BTreeSet::new(),
        }
    }
}

impl ReferenceStateMachine for Reference {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        let policies = [LimitPolicy::Complete, LimitPolicy::Fail, LimitPolicy::SumUp];
        (
            prop::sample::select(policies.to_vec()),
            0..4u32,
            1..5u32,
            prop::option::of(1..6u32),
            1..5u32,
            any::<bool>(),
        )
            .prop_map(
                |(policy, limit, attempts, rate_limit, room, has_turn_clock)| Self {
                    policy,
                    limit,
                    attempts,
                    rate_limit,
                    room,
                    has_turn_clock,
                    now: 1_000,
                    phase: Phase::Idle,
                    hop: 0,
                    rounds: 0,
                    attempt: 0,
                    tries: BTreeMap::new(),
                    withheld: false,
                    calls: Vec::new(),
                    settled: Vec::new(),
                    text: String::new(),
                    speaks: false,
                    silence: None,
                    closing: None,
                    retry: None,
                    tools: BTreeMap::new(),
                    turn: None,
                    dropped: false,
                },
            )
            .boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Step> {
        let here = match &state.phase {
            Phase::Idle => Just(Step::Start).boxed(),
            Phase::Opening => {
                let refused = (
                    prop::sample::select(vec![429u16, 500, 503, 400]),
                    prop::option::of(prop::sample::select(vec![0u64, 2, 120, 121])),
                );
                prop_oneof![
                    6 => Just(Step::Opened),
                    2 => refused.prop_map(|(status, retry_after)| Step::Refused { status, retry_after }),
                    1 => Just(Step::ConnectionFailed),
                ]
                .boxed()
            }
            Phase::Streaming { done: true, .. } => {
                prop_oneof![6 => Just(Step::Ended), 1 => Just(Step::Lost)].boxed()
            }
            Phase::Streaming { .. } => {
                let asked = vec![
                    Asked::Work,
                    Asked::Work,
                    Asked::Look,
                    Asked::Invented,
                    Asked::Broken,
                ];
                let calls = prop::collection::vec(prop::sample::select(asked), 1..4);
                prop_oneof![
                    3 => Just(Step::Text),
                    4 => calls.prop_map(Step::Calls),
                    6 => Just(Step::Done),
                    1 => Just(Step::Heartbeat),
                    1 => Just(Step::Ended),
                    1 => Just(Step::Lost),
                ]
                .boxed()
            }
            Phase::Tools => {
                let running: Vec<_> = state.tools.keys().copied().collect();
                (prop::sample::select(running), prop::bool::weighted(0.7))
                    .prop_map(|(index, ok)| Step::Tool { index, ok })
                    .boxed()
            }
            Phase::Waiting => Just(Step::Timeout).boxed(),
            Phase::Over(_) => Just(Step::Restore).boxed(),
        };
        let late = (0..4u32, 0..4u32).prop_map(|(hop, index)| Step::Late(CallKey { hop, index }));
        prop_oneof![
            14 => here,
            1 => late,
            1 => Just(Step::Timeout),
            1 => Just(Step::TooEarly),
            1 => Just(Step::Cancel),
            1 => Just(Step::Restore),
            1 => Just(Step::Revive),
        ]
        .boxed()
    }

    fn preconditions(state: &Self, step: &Step) -> bool {
        match (step, &state.phase) {
            (Step::Start, phase) => *phase == Phase::Idle,
            (Step::Opened | Step::Refused { .. } | Step::ConnectionFailed, phase) => {
                *phase == Phase::Opening
            }
            (Step::Ended | Step::Lost, phase) => matches!(phase, Phase::Streaming { .. }),
            (Step::Text | Step::Calls(_) | Step::Done | Step::Heartbeat, phase) => {
                matches!(phase, Phase::Streaming { done: false, .. })
            }
            (Step::Tool { index, .. }, phase) => {
                *phase == Phase::Tools && state.tools.contains_key(index)
            }
            (Step::Late(call), phase) => {
                *phase != Phase::Idle && !state.hands().contains(&EffectId::Tool(*call))
            }
            (Step::Timeout, _) => state.next_deadline().is_some(),
            (Step::TooEarly, _) => state.next_deadline().is_none_or(|at| at > state.now + 10),
            // Nothing of a run that has not begun is stored.
            (Step::Restore | Step::Revive, phase) => *phase != Phase::Idle,
            (Step::Cancel, _) => true,
        }
    }

    fn apply(mut state: Self, step: &Step) -> Self {
        state.now += 10;
        state.dropped = false;
        match step {
            Step::Start => {
                state.turn = state.has_turn_clock.then_some(state.now + TURN);
                state.ask();
            }
            Step::Opened => {
                state.speaks = false;
                state.phase = Phase::Streaming {
                    begun: false,
                    done: false,
                };
                state.silence = Some(state.now + SILENCE);
            }
            Step::Refused {
                status,
                retry_after,
            } => {
                let kind = match status {
                    429 => "rate limit",
                    400 => "fault of ours",
                    _ => "server error",
                };
                state.try_again(kind, *retry_after, "refused");
            }
            Step::ConnectionFailed => state.try_again("connection", None, "connection"),
            Step::Heartbeat => state.silence = Some(state.now + SILENCE),
            Step::Text | Step::Calls(_) | Step::Done => {
                state.silence = Some(state.now + SILENCE);
                state.phase = Phase::Streaming {
                    begun: true,
                    done: matches!(step, Step::Done),
                };
                match step {
                    Step::Done => state.closing = Some(state.now + CLOSING),
                    Step::Text => {
                        state.text.push_str("Läßt 🙂. ");
                        state.speaks = true;
                    }
                    Step::Calls(asked) => {
                        state.calls.extend(asked.iter().map(|asked| (*asked, None)));
                    }
                    _ => {}
                }
            }
            Step::Ended => state.ended(),
            Step::Lost => state.broken("connection"),
            Step::Tool { index, ok } => {
                state.finish(*index, if *ok { "it gave" } else { "it failed" });
            }
            Step::Late(_) => state.dropped = true,
            Step::Timeout => {
                state.now = state.now.max(state.next_deadline().unwrap_or(0));
                state.timeout();
            }
            Step::TooEarly | Step::Restore => {}
            Step::Cancel => {
                if !matches!(state.phase, Phase::Over(_)) {
                    state.over("cancelled");
                }
            }
            Step::Revive => state.revive(),
        }
        state
    }
}

prop_state_machine! {
    #![proptest_config(cases(100))]

    #[test]
    fn the_run_does_what_the_reference_says(sequential 1..50 => Real);
}
