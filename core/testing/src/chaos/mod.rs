//! A host, a network, a store and a user that do anything at any time, and the promises that a run keeps all the same.
//!
//! The host breaks no contract: it answers only effects that it was given, or sends answers that come too late. Apart from
//! that, answers come in any order, streams are cut and broken, tools fail, ask and defer, stores fail, and hosts die. After
//! every action the run is held to its [invariants](Invariant).
//!
//! ```
//! use proptest::prelude::*;
//! use stepwell_core::dialect::Dialect;
//! use stepwell_testing::chaos::{Chaos, actions};
//! use stepwell_testing::config;
//!
//! proptest!(ProptestConfig::with_cases(16), |(actions in actions())| {
//!     let mut chaos = Chaos::new(config(Dialect::OpenAiChat));
//!     for action in actions {
//!         chaos.apply(action);
//!     }
//!     chaos.finish()?;
//! });
//! ```

mod action;
mod answer;
mod arguments;
mod bill;
mod check;
mod disk;
mod lives;
mod log;
mod model;
mod outputs;
mod stored;
mod twin;
mod violation;

pub use action::{Action, CRASH_STATES, Moment, action, actions};
pub use arguments::value_of;
pub use twin::Twin;
pub use violation::{Invariant, Violation};

use crate::world::ends_effect;
use bill::Bill;
use disk::Disk;
use lives::Screen;
use log::Log;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use stepwell_core::event::Message;
use stepwell_core::journal::JournalWriter;
use stepwell_core::run::{
    Block, Decision, Effect, EffectId, HookAnswer, HookPlace, Input, Outcome, Output, RunConfig,
    RunMachine, StateKind, ToolInvocation,
};
use stepwell_core::tool::ToolResult;
use stepwell_core::transcript::Transcript;
use stepwell_core::{CallKey, Timestamp};
use twin::Twins;

/// The rounds of answers after which a run counts as endless.
const MAX_ROUNDS: usize = 2_000;

/// Runs a call of a tool.
pub type ToolCode = Arc<dyn Fn(&ToolInvocation) -> ToolResult + Send + Sync>;

/// A run in the hands of a host that does anything; see the [module](self).
pub struct Chaos {
    machine: RunMachine,
    config: Arc<RunConfig>,
    tools: BTreeMap<String, ToolCode>,
    now: u64,
    /// The effects that the host was given and has not answered.
    given: BTreeMap<EffectId, Given>,
    /// The frames of each hop's stream, where the backend can resume it.
    streams: BTreeMap<u32, Vec<String>>,
    /// The frame after which a stream resumes.
    resumes_after: BTreeMap<EffectId, usize>,
    /// Every effect there ever was.
    known: Vec<EffectId>,
    /// The requests that were sent in this life of the host.
    sent: BTreeSet<EffectId>,
    /// All blocks that were ever emitted for writing.
    blocks: BTreeMap<u64, Block>,
    disk: Disk,
    outputs: Vec<Output>,
    /// The number of outputs when the present host started.
    born: usize,
    screen: Screen,
    /// The next crash.
    armed: Option<(Moment, bool)>,
    /// The moments in which hosts have died.
    crashes: Vec<(StateKind, bool)>,
    resumed: u32,
    /// The hops that ask again for an answer which the host's death has cut.
    cut_hops: u32,
    steered: usize,
    is_cancelled: bool,
    over: Option<(Outcome, Vec<Message>)>,
    /// The calls that the user denied, or that a hook refused.
    refused: BTreeSet<CallKey>,
    /// The calls that ran in this life of the host.
    ran: Vec<CallKey>,
    /// The calls of tools that are not idempotent, over all lives.
    ran_ever: Vec<CallKey>,
    twins: Twins,
    bill: Bill,
    /// Whether the run is stored and restored after every input.
    restores: bool,
    journal: Option<JournalWriter>,
    log: Log,
    violation: Option<Violation>,
}

