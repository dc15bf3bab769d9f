//! A simulated world around one run: a provider that speaks real wire bytes, tools, a store, a user and a clock.
//!
//! Nothing in the world sleeps, and the same script and seed always give the same world. It answers only effects that
//! came out of `poll_output`: each effect is carried out at once, and its answers are scheduled at virtual times.
//!
//! ```
//! use stepwell_core::dialect::Dialect;
//! use stepwell_core::run::Outcome;
//! use stepwell_core::tool::Tool;
//! use stepwell_testing::reply::{call, text};
//! use stepwell_testing::world::{ToolReply, World, config};
//!
//! let mut config = config(Dialect::Anthropic);
//! config.tools = config.tools.register(Tool::new("weather", "The weather.")).unwrap();
//! let world = World::new(config)
//!     .streams([text("Let me see. "), call("a", "weather", "{}")])
//!     .streams([text("It is sunny.")])
//!     .tool("weather", |_| ToolReply::text("sunny"))
//!     .turn();
//! assert_eq!(*world.outcome(), Outcome::Success);
//! assert_eq!(world.result(), "sunny");
//! ```

mod effects;
mod network;
mod seen;
mod store;
mod tool;

pub use network::{Cut, Ending, Reply};
pub use seen::Seen;
pub use store::Store;
pub use tool::ToolReply;

use crate::StoredTurn;
use crate::reply::Part;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::journal::JournalWriter;
use stepwell_core::provider::{self, Provider};
use stepwell_core::run::{
    ContextOverflow, Decision, EffectId, HookAnswer, HookSubject, Input, Misuse, Outcome, Output,
    RunConfig, RunMachine, Start, StateKind, TimerKey, ToolInvocation,
};
use stepwell_core::transcript::Transcript;
use stepwell_core::{MessageId, RunId, Timestamp};

/// The inputs after which a run counts as endless: a stream of some thousands of bytes may come byte by byte.
const MAX_INPUTS: usize = 100_000;

/// From what does not fit into the context to the messages that are kept, and a summary of the others.
pub type Trim = fn(&ContextOverflow) -> (Vec<MessageId>, Option<String>);

/// Decodes a typed answer, as an app does; an error is the reason why it does not fit.
pub type Decode = fn(&serde_json::Value) -> Result<(), String>;

/// Answers a hook; `None` if no answer ever comes.
pub type Hook = Box<dyn FnMut(&HookSubject) -> Option<HookAnswer>>;

type ToolCode = Box<dyn FnMut(&ToolInvocation) -> ToolReply>;

/// A simulated world around one run; see the [module](self).
#[must_use]
pub struct World {
    /// The run.
    pub machine: RunMachine,
    /// The run's configuration.
    pub config: Arc<RunConfig>,
    /// The provider's replies to the next requests.
    pub replies: VecDeque<Reply>,
    /// The reply to requests after the last of [`replies`](Self::replies); without it, such a request panics.
    pub fallback_reply: Option<Reply>,
    /// The code of the tools, by name.
    pub tools: BTreeMap<String, ToolCode>,
    /// The store.
    pub store: Store,
    /// The user's decisions on the next requests for approval; no decision comes once they are used up.
    pub decisions: VecDeque<Decision>,
    /// The runs that the backend creates for hops after the first; creation fails once they are used up.
    pub runs: VecDeque<RunId>,
    /// The run that the backend creates for the first hop, if not the turn's own.
    pub first_run: Option<RunId>,
    /// The ways in which the host trims contexts that are too long; it cannot once they are used up.
    pub trims: VecDeque<Trim>,
    /// The ways in which the host decodes the next typed answers; it never reports a result once they are used up.
    pub decodes: VecDeque<Decode>,
    /// The keys that the host reports when it is asked for credentials, or the reasons why there are none; it never
    /// reports once they are used up.
    pub credentials: VecDeque<Result<&'static str, &'static str>>,
    /// The models that the host chooses for the next hops, or the reasons why it cannot; it never chooses once they are used
    /// up.
    pub models: VecDeque<Result<u32, &'static str>>,
    /// The answers of the next hooks; hooks let everything pass once they are used up.
    pub hooks: VecDeque<Hook>,
    /// The way in which bodies are cut into chunks.
    pub cut: Cut,
    /// Whether tools that are cancelled report their results all the same.
    pub ignores_cancel: bool,
    /// The journal of the run, if one is written.
    pub journal: Option<JournalWriter>,
    /// Whether the run is stored and restored after every input.
    pub restores: bool,
    /// Whether the run restored from each write is compared with the complete run, which takes time in proportion to
    /// the run's size.
    pub compares_writes: bool,
    /// The time, in milliseconds.
    pub now: u64,
    /// The run's outputs.
    pub seen: Seen,
    /// The effects that the host is carrying out.
    pub given: BTreeSet<EffectId>,
    /// The deferred calls, which outlive the host.
    pub deferred: BTreeSet<EffectId>,
    /// The inputs that are still to come, by time.
    pub scheduled: BTreeMap<(u64, u64), Input<'static>>,
    /// Sees every output before it is carried out.
    pub observer: Option<fn(&Output)>,
    entries: u64,
    seed: u64,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("state", &self.machine.state())
            .field("now", &self.now)
            .field("given", &self.given)
            .finish_non_exhaustive()
    }
}

