//! Prepares the machine of a turn, and stores that the turn begins or continues on this host.

use crate::app::instructions::{self, InstructionsRequest};
use crate::app::setup::Setup;
use crate::base::Clock;
use crate::base::lock;
use crate::device::DeviceState;
use crate::durable::{
    BeginFrom, Beginning, StoreNotices, StoreRetry, StoreSetup, StoreTrouble, StoredTurn, Writer,
};
use crate::start::begin::Begin;
use crate::start::runner::Runner;
use crate::start::when_busy::WhenBusy;
use crate::store::{Lease, NewTurn, StoreError, TurnKey};
use crate::turn::journaled::JournaledRun;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stepwell_core::event::Message;
use stepwell_core::run::{Failure, Input, RunConfig, Start, StateKind};
use stepwell_core::session::{TurnHistory, title};
use stepwell_core::transcript::Transcript;
use tokio_util::sync::CancellationToken;

/// How often a turn that waits for a turn of another process looks for its end.
const SEARCH_INTERVAL: Duration = Duration::from_millis(250);

/// Why a turn could not begin.
#[derive(Debug)]
pub(crate) enum NotBegun {
    /// The store refused the turn, or failed.
    Store(StoreError),
    /// The app's code failed.
    App(Failure),
}

impl From<StoreError> for NotBegun {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A turn that is ready to be driven.
pub(crate) struct Prepared {
    pub(crate) run: JournaledRun,
    pub(crate) setup: Arc<Setup>,
    /// The device as the machine knows it.
    pub(crate) known: DeviceState,
    pub(crate) writer: Option<Arc<Writer>>,
    /// The turn continues from a snapshot or checkpoint.
    pub(crate) is_revived: bool,
}

/// A turn that has no machine yet.
pub(crate) struct Preparation<'a> {
    pub(crate) runner: &'a Runner,
    pub(crate) notices: &'a StoreNotices,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) trouble: &'a StoreTrouble,
    pub(crate) device: DeviceState,
    pub(crate) clock: Clock,
    pub(crate) when_busy: WhenBusy,
    /// The time that it took to rebuild the conversation from stored turns, if it was rebuilt.
    pub(crate) history_took: OnceLock<Duration>,
}

