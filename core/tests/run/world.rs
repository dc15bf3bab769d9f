//! A simulated world around one run: a provider that speaks real wire bytes, tools, a store, a user and a clock.
//!
//! Nothing in it sleeps, and the same script and seed always give the same world. It answers only what came out of
//! `poll_output`, in the order of its own agenda: each effect is carried out when it is given, and its answers are
//! entered at the virtual times at which they come.

use crate::wire::Say;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::journal::JournalWriter;
use stepwell_core::run::{
    ContextOverflow, Decision, EdgeRow, EffectId, HookAnswer, HookSubject, Input, Misuse, Outcome,
    Output, Refusal, RunConfig, RunEvent, RunMachine, Start, StateKind, TimerKey, ToolInvocation,
};
use stepwell_core::tool::{Tool, ToolFailure, ToolResult};
use stepwell_core::{MessageId, RunId, Timestamp, provider};

use crate::store::Store;

/// A run that takes more inputs never ends: a stream of some thousands of bytes may come byte by byte.
const MOST_INPUTS: usize = 100_000;

/// What the provider does with one request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A stream that says these things; the connection then closes as it should.
    Says(Vec<Say>),
    /// The same, but the connection breaks.
    Breaks(Vec<Say>),
    /// The same, but then nothing comes any more, no end either.
    Stalls(Vec<Say>),
    /// A stream of these bytes, and then this.
    Stream(Vec<u8>, Then),
    /// A 2xx answer with this media type and body.
    Body(Option<&'static str>, Vec<u8>),
    Refuses(Refusal),
    /// No connection.
    Unreachable,
    /// Silence.
    Never,
}

/// What follows the bytes of a stream.
#[derive(Clone, Copy, Debug)]
pub enum Then {
    Ends,
    Breaks,
    Stalls,
}

/// What a tool does with a call.
#[derive(Clone, Debug)]
pub struct Work {
    pub result: Option<ToolResult>,
    pub takes: u64,
}

impl Work {
    pub fn gives(text: &str) -> Self {
        Self {
            result: Some(Ok(text.into())),
            takes: 5,
        }
    }

    pub fn fails(message: &str) -> Self {
        Self {
            result: Some(Err(ToolFailure::error(message))),
            takes: 5,
        }
    }

    pub fn never() -> Self {
        Self {
            result: None,
            takes: 0,
        }
    }

    pub fn after(mut self, millis: u64) -> Self {
        self.takes = millis;
        self
    }
}

/// How the bodies are cut into chunks.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    Whole,
    Every(usize),
    /// At places that the seed decides.
    Seeded,
}

/// From what does not fit to what is kept, and what stands for the rest.
pub type Trim = fn(&ContextOverflow) -> (Vec<MessageId>, Option<String>);

/// What the host's decoder makes of a typed answer.
pub type Decode = fn(&serde_json::Value) -> Result<(), String>;

/// What a hook says of what it looks at; nothing if it never does.
pub type Look = Box<dyn FnMut(&HookSubject) -> Option<HookAnswer>>;

type ToolCode = Box<dyn FnMut(&ToolInvocation) -> Work>;

pub struct World {
    pub machine: RunMachine,
    pub config: Arc<RunConfig>,
    /// What the provider does with the requests to come.
    pub provider: VecDeque<Answer>,
    /// What it does once the script is at its end; without one, the test fails.
    pub otherwise: Option<Answer>,
    pub tools: BTreeMap<String, ToolCode>,
    pub store: Store,
    /// What the user says to each request for approval; nothing once it is empty.
    pub decisions: VecDeque<Decision>,
    /// The runs that the backend creates, if it is asked to; it fails once it is empty.
    pub runs: VecDeque<RunId>,
    /// The run that the first hop gets, if its id is to be another than the turn's.
    pub first_run: Option<RunId>,
    /// What the host leaves out of a conversation that is too long; it cannot once it is empty.
    pub trims: VecDeque<Trim>,
    /// What the host's decoder makes of each typed answer; nothing comes of those that are left.
    pub decodes: VecDeque<Decode>,
    /// What the host says when it is asked for a key, a key or why there is none; it says nothing once it is empty.
    pub keys: VecDeque<Result<&'static str, &'static str>>,
    /// What the hooks say, in the order in which they are asked; they let pass what comes once it is empty.
    pub hooks: VecDeque<Look>,
    pub cut: Cut,
    /// Whether tools that were told to stop give their results all the same.
    pub deaf_tools: bool,
    /// Writes down what happens, if it is to.
    pub journal: Option<JournalWriter>,
    /// Whether the run is stored and restored after every input.
    pub restores: bool,
    pub now: u64,
    pub seen: Seen,
    /// The effects that the host carries out at the moment.
    pub hands: BTreeSet<EffectId>,
    /// The deferred calls that someone works on, whatever becomes of the host.
    pub deferred: BTreeSet<EffectId>,
    /// The answers that are to come, by time.
    pub agenda: BTreeMap<(u64, u64), Input<'static>>,
    entries: u64,
    seed: u64,
}