impl World {
    /// A world around a run with this configuration, whose moves it [records](Seen::moves).
    pub fn new(mut config: RunConfig) -> Self {
        config.tells_moves = true;
        let config = Arc::new(config);
        let machine = RunMachine::new(Arc::clone(&config), "thread".into(), Transcript::default());
        Self {
            machine,
            config,
            replies: VecDeque::new(),
            fallback_reply: None,
            tools: BTreeMap::new(),
            store: Store::default(),
            decisions: VecDeque::new(),
            runs: VecDeque::new(),
            first_run: None,
            trims: VecDeque::new(),
            decodes: VecDeque::new(),
            credentials: VecDeque::new(),
            models: VecDeque::new(),
            hooks: VecDeque::new(),
            cut: Cut::Seeded,
            ignores_cancel: false,
            journal: None,
            restores: false,
            compares_writes: true,
            now: 1_000_000,
            seen: Seen::default(),
            given: BTreeSet::new(),
            deferred: BTreeSet::new(),
            scheduled: BTreeMap::new(),
            observer: None,
            entries: 0,
            seed: 7,
        }
    }

    /// Sets the seed of the cuts.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Writes a journal of the run, which must not have begun. A journal has no moves, so they are not recorded.
    ///
    /// # Panics
    /// If the machine is broken.
    pub fn journaled(mut self) -> Self {
        let config = RunConfig {
            tells_moves: false,
            ..(*self.config).clone()
        };
        self.config = Arc::new(config);
        let history = self.machine.transcript().clone();
        let thread = self.machine.thread_id().expect("it is not broken").clone();
        let journal = JournalWriter::new(&self.config, &thread, &history);
        self.machine = RunMachine::new(Arc::clone(&self.config), thread, history);
        self.journal = Some(journal);
        self
    }

    /// Adds the provider's reply to one more request.
    pub fn reply(mut self, reply: Reply) -> Self {
        self.replies.push_back(reply);
        self
    }

    /// Adds a complete stream of these parts as the reply to one more request.
    pub fn streams(self, parts: impl IntoIterator<Item = Part>) -> Self {
        self.reply(Reply::Complete(parts.into_iter().collect()))
    }

    /// Adds the code of a tool.
    pub fn tool(
        mut self,
        name: &str,
        code: impl FnMut(&ToolInvocation) -> ToolReply + 'static,
    ) -> Self {
        self.tools.insert(name.to_owned(), Box::new(code));
        self
    }

    /// Starts a turn with the user's message.
    ///
    /// # Panics
    /// If a turn has been started already.
    pub fn send(&mut self, text: &str) {
        let start = Start::new("run-1", Message::user("user-1", text));
        self.input(Input::Start(Box::new(start)))
            .expect("the run is idle");
    }

    /// Runs a turn until nothing is left to happen.
    pub fn turn(mut self) -> Self {
        self.send("Go on");
        self.drive();
        self
    }

    /// Feeds one input at the present time, and carries out its effects.
    ///
    /// # Errors
    /// The machine's error for the input.
    pub fn input(&mut self, input: Input<'_>) -> Result<(), Misuse> {
        if let Some(effect) = input.effect()
            && ends_effect(&input)
        {
            self.given.remove(&effect);
            self.deferred.remove(&effect);
            if matches!(input, Input::ToolDeferred { .. }) {
                self.deferred.insert(effect);
            }
        }
        self.store.turn.note(&self.machine, &input);
        let now = Timestamp(self.now);
        let result = match &mut self.journal {
            Some(journal) => journal.handle(&mut self.machine, input, now),
            None => self.machine.handle(input, now),
        };
        self.settle();
        result
    }

    /// Cancels the turn.
    ///
    /// # Panics
    /// If the turn has not begun.
    pub fn cancel(&mut self) {
        self.input(Input::Cancel)
            .expect("cancel is never a mistake once a run has begun");
    }

    /// Continues until nothing is left to happen.
    pub fn drive(&mut self) {
        self.drive_bounded(MAX_INPUTS);
    }

    /// Continues until nothing is left to happen.
    ///
    /// # Panics
    /// After more than `bound` inputs.
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

