//! The world: the real machine, and the knowledge of the host, the store, the tools and the user. It uses only what
//! came out of `poll_output`.

mod held;
mod print;
mod provider;

pub use held::{Asked, Ghost, Hand, Part, Shown, Snapshot, Store, Write, part};
pub use provider::{Heard, Provider};

use crate::bounds::Bounds;
use crate::moves::Move;
use crate::peer::{Body, Kind, Said, Token};
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use stepwell_core::event::{AssistantMessage, Message, ResumeEntry, ResumeStatus};
use stepwell_core::run::{
    Block, BlockContent, Decision, EdgeRow, EffectId, HookAnswer, HookPlace, Input, Question,
    Refusal, RunMachine, SnapshotError, Start, StateKind, TimerKey, TurnStatus, UserAnswer,
};
use stepwell_core::tool::ToolFailure;
use stepwell_core::{CallKey, Timestamp};

pub struct World {
    pub machine: RunMachine,
    pub bounds: Arc<Bounds>,
    pub now: u64,
    pub hands: Vec<(EffectId, Hand)>,
    pub store: Store,
    pub ghost: Ghost,
    /// The calls of the peer.
    pub asked: Vec<(CallKey, Kind)>,
    /// The number of times that each tool was begun.
    pub begun: Vec<(CallKey, u8)>,
    /// The blocks that were ever to be written and are not stored, with their digests.
    pub written: Vec<(u64, u64)>,
    pub crashes: u8,
    pub questions: u8,
    pub device: u8,
    pub steers: u8,
    /// The questions of the tools, as they run now.
    pub tools_asked: Vec<(CallKey, Asked)>,
    pub is_offline: bool,
    pub is_background: bool,
    /// The hop whose stream the peer has brought to its end.
    pub finished: Option<u32>,
    /// The number of times that the stream of a hop was opened.
    pub opens: (u32, u32),
    /// A call that the user tries to stop; they may be too late.
    pub stopping: Option<CallKey>,
    /// The provider that makes its answers in the background.
    pub provider: Provider,
    /// The first fault.
    pub fault: Option<String>,
    /// The moves of the state since the world before.
    pub walked: Vec<EdgeRow>,
}

pub const NOW: u64 = 1_000_000;

impl World {
    pub fn new(bounds: &Arc<Bounds>) -> Self {
        let machine = RunMachine::new(Arc::clone(&bounds.config), "t".into(), bounds.before());
        Self {
            machine,
            bounds: Arc::clone(bounds),
            now: NOW,
            hands: Vec::new(),
            store: Store::default(),
            ghost: Ghost::default(),
            asked: Vec::new(),
            begun: Vec::new(),
            written: Vec::new(),
            crashes: bounds.crashes,
            questions: bounds.questions,
            device: bounds.device,
            steers: bounds.steers,
            tools_asked: Vec::new(),
            is_offline: false,
            is_background: false,
            finished: None,
            opens: (0, 0),
            provider: Provider::new(bounds),
            stopping: None,
            fault: None,
            walked: Vec::new(),
        }
    }

    pub fn fork(&self) -> Self {
        Self {
            machine: self.machine.clone(),
            bounds: Arc::clone(&self.bounds),
            now: self.now,
            hands: self.hands.clone(),
            store: self.store.clone(),
            ghost: self.ghost.clone(),
            asked: self.asked.clone(),
            begun: self.begun.clone(),
            written: self.written.clone(),
            crashes: self.crashes,
            questions: self.questions,
            device: self.device,
            steers: self.steers,
            tools_asked: self.tools_asked.clone(),
            is_offline: self.is_offline,
            is_background: self.is_background,
            finished: self.finished,
            opens: self.opens,
            provider: self.provider.clone(),
            stopping: None,
            fault: self.fault.clone(),
            walked: Vec::new(),
        }
    }

    /// Returns the deadlines that run.
    pub fn timers(&self) -> Vec<TimerKey> {
        self.machine
            .timers()
            .into_iter()
            .map(|(timer, _)| timer)
            .collect()
    }

    /// Notes that an invariant does not hold; the first one found is kept.
    pub fn wrong(&mut self, what: impl Into<String>) {
        self.fault.get_or_insert_with(|| what.into());
    }

    pub fn hand(&self, id: EffectId) -> Option<&Hand> {
        let found = self.hands.iter().find(|entry| entry.0 == id);
        found.map(|(_, hand)| hand)
    }

    /// Returns the progress of the question of the call's tool, as it runs now.
    pub fn asked_by(&self, call: CallKey) -> Option<Asked> {
        let asked = self.tools_asked.iter().find(|entry| entry.0 == call);
        asked.map(|entry| entry.1)
    }

    /// A tool's question has come further.
    pub fn note_asked(&mut self, call: CallKey, asked: Asked) {
        for entry in self.tools_asked.iter_mut().filter(|entry| entry.0 == call) {
            entry.1 = asked;
        }
    }