/// What came out of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub outputs: Vec<Output>,
    pub moves: Vec<EdgeRow>,
}

impl World {
    pub fn chat() -> Self {
        Self::with(Dialect::OpenAiChat, |_| {})
    }

    pub fn ag_ui() -> Self {
        Self::with(Dialect::AgUi, |_| {})
    }

    pub fn of(dialect: Dialect) -> Self {
        Self::with(dialect, |_| {})
    }

    /// A world in which the run has the configuration that `change` makes of the default one.
    pub fn with(dialect: Dialect, change: impl FnOnce(&mut RunConfig)) -> Self {
        let mut config = config(dialect);
        config.tells_moves = true;
        change(&mut config);
        let config = Arc::new(config);
        let machine = RunMachine::new(
            Arc::clone(&config),
            "thread".into(),
            Conversation::default(),
        );
        Self {
            machine,
            config,
            provider: VecDeque::new(),
            otherwise: None,
            tools: BTreeMap::new(),
            store: Store::default(),
            decisions: VecDeque::new(),
            runs: VecDeque::new(),
            first_run: None,
            trims: VecDeque::new(),
            decodes: VecDeque::new(),
            keys: VecDeque::new(),
            hooks: VecDeque::new(),
            cut: Cut::Seeded,
            deaf_tools: false,
            journal: None,
            restores: false,
            now: 1_000_000,
            seen: Seen::default(),
            hands: BTreeSet::new(),
            deferred: BTreeSet::new(),
            agenda: BTreeMap::new(),
            entries: 0,
            seed: 7,
        }
    }

    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Writes a journal from here on; the run has not begun.
    pub fn journaled(mut self) -> Self {
        let config = RunConfig {
            tells_moves: false,
            ..(*self.config).clone()
        };
        self.config = Arc::new(config);
        let history = self.machine.conversation().clone();
        let thread = self.machine.thread_id().expect("it is not broken").clone();
        let journal = JournalWriter::new(&self.config, &thread, &history);
        self.machine = RunMachine::new(Arc::clone(&self.config), thread, history);
        self.journal = Some(journal);
        self
    }

    pub fn answers(mut self, answer: Answer) -> Self {
        self.provider.push_back(answer);
        self
    }

    pub fn says(self, says: impl IntoIterator<Item = Say>) -> Self {
        self.answers(Answer::Says(says.into_iter().collect()))
    }

    pub fn tool(mut self, name: &str, code: impl FnMut(&ToolInvocation) -> Work + 'static) -> Self {
        self.tools.insert(name.to_owned(), Box::new(code));
        self
    }

    /// The user says something.
    pub fn send(&mut self, text: &str) {
        let start = Start::new("run-1", Message::user("user-1", text));
        self.input(Input::Start(Box::new(start)))
            .expect("the run is idle");
    }

    /// The user says something, and all is carried out until it is quiet.
    pub fn turn(mut self) -> Self {
        self.send("Go on");
        self.drive();
        self
    }

    /// Feeds one input at the present time, and carries out what comes of it.
    pub fn input(&mut self, input: Input<'_>) -> Result<(), Misuse> {
        if let Some(effect) = input.effect()
            && !matches!(
                input,
                Input::Opened { .. }
                    | Input::Received { .. }
                    | Input::ToolProgress { .. }
                    | Input::ToolPartialResult { .. }
                    | Input::ToolAsks { .. }
            )
        {
            self.hands.remove(&effect);
            self.deferred.remove(&effect);
            if matches!(input, Input::ToolDeferred { .. }) {
                self.deferred.insert(effect);
            }
        }
        let now = Timestamp(self.now);
        let result = match &mut self.journal {
            Some(journal) => journal.handle(&mut self.machine, input, now),
            None => self.machine.handle(input, now),
        };
        self.settle();
        result
    }

    pub fn cancel(&mut self) {
        self.input(Input::Cancel)
            .expect("cancel is never a mistake once a run has begun");
    }

    /// Carries on until nothing is left to happen.
    pub fn drive(&mut self) {
        self.drive_bounded(MOST_INPUTS);
    }