    /// Continues until the run is in `state`.
    ///
    /// # Panics
    /// If the run never is.
    pub fn drive_to(&mut self, state: StateKind) {
        for _ in 0..MAX_INPUTS {
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

    /// Continues until a condition holds.
    ///
    /// # Panics
    /// If it never does.
    pub fn drive_until(&mut self, holds: impl Fn(&Self) -> bool) {
        for _ in 0..MAX_INPUTS {
            if holds(self) {
                return;
            }
            assert!(self.step(), "quiet in {:?}", self.machine.state());
        }
        panic!("it never comes to that");
    }

    /// Continues with another machine for the same run, on the same host.
    pub fn put_back(&mut self, machine: RunMachine) {
        self.machine = machine;
        self.settle();
    }

    /// Continues with another machine on another host: what the old host was carrying out is forgotten.
    pub fn take_over(&mut self, machine: RunMachine) {
        self.machine = machine;
        self.given.clear();
        self.scheduled.clear();
        self.settle();
    }

    /// The run from what is stored of it, in the hands of a new host.
    ///
    /// # Panics
    /// If nothing is stored, or it cannot be read.
    #[must_use]
    pub fn stored_run(&self) -> RunMachine {
        let revived = self.store.turn.revive(&self.config, Timestamp(self.now));
        revived.expect("it was written by this version")
    }

    /// The host dies, and a new one continues with what is stored.
    ///
    /// # Panics
    /// If nothing is stored, or it cannot be read.
    pub fn crash(&mut self) {
        let machine = match &mut self.journal {
            Some(journal) => {
                let StoredTurn {
                    history,
                    turn,
                    checkpoint,
                } = &self.store.turn;
                let checkpoint = checkpoint.as_ref().expect("something was written");
                let now = Timestamp(self.now);
                let revived =
                    journal.revive_from(checkpoint, history.clone(), turn, &self.config, now);
                revived.expect("it was written by this version")
            }
            None => self.stored_run(),
        };
        self.take_over(machine);
    }

    /// Advances to the next scheduled input or timer. Returns `false` if there is none.
    ///
    /// # Panics
    /// If the machine refuses the input.
    pub fn step(&mut self) -> bool {
        let entry = self.scheduled.keys().next().copied();
        let timer = self.machine.poll_timeout().map(|at| at.0);
        match (entry, timer) {
            (Some(entry), timer) if timer.is_none_or(|timer| entry.0 <= timer) => {
                self.now = self.now.max(entry.0);
                let input = self.scheduled.remove(&entry).expect("it was there");
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

    /// Checks invariant I1: a quiet run is over, or waits for someone who was asked, or for a time.
    ///
    /// # Panics
    /// If the run is stuck.
    pub fn assert_not_stuck(&self) {
        let waits = match self.machine.state() {
            StateKind::Completed | StateKind::Interrupted | StateKind::Idle => true,
            _ => {
                !self.given.is_empty()
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

    /// Takes every output, carries out the effects, and stores and restores the run if it should.
    fn settle(&mut self) {
        while let Some(output) = self.next_output() {
            if let Some(observer) = self.observer {
                observer(&output);
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

    /// Schedules an input in `wait` milliseconds.
    pub fn schedule(&mut self, wait: u64, input: Input<'static>) {
        self.scheduled
            .insert((self.now + wait, self.entries), input);
        self.entries += 1;
    }

    /// Lets time pass, in milliseconds.
    pub fn wait(&mut self, millis: u64) {
        self.now += millis;
    }

    /// The outcome of the turn.
    ///
    /// # Panics
    /// If the turn is not over.
    #[track_caller]
    pub fn outcome(&self) -> &Outcome {
        self.machine
            .outcome()
            .unwrap_or_else(|| panic!("the turn is not over: {:?}", self.machine.state()))
    }
}

/// Returns whether the host is done with an effect after this input about it.
pub(crate) fn ends_effect(input: &Input<'_>) -> bool {
    !matches!(
        input,
        Input::Opened { .. }
            | Input::Received { .. }
            | Input::ToolProgress { .. }
            | Input::ToolPartialResult { .. }
            | Input::ToolAsks { .. }
    )
}

/// A configuration for tests of one dialect: a provider on `http://localhost/v1`, no store, and retries without jitter.
///
/// # Panics
/// Never: the table of providers has one for every dialect.
#[must_use]
pub fn config(dialect: Dialect) -> RunConfig {
    // OpenAI's chat is spoken by many providers: the one without peculiarities of its own.
    let is_plain = |provider: &&Provider| {
        dialect != Dialect::OpenAiChat || provider.name == "openai-compatible"
    };
    let mut providers = provider::all().iter().filter(is_plain);
    let (provider, api) = providers
        .find_map(|provider| {
            let api = provider.apis.iter().find(|api| api.dialect == dialect)?;
            Some((provider, api))
        })
        .expect("the table has it");
    let endpoint = provider
        .endpoint(
            Some(&api.name),
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