    fn note_answer(&mut self, id: EffectId) {
        if let EffectId::Ask { call, .. } = id {
            self.note_asked(call, Asked::Answered);
            self.ghost.answered.push(call);
        }
    }

    fn answered(&mut self, id: EffectId) {
        self.take(id);
        self.note_answer(id);
    }

    fn take(&mut self, id: EffectId) -> Option<Hand> {
        let at = self.hands.iter().position(|entry| entry.0 == id)?;
        Some(self.hands.remove(at).1)
    }

    pub fn put(&mut self, id: EffectId, hand: Hand) {
        match self.hands.binary_search_by_key(&id, |entry| entry.0) {
            Ok(at) => self.hands[at].1 = hand,
            Err(at) => self.hands.insert(at, (id, hand)),
        }
    }

    pub fn kind(&self, call: CallKey) -> Option<Kind> {
        let asked = self.asked.iter().find(|entry| entry.0 == call);
        asked.map(|entry| entry.1)
    }

    /// The world in which this has happened.
    pub fn after(&self, step: Move) -> Self {
        let mut next = self.fork();
        next.make(step);
        next.drain();
        if let Some(call) = next.stopping.take()
            && !next.ghost.stopped.contains(&call)
        {
            next.ghost.stopped.push(call);
        }
        next.check(self, step);
        next
    }