/// The host's state of an effect that it was given.
enum Given {
    Request,
    /// The rest of a stream's body.
    Stream(Vec<u8>),
    Tool(Box<ToolInvocation>),
    /// Anything else.
    Other,
}

impl fmt::Debug for Chaos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chaos")
            .field("state", &self.machine.state())
            .field("violation", &self.violation)
            .finish_non_exhaustive()
    }
}

impl Chaos {
    /// A run with this configuration that has not begun.
    #[must_use]
    pub fn new(mut config: RunConfig) -> Self {
        config.tells_moves = true;
        let config = Arc::new(config);
        let machine = RunMachine::new(Arc::clone(&config), "thread".into(), Transcript::default());
        Self {
            disk: Disk::new(&config),
            log: Log::default(),
            machine,
            config,
            tools: BTreeMap::new(),
            now: 1_000,
            given: BTreeMap::new(),
            streams: BTreeMap::new(),
            resumes_after: BTreeMap::new(),
            known: Vec::new(),
            sent: BTreeSet::new(),
            blocks: BTreeMap::new(),
            outputs: Vec::new(),
            born: 0,
            screen: Screen::default(),
            armed: None,
            crashes: Vec::new(),
            resumed: 0,
            cut_hops: 0,
            steered: 0,
            is_cancelled: false,
            over: None,
            refused: BTreeSet::new(),
            ran: Vec::new(),
            ran_ever: Vec::new(),
            twins: Twins::default(),
            bill: Bill::default(),
            restores: false,
            journal: None,
            violation: None,
        }
    }

    /// Adds the code of a tool. A tool without code returns a short text.
    #[must_use]
    pub fn tool(
        mut self,
        name: &str,
        code: impl Fn(&ToolInvocation) -> ToolResult + Send + Sync + 'static,
    ) -> Self {
        self.tools.insert(name.to_owned(), Arc::new(code));
        self
    }

    /// Adds the code of several tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = (String, ToolCode)>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Compares the run with a second one after every input.
    #[must_use]
    pub fn twin(mut self, twin: Twin) -> Self {
        self.twins.kind = Some(twin);
        self
    }

    /// Stores and restores the run after every input.
    #[must_use]
    pub const fn restored(mut self, restores: bool) -> Self {
        self.restores = restores;
        self
    }

    /// Writes a journal of the run, which must not have begun. A host of such a run that dies leaves the run as it is, not
    /// as it was stored, and the run reports no moves.
    #[must_use]
    pub fn journaled(self) -> Self {
        let mut config = (*self.config).clone();
        config.tells_moves = false;
        let config = Arc::new(config);
        let history = Transcript::default();
        let journal = JournalWriter::new(&config, &"thread".into(), &history);
        Self {
            machine: RunMachine::new(Arc::clone(&config), "thread".into(), history),
            config,
            journal: Some(journal),
            ..self
        }
    }

    /// The run.
    #[must_use]
    pub const fn machine(&self) -> &RunMachine {
        &self.machine
    }

    /// The run's configuration.
    #[must_use]
    pub const fn config(&self) -> &Arc<RunConfig> {
        &self.config
    }

    /// The configuration of the model that is asked now.
    fn asked(&self) -> &Arc<RunConfig> {
        self.machine.config().unwrap_or(&self.config)
    }