    /// The same; fails past `bound` inputs.
    pub fn drive_bounded(&mut self, bound: usize) {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(
                steps <= bound,
                "not quiet after {bound} inputs: {:?}",
                self.machine.state()
            );
        }
        self.assert_not_stuck();
    }

    /// Carries on until the run is in `state`.
    pub fn drive_to(&mut self, state: StateKind) {
        for _ in 0..MOST_INPUTS {
            if self.machine.state() == state {
                return;
            }
            assert!(
                self.step(),
                "quiet in {:?}, before {state:?}",
                self.machine.state()
            );
        }
        panic!("never in {state:?}");
    }

    /// Carries on until this holds.
    pub fn drive_until(&mut self, holds: impl Fn(&Self) -> bool) {
        for _ in 0..MOST_INPUTS {
            if holds(self) {
                return;
            }
            assert!(self.step(), "quiet in {:?}", self.machine.state());
        }
        panic!("it never comes to that");
    }

    /// The same host goes on with this run.
    pub fn put_back(&mut self, machine: RunMachine) {
        self.machine = machine;
        self.settle();
    }

    /// Another host takes over with this run: what the old one did is forgotten.
    pub fn take_over(&mut self, machine: RunMachine) {
        self.machine = machine;
        self.hands.clear();
        self.agenda.clear();
        self.settle();
    }

    /// Lets the next thing happen: an answer that is due, or a timer. `false` if there is none.
    pub fn step(&mut self) -> bool {
        let entry = self.agenda.keys().next().copied();
        let timer = self.machine.poll_timeout().map(|at| at.0);
        match (entry, timer) {
            (Some(entry), timer) if timer.is_none_or(|timer| entry.0 <= timer) => {
                self.now = self.now.max(entry.0);
                let input = self.agenda.remove(&entry).expect("it was there");
                if let Err(misuse) = self.input(input) {
                    panic!("the world keeps to the contract: {misuse}");
                }
                true
            }
            (_, Some(timer)) => {
                self.now = self.now.max(timer);
                self.input(Input::Timeout)
                    .expect("time passes in every state");
                true
            }
            (Some(_), None) | (None, None) => false,
        }
    }

    /// I1: what is quiet is over, or waits for someone who was really asked, or for a time.
    pub fn assert_not_stuck(&self) {
        let waits = match self.machine.state() {
            StateKind::Completed | StateKind::Interrupted | StateKind::Idle => true,
            _ => {
                !self.hands.is_empty()
                    || !self.deferred.is_empty()
                    || self
                        .machine
                        .timeout_reason()
                        .is_some_and(|reason| reason != TimerKey::Turn)
            }
        };
        assert!(
            waits,
            "stuck in {:?}: {}",
            self.machine.state(),
            self.machine.snapshot()
        );
    }

    /// Takes every output, carries out the effects, and stores and restores the run if it is to.
    fn settle(&mut self) {
        while let Some(output) = self.next_output() {
            if let Output::Event(RunEvent::AgUi(event)) = &output {
                crate::schema::assert_schema(event);
            }
            if let Output::Moved(edge) = output {
                self.seen.moves.push(edge);
                continue;
            }
            self.seen.outputs.push(output.clone());
            if let Output::Effect(id, effect) = output {
                self.carry_out(id, effect);
            }
        }
        if self.restores {
            let snapshot = self.machine.snapshot();
            self.machine = RunMachine::restore(&snapshot, Arc::clone(&self.config))
                .expect("it was just written");
            assert_eq!(
                self.machine.snapshot(),
                snapshot,
                "a restored run is the same run"
            );
        }
    }

    fn next_output(&mut self) -> Option<Output> {
        match &mut self.journal {
            Some(journal) => journal.poll_output(&mut self.machine),
            None => self.machine.poll_output(),
        }
    }

    /// Enters an input to come in `wait` milliseconds.
    pub fn enter(&mut self, wait: u64, input: Input<'static>) {
        self.agenda.insert((self.now + wait, self.entries), input);
        self.entries += 1;
    }

    /// SplitMix64.
    pub fn random(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn wait(&mut self, millis: u64) {
        self.now += millis;
    }

    #[track_caller]
    pub fn outcome(&self) -> &Outcome {
        self.machine
            .outcome()
            .unwrap_or_else(|| panic!("the turn is not over: {:?}", self.machine.state()))
    }
}

/// The configuration that worlds begin with: a store-less run without jitter.
pub fn config(dialect: Dialect) -> RunConfig {
    let name = if dialect == Dialect::AgUi {
        "ag-ui"
    } else {
        "openai-compatible"
    };
    let endpoint = provider::find(name)
        .expect("the table has it")
        .endpoint(
            None,
            "a-model",
            Some("http://localhost/v1"),
            Some("sk-secret".into()),
        )
        .expect("nothing is missing");
    let mut config = RunConfig::new(endpoint);
    config.retry.jitter = 0.0;
    config.retry.first_delay = Duration::from_millis(100);
    config
}

/// Adds a tool without arguments to a configuration.
pub fn offer(config: &mut RunConfig, tool: Tool) {
    config.tools = config.tools.register(tool).expect("a good tool");
}