    fn make(&mut self, step: Move) {
        let message = || "m".to_owned();
        let input = match step {
            Move::Crash => return self.crash(),
            Move::CrashAndTell => {
                self.crash();
                // Only a run that awaits an answer has one to report.
                if !matches!(
                    self.machine.state(),
                    StateKind::Opening | StateKind::Waiting
                ) {
                    return;
                }
                Input::Shown(vec![Message::Assistant(AssistantMessage {
                    id: "shown".into(),
                    content: Some("t".to_owned()),
                    ..AssistantMessage::default()
                })])
            }
            Move::Fire(timer) => {
                match timer {
                    TimerKey::Tool(call) => self.expect(call, "took too long"),
                    TimerKey::Approval(call) => self.expect(call, "did not answer in time"),
                    TimerKey::Question(call, number) => {
                        self.note_answer(EffectId::Ask { call, number });
                    }
                    _ => {}
                }
                if timer == TimerKey::Silence {
                    self.breaks();
                }
                let fired = self.machine.fire_now(timer, Timestamp(self.now));
                if fired != Ok(true) {
                    self.wrong(format!("the timer {timer:?} does not fire: {fired:?}"));
                }
                return;
            }
            Move::Pass => {
                let due = self.machine.poll_timeout();
                self.now = self.now.max(due.map_or(0, |at| at.0));
                Input::Timeout
            }
            Move::NetworkLost => {
                self.device -= 1;
                self.is_offline = true;
                Input::NetworkLost
            }
            Move::NetworkAvailable => {
                if !std::mem::take(&mut self.is_offline) {
                    self.device -= 1;
                }
                Input::NetworkAvailable
            }
            Move::Background => {
                self.device -= 1;
                self.is_background = true;
                Input::EnteredBackground
            }
            Move::Foreground => {
                self.is_background = false;
                Input::EnteredForeground
            }
            Move::Steers => {
                self.steers -= 1;
                let id = format!("s{}", self.steers);
                self.ghost.typed.push(id.clone());
                Input::Steer(Box::new(Message::user(id, "s")))
            }
            Move::Start => {
                let message = Message::user("u", "h");
                Input::Start(Box::new(Start::new("r", message)))
            }
            Move::Cancel => Input::Cancel,
            Move::Resume => {
                self.ghost.shown = Shown::Running;
                Input::Resume(vec![answer("q")])
            }
            Move::Created(effect) => {
                self.take(effect);
                let run_id = format!("b{}", self.machine.hop()).into();
                Input::RunCreated { effect, run_id }
            }
            Move::NotCreated(effect) => {
                self.take(effect);
                let message = message();
                Input::RunNotCreated { effect, message }
            }
            Move::Authorized(effect) => {
                self.take(effect);
                let authorization = "k".into();
                Input::Authorized {
                    effect,
                    authorization,
                }
            }
            Move::NotAuthorized(effect) => {
                self.take(effect);
                let message = message();
                Input::NotAuthorized { effect, message }
            }
            Move::Chosen(effect, model) => {
                self.take(effect);
                Input::ModelChosen { effect, model }
            }
            Move::NotChosen(effect) => {
                self.take(effect);
                let message = message();
                Input::ModelNotChosen { effect, message }
            }
            Move::Opened(effect) => {
                let said = self.open(effect);
                let content_type = match said.body() {
                    Body::Events => None,
                    _ => Some("application/json".to_owned()),
                };
                self.put(effect, Hand::Stream(said));
                Input::Opened {
                    effect,
                    content_type,
                }
            }
            Move::Refused(effect, status) => {
                self.take(effect);
                if status == 503 {
                    self.breaks();
                }
                let refusal = Refusal {
                    status,
                    ..Refusal::default()
                };
                Input::Refused { effect, refusal }
            }
            Move::Unreachable(effect) => {
                self.take(effect);
                self.breaks();
                let message = message();
                Input::ConnectionFailed { effect, message }
            }
            Move::Says(effect, token) => {
                let bytes = self.say(effect, token).into();
                Input::Received { effect, bytes }
            }
            Move::Ends(effect) => {
                self.close(effect);
                Input::Ended { effect }
            }
            Move::Breaks(effect) => {
                self.break_off(effect);
                let message = message();
                Input::Lost { effect, message }
            }
            Move::Granted(effect) => {
                self.take(effect);
                if let EffectId::Approve(call) = effect {
                    self.ghost.granted.push(call);
                }
                let decision = Decision::Granted;
                Input::Decided { effect, decision }
            }
            Move::Edited(effect) => {
                self.take(effect);
                if let EffectId::Approve(call) = effect {
                    self.ghost.granted.push(call);
                }
                let arguments = "{}".to_owned();
                let decision = Decision::Edited { arguments };
                Input::Decided { effect, decision }
            }
            Move::Stops(call) => {
                self.stopping = Some(call);
                Input::CancelCall { call }
            }
            Move::Defers(effect) => {
                self.put(effect, Hand::Deferred);
                Input::ToolDeferred { effect }
            }
            Move::Asks(effect) => {
                if let EffectId::Tool(call) = effect {
                    let asked = if self.ghost.answered.contains(&call) {
                        Asked::Known
                    } else {
                        Asked::Open
                    };
                    self.tools_asked.push((call, asked));
                }
                Input::ToolAsks {
                    effect,
                    number: 0,
                    question: Question::yes_or_no("q"),
                }
            }
            Move::Answers(effect) => {
                self.answered(effect);
                let answer = UserAnswer::Given { value: true.into() };
                Input::UserAnswered { effect, answer }
            }
            Move::Declines(effect) => {
                self.answered(effect);
                let answer = UserAnswer::Declined { reason: None };
                Input::UserAnswered { effect, answer }
            }
            Move::Denied(effect) => {
                self.take(effect);
                if let EffectId::Approve(call) = effect {
                    self.expect(call, "did not allow");
                }
                let decision = Decision::Denied { reason: None };
                Input::Decided { effect, decision }
            }
            Move::Passes(effect) => self.looks(effect, HookAnswer::GoOn),
            Move::Changes(effect) => {
                let answer = match effect {
                    EffectId::Hook {
                        place: HookPlace::Request { .. },
                        ..
                    } => HookAnswer::messages(vec![Message::user("u", "c")]),
                    EffectId::Hook {
                        place: HookPlace::Call(_),
                        ..
                    } => HookAnswer::arguments(&serde_json::json!({})),
                    _ => HookAnswer::result("changed"),
                };
                self.looks(effect, answer)
            }
            Move::Vetoes(effect) => self.looks(effect, HookAnswer::refuse("m")),
            Move::Raises(effect) => {
                let message = message();
                self.looks(effect, HookAnswer::Failed { message })
            }
            Move::Decodes(effect) => {
                self.take(effect);
                Input::OutputDecoded { effect }
            }
            Move::Misdecodes(effect) => {
                self.take(effect);
                let reason = message();
                Input::OutputRefused { effect, reason }
            }
            Move::Works(effect) => {
                self.take(effect);
                if let EffectId::Tool(call) = effect
                    && !self.bounds.looks_at_results()
                {
                    self.expect(call, "ok");
                }
                let result = Ok("ok".into());
                Input::ToolFinished { effect, result }
            }
            Move::Fails(effect) => {
                self.take(effect);
                if let EffectId::Tool(call) = effect
                    && !self.bounds.looks_at_results()
                {
                    self.expect(call, "err");
                }
                let result = Err(ToolFailure::error("err"));
                Input::ToolFinished { effect, result }
            }
            Move::Commits(effect) => return self.commit(effect),
            Move::Acknowledges(effect) => {
                self.take(effect);
                Input::Persisted { effect }
            }
            Move::NotStored(effect) => {
                self.take(effect);
                let message = message();
                Input::PersistFailed { effect, message }
            }
        };
        let due = match step {
            Move::Pass => self.due_questions(),
            _ => Vec::new(),
        };
        for effect in due {
            self.note_answer(effect);
        }
        if let Err(misuse) = self.machine.handle(input, Timestamp(self.now)) {
            self.wrong(format!("a right input is refused: {misuse}"));
        }
    }

