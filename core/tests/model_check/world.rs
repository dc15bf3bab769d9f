//! The world: the real machine, and what the others know of it: the host, the store, the tools, the person. It answers
//! only what came out of `poll_output`.

use crate::bounds::Bounds;
use crate::moves::Move;
use crate::peer::{Kind, Said, Token};
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::{Message, ResumeEntry, ResumeStatus};
use stepwell_core::run::doors;
use stepwell_core::run::{
    Block, BlockContent, Decision, EdgeRow, EffectId, Input, Refusal, RunMachine, SnapshotError,
    Start, StateKind, TimerKey, TurnStatus,
};
use stepwell_core::tool::ToolFailure;
use stepwell_core::{CallKey, Timestamp};

/// What the host is busy with under an effect's id.
#[derive(Clone, Debug)]
pub enum Hand {
    Create,
    Request,
    Stream(Said),
    Approval,
    Tool,
    /// A tool whose result comes later, whatever becomes of the host.
    Deferred,
    Write(Arc<Write>),
    /// The store has it; the run has not heard of it.
    Committed,
}

#[derive(Debug)]
pub struct Write {
    pub status: TurnStatus,
    /// The number, what it is, and a digest of it.
    pub blocks: Vec<(u64, Part, u64)>,
    pub snapshot: Arc<Snapshot>,
}

/// What a block says of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Text,
    Asked(CallKey),
    Decided(CallKey),
    Result(CallKey),
}

#[derive(Debug)]
pub struct Snapshot {
    pub text: String,
    /// The canonical form of the run in it.
    pub print: u64,
    pub hop: u32,
    pub is_over: bool,
    /// The tools whose results were to come later.
    pub deferred: Vec<EffectId>,
    pub ghost: Ghost,
}

#[derive(Clone, Debug, Default)]
pub struct Store {
    /// How many blocks it has.
    pub blocks: u64,
    pub is_closed: bool,
    /// What it knows of each call: 1 that it was asked for, 2 that the person decided, 4 its result.
    pub calls: Vec<(CallKey, u8)>,
    pub snapshot: Option<Arc<Snapshot>>,
}

impl Store {
    pub fn knows(&self, call: CallKey) -> u8 {
        let known = self.calls.iter().find(|entry| entry.0 == call);
        known.map_or(0, |entry| entry.1)
    }
}

/// What the person has seen of the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shown {
    #[default]
    Nothing,
    Running,
    Question,
    End,
}

/// What the world knows of the run beside what is stored; a crash takes it back to the snapshot's.
#[derive(Clone, Debug, Default)]
pub struct Ghost {
    pub shown: Shown,
    /// What the history must say of the calls that came to their end.
    pub results: Vec<(CallKey, &'static str)>,
    /// The calls that the person allowed.
    pub granted: Vec<CallKey>,
    /// The calls that the person stopped.
    pub stopped: Vec<CallKey>,
    /// What the person typed during the turn, and has heard nothing of.
    pub typed: Vec<String>,
}

pub struct World {
    pub machine: RunMachine,
    pub bounds: Arc<Bounds>,
    pub now: u64,
    pub hands: Vec<(EffectId, Hand)>,
    pub store: Store,
    pub ghost: Ghost,
    /// What the peer asked for.
    pub asked: Vec<(CallKey, Kind)>,
    /// How often each tool was begun.
    pub begun: Vec<(CallKey, u8)>,
    /// The blocks that were ever to be written and are not stored, with their digests.
    pub written: Vec<(u64, u64)>,
    pub crashes: u8,
    pub questions: u8,
    pub device: u8,
    pub steers: u8,
    pub is_offline: bool,
    pub is_background: bool,
    /// The hop whose stream the peer has brought to its end.
    pub finished: Option<u32>,
    /// How often the stream of a hop was asked for.
    pub opens: (u32, u32),
    /// A call that the person tries to stop; they may be too late.
    pub stopping: Option<CallKey>,
    /// What went wrong first.
    pub fault: Option<String>,
    /// The moves of the state since the world before.
    pub walked: Vec<EdgeRow>,
}

pub const NOW: u64 = 1_000_000;

impl World {
    pub fn new(bounds: &Arc<Bounds>) -> Self {
        let machine = RunMachine::new(
            Arc::clone(&bounds.config),
            "t".into(),
            Conversation::default(),
        );
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
            is_offline: false,
            is_background: false,
            finished: None,
            opens: (0, 0),
            stopping: None,
            fault: None,
            walked: Vec::new(),
        }
    }