impl Preparation<'_> {
    pub(crate) async fn prepare(&self, begin: Begin) -> Result<Prepared, NotBegun> {
        let is_revived = matches!(begin, Begin::Revived { .. } | Begin::Claimed { .. });
        let lease = match &begin {
            Begin::Claimed { lease, .. } | Begin::Restarted { lease, .. } => lease.clone(),
            Begin::Start(..) | Begin::Revived { .. } => self.lease().await?,
        };
        self.runner.thread.among.listen(lease.as_ref());
        let (turn, run, setup) = self.run(begin).await?;
        let writer = turn.zip(self.runner.stored()).map(|(turn, stored)| {
            let retry = StoreRetry::from_config(&setup.config);
            let (notices, cancel) = (self.notices.clone(), self.cancel.clone());
            let trouble = self.trouble.clone();
            let stored = (stored, lease);
            let writer = Writer::new(stored, turn, retry, self.clock, notices, cancel, trouble);
            Arc::new(writer)
        });
        Ok(Prepared {
            run,
            setup,
            // The outputs of a revived run come first: the driver tells its machine about the device.
            known: match is_revived {
                true => DeviceState::default(),
                false => self.device,
            },
            writer,
            is_revived,
        })
    }

    /// Returns the run, and its turn as the store knows it.
    async fn run(
        &self,
        begin: Begin,
    ) -> Result<(Option<StoredTurn>, JournaledRun, Arc<Setup>), NotBegun> {
        match begin {
            Begin::Start(start, from, handlers) => {
                let setup = self.runner.turn_setup_for(&start, handlers);
                let (turn, run) = self.start(&setup, *start, from).await?;
                Ok((turn, run, setup))
            }
            Begin::Revived {
                snapshot,
                run,
                setup,
            } => {
                let (turn, run) = match self.runner.stored() {
                    Some(stored) => self.revive(&setup, &stored, &snapshot, *run).await?,
                    None => (None, *run),
                };
                Ok((turn, run, setup))
            }
            Begin::Claimed {
                turn,
                mut run,
                setup,
                shown,
                ..
            } => {
                self.feed_shown(&mut run, shown);
                Ok((Some(turn), *run, setup))
            }
            Begin::Restarted {
                turn,
                start,
                history,
                setup,
                ..
            } => {
                let run = self.machine(&setup, &start, *history);
                Ok((Some(turn), run, setup))
            }
        }
    }

    /// Takes the lease of the agent's owner, before the agent has a turn in the store.
    async fn lease(&self) -> Result<Option<Arc<Lease>>, StoreError> {
        match self.runner.stored() {
            Some(stored) => {
                let beginning = self.beginning(self.runner.config(), &stored);
                beginning.lease().await
            }
            None => Ok(None),
        }
    }

    /// Begins a new turn, which is stored before its first request is sent.
    async fn start(
        &self,
        setup: &Setup,
        mut start: Start,
        from: BeginFrom,
    ) -> Result<(Option<StoredTurn>, JournaledRun), NotBegun> {
        let thread = &self.runner.thread;
        let known = || {
            let known = lock(&thread.known);
            (known.last.clone(), known.transcript.clone())
        };
        let Some(stored) = &self.runner.stored() else {
            if let BeginFrom::Turn(_) = from {
                return Err(NotBegun::Store(StoreError::Refused {
                    message: "the conversation has no store to take the earlier turn from"
                        .to_owned(),
                }));
            }
            let (_, history) = known();
            self.instruct(setup, &mut start, &history).await?;
            return Ok((None, self.machine(setup, &start, history)));
        };
        let beginning = self.beginning(&setup.config, stored);
        let now = self.clock.now();
        let key = TurnKey::new(thread.key.clone(), start.run_id.clone());
        let before = loop {
            match beginning.before(&key, from.clone(), known(), now).await {
                Err(StoreError::Busy { .. }) if self.waits_for_others() => {}
                before => break before?,
            }
            tokio::time::sleep(SEARCH_INTERVAL).await;
        };
        self.instruct(setup, &mut start, &before.history).await?;
        let history = TurnHistory::of(&before.history).filter(|_| before.is_history_new);
        let run = self.machine(setup, &start, before.history);
        let new = NewTurn {
            key,
            parent: before.parent,
            message: start.message.clone(),
            history: history.map(Box::new),
            checkpoint: run.machine.checkpoint(),
            owner: stored.owner.clone(),
            title: title_of(&run),
            at: self.clock.now(),
        };
        let turn = beginning.begin(&new).await?;
        Ok((Some(turn), run))
    }

    /// Makes the turn's instructions, if the app has code for that and the turn has none yet.
    async fn instruct(
        &self,
        setup: &Setup,
        start: &mut Start,
        history: &Transcript,
    ) -> Result<(), NotBegun> {
        let Some(source) = &setup.instructions else {
            return Ok(());
        };
        if start.options.instructions.is_some() {
            return Ok(());
        }
        let request = InstructionsRequest {
            thread: self.runner.thread.key.clone(),
            turn: start.run_id.clone(),
            message: start.message.clone(),
            history: history.clone(),
        };
        let most = setup.config.timeouts.tool;
        let too_long = async {
            match most {
                Some(most) => tokio::time::sleep(most).await,
                None => std::future::pending().await,
            }
        };
        let made = tokio::select! {
            made = instructions::make(&**source, request) => made,
            () = too_long => Err("the app took too long".to_owned()),
            // The turn is cancelled: it sends no request.
            () = self.cancel.cancelled() => return Ok(()),
        };
        let made = made.map_err(|message| NotBegun::App(Failure::NoInstructions { message }))?;
        start.options.instructions = Some(made);
        Ok(())
    }

    /// Returns whether the turn waits for a turn that another process drives.
    fn waits_for_others(&self) -> bool {
        let waits = matches!(self.when_busy, WhenBusy::Queue | WhenBusy::Steer);
        waits && !self.cancel.is_cancelled()
    }

    fn feed_shown(&self, run: &mut JournaledRun, shown: Vec<Message>) {
        let awaits_answer = matches!(run.machine.state(), StateKind::Opening | StateKind::Waiting);
        if awaits_answer
            && !shown.is_empty()
            && let Err(misuse) = run.handle(Input::Shown(shown), self.clock.now())
        {
            tracing::error!(target: "stepwell", %misuse, "the machine refused what was shown");
        }
    }

    /// Continues a turn whose snapshot the app has kept. The stored turn is at least as new, and goes first.
    async fn revive(
        &self,
        setup: &Arc<Setup>,
        stored: &StoreSetup,
        snapshot: &str,
        run: JournaledRun,
    ) -> Result<(Option<StoredTurn>, JournaledRun), StoreError> {
        let turn = run.machine.turn().cloned().unwrap_or_default();
        let key = TurnKey::new(self.runner.thread.key.clone(), turn);
        let beginning = self.beginning(&setup.config, stored);
        if let Some(claimed) = beginning.claim(&key).await? {
            let generation = claimed.generation;
            let (journal, now) = (setup.journal.as_ref(), self.clock.now());
            let run = match &claimed.checkpoint {
                Some(checkpoint) => {
                    let path = beginning.path(&key).await?;
                    JournaledRun::revive_stored(checkpoint, &path, &setup.config, journal, now)
                }
                None => JournaledRun::revive(snapshot, &setup.config, journal, now),
            };
            let run = run.map_err(|error| StoreError::Damaged {
                message: error.to_string(),
            })?;
            return Ok((Some(StoredTurn { key, generation }), run));
        }
        // The turn was begun without this store.
        let mut new = NewTurn::new(key, stored.owner.clone(), self.clock.now());
        // A checkpoint would rely on blocks that are stored elsewhere.
        new.checkpoint = Some(snapshot.to_owned());
        let turn = beginning.begin(&new).await?;
        Ok((Some(turn), run))
    }

    fn beginning<'b>(
        &'b self,
        config: &'b Arc<RunConfig>,
        stored: &'b StoreSetup,
    ) -> Beginning<'b> {
        Beginning {
            config,
            stored,
            notices: self.notices,
            cancel: self.cancel,
            fails_if_busy: self.when_busy != WhenBusy::Cancel,
            history_took: &self.history_took,
        }
    }

    /// Returns a machine that has started, with its first outputs still in it.
    fn machine(&self, setup: &Setup, start: &Start, history: Transcript) -> JournaledRun {
        let thread_id = &self.runner.thread.key.thread;
        let journal = setup.journal.as_ref();
        let mut run = JournaledRun::new(&setup.config, thread_id, history, journal, &start.run_id);
        // The device comes before the first request: there may be no network. So does the health of the models.
        let health = setup.health.inputs(&setup.config, self.clock);
        let device = self.device.inputs_since(DeviceState::default());
        for news in device.into_iter().chain(health) {
            if let Err(misuse) = run.handle(news, self.clock.now()) {
                tracing::error!(target: "stepwell", %misuse, "the machine refused to hear of the device or of its models");
            }
            // No effect is under way yet: there are no outputs to handle.
            while run.poll_output().is_some() {}
        }
        let start = Input::Start(Box::new(start.clone()));
        if let Err(misuse) = run.handle(start, self.clock.now()) {
            tracing::error!(target: "stepwell", %misuse, "a new machine refused to start");
        }
        run
    }
}

/// Returns the title of the thread, if this is its first turn.
fn title_of(run: &JournaledRun) -> Option<String> {
    let title = title(run.machine.transcript().messages());
    // A store takes any text without NUL.
    let title = title.replace('\0', "");
    Some(title).filter(|title| !title.is_empty())
}