    /// Returns all outputs of the run, over all lives of its host.
    #[must_use]
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// The calls that the host was to run, over all its lives, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolInvocation> {
        self.outputs.iter().filter_map(|output| match output {
            Output::Effect(_, Effect::RunTool { invocation }) => Some(&**invocation),
            _ => None,
        })
    }

    /// Returns the tokens of the requests and of the answers that the providers bill, if no host died: the usage that their
    /// answers reported in the bytes that reached the host.
    #[must_use]
    pub fn billed(&self) -> (u64, u64) {
        self.bill.total()
    }

    /// The same with what stood in frames that were not complete when the host stopped reading.
    #[must_use]
    pub fn billed_at_most(&self) -> (u64, u64) {
        self.bill.most()
    }

    /// The state of the run, and whether a tool was running, each time that its host died.
    #[must_use]
    pub fn crashes(&self) -> &[(StateKind, bool)] {
        &self.crashes
    }

    /// The journal, which is no longer written.
    pub const fn take_journal(&mut self) -> Option<JournalWriter> {
        self.journal.take()
    }

    /// The first promise that the run broke.
    #[must_use]
    pub const fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// The run from its beginning, in the form of [scenario files](crate::scenario).
    #[must_use]
    pub fn scenario(&self) -> serde_json::Value {
        self.log.scenario(&self.config)
    }

    /// Returns whether [`scenario`](Self::scenario) has all inputs. Scenarios have no form for some: arguments of a
    /// user that are no JSON, for one.
    #[must_use]
    pub const fn has_complete_scenario(&self) -> bool {
        self.log.is_complete()
    }

    /// Applies an action. Nothing more happens once a promise is broken.
    pub fn apply(&mut self, action: Action) {
        if self.violation.is_some() {
            return;
        }
        match action {
            Action::Start => self.feed(Self::start()),
            Action::Answer { pick, detail } => {
                self.now += u64::from(detail % 7);
                let input = match self.pick(pick) {
                    Some(effect) => self.answer(effect, detail),
                    None => Self::start(),
                };
                self.feed(input);
            }
            Action::LateAnswer { pick, detail } => {
                self.now += u64::from(detail % 7);
                let input = self.late_answer(pick, detail);
                self.feed(input);
            }
            Action::Wake => {
                if let Some(at) = self.machine.poll_timeout() {
                    self.now = self.now.max(at.0);
                }
                self.feed(Input::Timeout);
            }
            Action::WakeEarly => self.feed(Input::Timeout),
            Action::Resume { detail } => self.feed(self.resume(detail)),
            Action::Steer { detail } => self.feed(self.steer(detail)),
            Action::EnterBackground => self.feed(Input::EnteredBackground),
            Action::EnterForeground => self.feed(Input::EnteredForeground),
            Action::LoseNetwork => self.feed(Input::NetworkLost),
            Action::RegainNetwork => self.feed(Input::NetworkAvailable),
            Action::Cancel => self.feed(Input::Cancel),
            Action::CancelCall { index } => self.feed(Input::CancelCall {
                call: CallKey {
                    hop: self.machine.hop(),
                    index: u32::from(index),
                },
            }),
            Action::Dispose => self.feed(Input::Dispose),
            Action::Crash { written } => self.crash(written),
            Action::CrashAt { moment, written } => self.armed = Some((moment, written)),
            Action::FalseAlarm => self.disk.false_alarms += 1,
        }
        self.crash_if_armed();
    }

    /// Lets the host answer all that it is asked for until the run is quiet, and checks how it ended.
    ///
    /// # Errors
    /// The first promise that the run broke.
    pub fn finish(&mut self) -> Result<(), Violation> {
        self.settle();
        if self.violation.is_none() && self.machine.state() != StateKind::Idle {
            self.check_end();
        }
        self.violation.clone().map_or(Ok(()), Err)
    }

    /// Lets the host answer all that it is asked for until the run is quiet.
    pub fn settle(&mut self) {
        self.feed(Input::EnteredForeground);
        self.feed(Input::NetworkAvailable);
        for _ in 0..MAX_ROUNDS {
            if self.violation.is_some() {
                return;
            }
            if let Some(effect) = self.pick(0) {
                let input = self.good_answer(effect);
                self.feed(input);
            } else if self.machine.state() == StateKind::Interrupted {
                self.feed(self.resume(7));
            } else if let Some(at) = self.machine.poll_timeout() {
                self.now = self.now.max(at.0);
                self.feed(Input::Timeout);
            } else {
                return;
            }
        }
        self.fail(
            Invariant::EndsOrWaits,
            format!("not quiet in {}", self.machine.state()),
        );
    }

    /// Feeds one input, and takes its outputs.
    fn feed(&mut self, input: Input<'static>) {
        if self.violation.is_some() {
            return;
        }
        self.log.input(self.now, &input);
        let before = self.machine.clone();
        let is_done = input.effect().filter(|_| is_answer(&input));
        let is_dispose = matches!(input, Input::Dispose);
        let refused =
            refused_call(&input).filter(|_| is_done.is_some_and(|id| self.given.contains_key(&id)));
        if let Some(effect) = input.effect().filter(|id| self.given.contains_key(id)) {
            let endpoint = self.asked().endpoint.clone();
            let is_resumed = self.resumes_after.contains_key(&effect);
            self.bill.note(&input, &endpoint, is_resumed);
        }
        self.disk.answered(&input);
        self.disk.turn.note(&self.machine, &input);
        let expected = self
            .twins
            .feed(&self.machine, &self.config, &input, self.now);
        let known = self.outputs.len();
        let now = Timestamp(self.now);
        let kind = (
            matches!(input, Input::Cancel),
            matches!(input, Input::Resume(_)),
            matches!(input, Input::Steer(_)),
        );
        let result = match &mut self.journal {
            Some(journal) => journal.handle(&mut self.machine, input, now),
            None => self.machine.handle(input, now),
        };
        match &result {
            Ok(()) => {
                self.is_cancelled |= kind.0;
                self.resumed += u32::from(kind.1);
                self.steered += usize::from(kind.2);
                if let Some(effect) = is_done {
                    self.given.remove(&effect);
                }
                self.refused.extend(refused);
            }
            Err(misuse) => {
                if self.machine.snapshot() != before.snapshot() {
                    self.fail(Invariant::MisuseChangesNothing, misuse.to_string());
                }
            }
        }
        self.take_outputs();
        if let Some(expected) = expected {
            let same = expected.compare(&result, &self.outputs[known..], &self.machine);
            self.expect(same);
        }
        if is_dispose {
            self.hand_over(&before);
        }
        if self.restores {
            self.restore();
        }
        self.check();
    }

    fn restore(&mut self) {
        let snapshot = self.machine.snapshot();
        let config = Arc::clone(&self.config);
        let restored = match &mut self.journal {
            Some(journal) => {
                let snapshot = journal.snapshot(&self.machine);
                journal.restore(&snapshot, &config, Timestamp(self.now))
            }
            None => RunMachine::restore(&snapshot, config),
        };
        match restored {
            Ok(machine) => self.machine = machine,
            Err(error) => self.fail(Invariant::RestoreChangesNothing, error.to_string()),
        }
        let is_same = self.machine.snapshot() == snapshot;
        self.ensure(is_same, Invariant::RestoreChangesNothing, || {
            "a restored run has another snapshot".to_owned()
        });
        self.take_outputs();
    }

    fn fail(&mut self, invariant: Invariant, message: String) {
        if self.violation.is_none() {
            self.violation = Some(Violation { invariant, message });
        }
    }

    fn ensure(&mut self, holds: bool, invariant: Invariant, message: impl FnOnce() -> String) {
        if !holds {
            self.fail(invariant, message());
        }
    }

    fn expect(&mut self, result: Result<(), Violation>) {
        if let Err(violation) = result {
            self.violation.get_or_insert(violation);
        }
    }
}

/// Returns whether the host has answered an effect completely with this input. A deferred call stays in its hands:
/// someone else works on the call.
fn is_answer(input: &Input<'_>) -> bool {
    ends_effect(input) && !matches!(input, Input::ToolDeferred { .. })
}

/// The call that an input denies or refuses.
fn refused_call(input: &Input<'_>) -> Option<CallKey> {
    match input {
        Input::Decided {
            effect: EffectId::Approve(call),
            decision: Decision::Denied { .. },
        }
        | Input::HookAnswered {
            effect:
                EffectId::Hook {
                    place: HookPlace::Call(call),
                    ..
                },
            answer: HookAnswer::Refused { .. },
        } => Some(*call),
        _ => None,
    }
}