    /// The questions whose time is over now.
    fn due_questions(&self) -> Vec<EffectId> {
        let due = self.machine.due_timers(Timestamp(self.now)).into_iter();
        due.filter_map(|timer| match timer {
            TimerKey::Question(call, number) => Some(EffectId::Ask { call, number }),
            _ => None,
        })
        .collect()
    }

    /// A hook has looked: what becomes of the call by that.
    fn looks(&mut self, effect: EffectId, answer: HookAnswer) -> Input<'static> {
        self.take(effect);
        if let EffectId::Hook { place, .. } = effect {
            match (place, &answer) {
                (HookPlace::Call(call), HookAnswer::Refused { .. }) => {
                    self.expect(call, "was not run");
                }
                (HookPlace::Result(call), HookAnswer::Refused { .. }) => {
                    self.expect(call, "was withheld");
                }
                (HookPlace::Result(call), HookAnswer::ChangeResult { .. }) => {
                    self.expect(call, "changed");
                }
                (HookPlace::Result(call), HookAnswer::GoOn) => {
                    let live = self.machine.transcript().call(call);
                    let is_ok = live.is_some_and(|live| matches!(live.result, Some(Ok(_))));
                    self.expect(call, if is_ok { "ok" } else { "err" });
                }
                _ => {}
            }
        }
        Input::HookAnswered { effect, answer }
    }

    fn expect(&mut self, call: CallKey, result: &'static str) {
        if !self.ghost.results.iter().any(|entry| entry.0 == call) {
            self.ghost.results.push((call, result));
        }
    }

    fn say(&mut self, effect: EffectId, token: Token) -> Vec<u8> {
        let dialect = self.bounds.config.endpoint.dialect;
        let hop = self.machine.hop();
        let Some(Hand::Stream(mut said)) = self.hand(effect).cloned() else {
            self.wrong(format!("{effect} is no stream"));
            return Vec::new();
        };
        if self.bounds.background.is_some() {
            return self.say_stored(effect, said, token);
        }
        if self.machine.state() == StateKind::Summarizing {
            let bytes = said.say(token, dialect, hop);
            self.put(effect, Hand::Stream(said));
            return bytes;
        }
        if let Token::Call(kind) = token {
            let index = said.calls.into();
            self.asked.push((CallKey { hop, index }, kind));
        }
        if matches!(
            token,
            Token::Reason | Token::Filtered | Token::Done | Token::Question
        ) {
            self.finished = Some(hop);
        }
        if token == Token::Question {
            self.questions -= 1;
        }
        let bytes = said.say(token, dialect, hop);
        self.put(effect, Hand::Stream(said));
        bytes
    }

    fn commit(&mut self, effect: EffectId) {
        let Some(Hand::Write(write)) = self.take(effect) else {
            return self.wrong(format!("{effect} is no write"));
        };
        for (_, part, _) in &write.blocks {
            let (call, bit) = match *part {
                Part::Text => continue,
                Part::Asked(call) => (call, 1),
                Part::Decided(call) => (call, 2),
                Part::Result(call) => (call, 4),
                Part::Answered(call) => (call, 8),
            };
            match self.store.calls.iter_mut().find(|entry| entry.0 == call) {
                Some(entry) => entry.1 |= bit,
                None => self.store.calls.push((call, bit)),
            }
        }
        self.store.blocks += write.blocks.len() as u64;
        self.store.is_closed |= write.status != TurnStatus::Streaming;
        self.store.snapshot = Some(Arc::clone(&write.snapshot));
        let stored = self.store.blocks;
        self.written.retain(|entry| entry.0 >= stored);
        self.put(effect, Hand::Committed);
    }

    fn crash(&mut self) {
        let Some(snapshot) = self.store.snapshot.clone() else {
            return self.wrong("nothing to come back with");
        };
        self.crashes -= 1;
        self.hands.clear();
        self.tools_asked.clear();
        self.written.clear();
        self.is_offline = false;
        self.is_background = false;
        self.ghost = snapshot.ghost.clone();
        // Deferred tools continue elsewhere.
        for id in &snapshot.deferred {
            self.put(*id, Hand::Deferred);
        }
        let config = Arc::clone(&self.bounds.config);
        match RunMachine::revive(&snapshot.text, config, Timestamp(self.now)) {
            Ok(machine) => self.machine = machine,
            Err(error) => self.wrong(format!("the stored snapshot cannot be read: {error}")),
        }
        self.show_again();
    }

    pub fn is_over(&self) -> bool {
        self.machine.state() == StateKind::Completed
    }
}

/// The user's answer to a question.
pub fn answer(id: &str) -> ResumeEntry {
    ResumeEntry {
        interrupt_id: id.to_owned(),
        status: ResumeStatus::Resolved,
        payload: None,
        metadata: None,
        extra: Default::default(),
    }
}