    pub fn fork(&self) -> Self {
        Self {
            machine: self.machine.fork(),
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
            is_offline: self.is_offline,
            is_background: self.is_background,
            finished: self.finished,
            opens: self.opens,
            stopping: None,
            fault: self.fault.clone(),
            walked: Vec::new(),
        }
    }

    /// Notes that an invariant does not hold; the first to be found stands.
    pub fn wrong(&mut self, what: impl Into<String>) {
        self.fault.get_or_insert_with(|| what.into());
    }

    pub fn hand(&self, id: EffectId) -> Option<&Hand> {
        let found = self.hands.iter().find(|entry| entry.0 == id);
        found.map(|(_, hand)| hand)
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
        drop(doors::take_walked());
        next.make(step);
        next.drain();
        if let Some(call) = next.stopping.take()
            && !next.ghost.stopped.contains(&call)
        {
            next.ghost.stopped.push(call);
        }
        next.walked = doors::take_walked();
        next.check(self, step);
        next
    }

    fn make(&mut self, step: Move) {
        let message = || "m".to_owned();
        let input = match step {
            Move::Crash => return self.crash(),
            Move::Fire(timer) => {
                match timer {
                    TimerKey::Tool(call) => self.expect(call, "took too long"),
                    TimerKey::Approval(call) => self.expect(call, "did not answer in time"),
                    _ => {}
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
            Move::Opened(effect) => {
                self.put(effect, Hand::Stream(Said::default()));
                Input::Opened {
                    effect,
                    content_type: None,
                }
            }
            Move::Refused(effect, status) => {
                self.take(effect);
                let refusal = Refusal {
                    status,
                    ..Refusal::default()
                };
                Input::Refused { effect, refusal }
            }
            Move::Unreachable(effect) => {
                self.take(effect);
                let message = message();
                Input::ConnectionFailed { effect, message }
            }
            Move::Says(effect, token) => {
                let bytes = self.say(effect, token).into();
                Input::Received { effect, bytes }
            }
            Move::Ends(effect) => {
                self.take(effect);
                Input::Ended { effect }
            }
            Move::Breaks(effect) => {
                self.take(effect);
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
            Move::Denied(effect) => {
                self.take(effect);
                if let EffectId::Approve(call) = effect {
                    self.expect(call, "did not allow");
                }
                let decision = Decision::Denied { reason: None };
                Input::Decided { effect, decision }
            }
            Move::Works(effect) => {
                self.take(effect);
                if let EffectId::Tool(call) = effect {
                    self.expect(call, "ok");
                }
                let result = Ok("ok".into());
                Input::ToolFinished { effect, result }
            }
            Move::Fails(effect) => {
                self.take(effect);
                if let EffectId::Tool(call) = effect {
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
        if let Err(misuse) = self.machine.handle(input, Timestamp(self.now)) {
            self.wrong(format!("a right input is refused: {misuse}"));
        }
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
        if let Token::Call(kind) = token {
            let index = said.calls.into();
            self.asked.push((CallKey { hop, index }, kind));
        }
        if matches!(token, Token::Reason | Token::Done | Token::Question) {
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
        self.written.clear();
        self.is_offline = false;
        self.is_background = false;
        self.ghost = snapshot.ghost.clone();
        // What goes on elsewhere goes on.
        for id in &snapshot.deferred {
            self.put(*id, Hand::Deferred);
        }
        let config = Arc::clone(&self.bounds.config);
        match RunMachine::revive(&snapshot.text, config, Timestamp(self.now)) {
            Ok(machine) => self.machine = machine,
            Err(error) => self.wrong(format!("the stored snapshot cannot be read: {error}")),
        }
    }

    /// What another path to the same place would have to agree on.
    pub fn print(&self) -> u64 {
        let mut out = DefaultHasher::new();
        let abstraction = &self.bounds.abstraction;
        self.machine.canon(abstraction, &mut out);
        let durable = self.machine.durable();
        for (id, hand) in &self.hands {
            abstraction.effect(*id, durable).hash(&mut out);
            match hand {
                Hand::Create => 0u8.hash(&mut out),
                Hand::Request => 1u8.hash(&mut out),
                Hand::Stream(said) => (2u8, said).hash(&mut out),
                Hand::Approval => 3u8.hash(&mut out),
                Hand::Tool => 4u8.hash(&mut out),
                Hand::Write(write) => {
                    5u8.hash(&mut out);
                    if self.crashes > 0 {
                        write.snapshot.print.hash(&mut out);
                    }
                }
                Hand::Committed => 6u8.hash(&mut out),
                Hand::Deferred => 7u8.hash(&mut out),
            }
        }
        (self.device, self.steers).hash(&mut out);
        (self.is_offline, self.is_background).hash(&mut out);
        (u8::MAX, self.ghost.shown, self.crashes, self.questions).hash(&mut out);
        if !self.is_over() {
            abstraction
                .number(self.store.blocks, durable)
                .hash(&mut out);
        }
        self.store.is_closed.hash(&mut out);
        if !abstraction.time {
            self.now.hash(&mut out);
        }
        // What is stored, and which tools were begun, matters to a host that comes back to a run that goes on.
        if self.crashes > 0
            && let Some(snapshot) = &self.store.snapshot
        {
            snapshot.print.hash(&mut out);
        }
        let snapshot = self.store.snapshot.as_ref();
        if self.crashes > 0 && !snapshot.is_some_and(|snapshot| snapshot.is_over) {
            let hop = snapshot.map_or(0, |snapshot| snapshot.hop);
            for calls in [&self.store.calls, &self.begun] {
                for entry in calls.iter().filter(|entry| entry.0.hop >= hop) {
                    entry.hash(&mut out);
                }
                u8::MAX.hash(&mut out);
            }
        } else if !self.is_over() {
            // A host that came back may begin again what was begun before.
            let hop = self.machine.hop();
            for entry in self.begun.iter().filter(|entry| entry.0.hop >= hop) {
                entry.hash(&mut out);
            }
        }
        out.finish()
    }

    /// Takes in the snapshot that a write carries.
    pub fn snapshot(&mut self, text: String) -> Arc<Snapshot> {
        let mut seen = Seen {
            print: 0,
            hop: self.machine.hop(),
            is_over: self.is_over(),
        };
        if self.crashes > 0 {
            match seen_before(&self.bounds, &text) {
                Ok(found) => seen = found,
                Err(error) => self.wrong(format!("I4: a snapshot cannot be read: {error}")),
            }
        }
        Arc::new(Snapshot {
            text,
            print: seen.print,
            hop: seen.hop,
            is_over: seen.is_over,
            deferred: self
                .hands
                .iter()
                .filter(|(_, hand)| matches!(hand, Hand::Deferred))
                .map(|(id, _)| *id)
                .collect(),
            ghost: self.ghost.clone(),
        })
    }

    pub fn is_over(&self) -> bool {
        self.machine.state() == StateKind::Completed
    }
}

#[derive(Clone, Copy)]
struct Seen {
    print: u64,
    hop: u32,
    is_over: bool,
}

thread_local! {
    /// The canonical forms of snapshots: the same ones come again and again, and reading one is dear.
    static SNAPSHOTS: RefCell<HashMap<u64, Seen>> = RefCell::default();
}

/// What is in a snapshot.
fn seen_before(bounds: &Bounds, text: &str) -> Result<Seen, SnapshotError> {
    let mut out = DefaultHasher::new();
    (bounds.name, text).hash(&mut out);
    format!("{:?}", bounds.abstraction).hash(&mut out);
    let key = out.finish();
    if let Some(seen) = SNAPSHOTS.with_borrow(|seen| seen.get(&key).copied()) {
        return Ok(seen);
    }
    let machine = RunMachine::restore(text, Arc::clone(&bounds.config))?;
    let mut out = DefaultHasher::new();
    machine.canon(&bounds.abstraction, &mut out);
    let seen = Seen {
        print: out.finish(),
        hop: machine.hop(),
        is_over: machine.state() == StateKind::Completed,
    };
    SNAPSHOTS.with_borrow_mut(|known| {
        if known.len() > 500_000 {
            known.clear();
        }
        known.insert(key, seen);
    });
    Ok(seen)
}

/// Digest and meaning of a block.
pub fn part(block: &Block) -> (u64, Part, u64) {
    let part = match &block.content {
        BlockContent::ToolUse { call, .. } => Part::Asked(*call),
        BlockContent::Approval { call, .. } => Part::Decided(*call),
        BlockContent::ToolResult { call, .. } => Part::Result(*call),
        _ => Part::Text,
    };
    let mut out = DefaultHasher::new();
    serde_json::to_vec(&block.content)
        .expect("a block is plain data")
        .hash(&mut out);
    (block.sequence, part, out.finish())
}

/// The person's answer to a question.
pub fn answer(id: &str) -> ResumeEntry {
    ResumeEntry {
        interrupt_id: id.to_owned(),
        status: ResumeStatus::Resolved,
        payload: None,
        metadata: None,
        extra: Default::default(),
    }
}
