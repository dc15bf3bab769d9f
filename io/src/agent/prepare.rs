//! Makes the machine that a turn is driven with, and says in the store that the turn begins or goes on here.

use crate::agent::Agent;
use crate::agent::begin::Begin;
use crate::agent::when_busy::WhenBusy;
use crate::app::device::Device;
use crate::app::instructions::{self, InstructionsRequest};
use crate::app::setup::Setup;
use crate::base::Clock;
use crate::base::lock;
use crate::durable::{
    BeginFrom, Beginning, Notices, Patience, StoreSetup, StoredTurn, Trouble, Writer,
};
use crate::store::{Lease, NewTurn, StoreError, TurnKey};
use crate::turn::journaled::Journaled;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::Message;
use stepwell_core::run::{Failure, Input, Start, StateKind};
use stepwell_core::session::{TurnHistory, title};
use tokio_util::sync::CancellationToken;

/// Why a turn could not begin.
#[derive(Debug)]
pub(crate) enum NotBegun {
    /// The store did not take it.
    Store(StoreError),
    /// The app's own code did not do its part.
    App(Failure),
}

impl From<StoreError> for NotBegun {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A turn that is ready to be driven.
pub(crate) struct Prepared {
    pub(crate) run: Journaled,
    pub(crate) setup: Arc<Setup>,
    /// What its machine has heard of the device.
    pub(crate) known: Device,
    pub(crate) writer: Option<Arc<Writer>>,
    /// It goes on from a snapshot.
    pub(crate) is_revived: bool,
}

/// What a turn has before it has a machine.
pub(crate) struct Preparation<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) notices: &'a Notices,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) trouble: &'a Trouble,
    pub(crate) device: Device,
    pub(crate) clock: Clock,
    pub(crate) when_busy: WhenBusy,
    /// How long the conversation took to be made of stored turns, if it was.
    pub(crate) history_took: OnceLock<Duration>,
}

impl Preparation<'_> {
    pub(crate) async fn prepare(&self, begin: Begin) -> Result<Prepared, NotBegun> {
        let is_revived = matches!(begin, Begin::Revived { .. } | Begin::Claimed { .. });
        let lease = match &begin {
            Begin::Claimed { lease, .. } | Begin::Anew { lease, .. } => lease.clone(),
            Begin::Start(..) | Begin::Revived { .. } => self.lease().await?,
        };
        let (turn, run, setup, known) = match begin {
            Begin::Start(start, from, handlers) => {
                let setup = self.agent.turn_setup_for(&start, handlers);
                let (turn, run) = self.start(&setup, *start, from).await?;
                (turn, run, setup, self.device)
            }
            Begin::Revived {
                snapshot,
                run,
                setup,
            } => {
                // What it gives is to be taken first: it is told of the device at the first look.
                let (turn, run) = match &setup.store {
                    Some(stored) => self.revive(&setup, stored, &snapshot, *run).await?,
                    None => (None, *run),
                };
                (turn, run, setup, Device::default())
            }
            Begin::Claimed {
                turn,
                mut run,
                setup,
                shown,
                ..
            } => {
                self.tell_shown(&mut run, shown);
                (Some(turn), *run, setup, Device::default())
            }
            Begin::Anew {
                turn,
                start,
                history,
                setup,
                ..
            } => {
                let run = self.machine(&setup, &start, *history);
                (Some(turn), run, setup, self.device)
            }
        };
        let writer = turn.zip(setup.store.clone()).map(|(turn, stored)| {
            let patience = Patience::of(&setup.config);
            let (notices, cancel) = (self.notices.clone(), self.cancel.clone());
            let trouble = self.trouble.clone();
            let stored = (stored, lease);
            let writer = Writer::new(stored, turn, patience, self.clock, notices, cancel, trouble);
            Arc::new(writer)
        });
        Ok(Prepared {
            run,
            setup,
            known,
            writer,
            is_revived,
        })
    }

    /// Says in the store that the agent lives, before it has a turn there.
    async fn lease(&self) -> Result<Option<Arc<Lease>>, StoreError> {
        match self.agent.stored() {
            Some(stored) => {
                let beginning = self.beginning(&self.agent.shared.setup, &stored);
                beginning.lease().await
            }
            None => Ok(None),
        }
    }

    /// A new turn, which stands in the store before anything of it goes out.
    async fn start(
        &self,
        setup: &Setup,
        mut start: Start,
        from: BeginFrom,
    ) -> Result<(Option<StoredTurn>, Journaled), NotBegun> {
        let thread = &self.agent.thread;
        let known = || {
            let known = lock(&thread.conversation);
            (known.last.clone(), known.conversation.clone())
        };
        let Some(stored) = &setup.store else {
            if let BeginFrom::Turn(_) = from {
                return Err(NotBegun::Store(StoreError::Refused {
                    message: "the agent has no store to take the earlier turn from".to_owned(),
                }));
            }
            let (_, history) = known();
            self.instruct(setup, &mut start, &history).await?;
            return Ok((None, self.machine(setup, &start, history)));
        };
        let beginning = self.beginning(setup, stored);
        let now = self.clock.now();
        let key = TurnKey::new(thread.key.clone(), start.run_id.clone());
        let before = beginning.before(&key, from, known(), now).await?;
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

    /// Has the turn's instructions made, where the app has code for that and they are not given already.
    async fn instruct(
        &self,
        setup: &Setup,
        start: &mut Start,
        history: &Conversation,
    ) -> Result<(), NotBegun> {
        let Some(source) = &setup.instructions else {
            return Ok(());
        };
        if start.options.instructions.is_some() {
            return Ok(());
        }
        let request = InstructionsRequest {
            thread: self.agent.thread.key.clone(),
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
            // The turn is over before it asks.
            () = self.cancel.cancelled() => return Ok(()),
        };
        let made = made.map_err(|message| NotBegun::App(Failure::NoInstructions { message }))?;
        start.options.instructions = Some(made);
        Ok(())
    }

    fn tell_shown(&self, run: &mut Journaled, shown: Vec<Message>) {
        let awaits_answer = matches!(run.machine.state(), StateKind::Opening | StateKind::Waiting);
        if awaits_answer
            && !shown.is_empty()
            && let Err(misuse) = run.handle(Input::Shown(shown), self.clock.now())
        {
            tracing::error!(target: "stepwell", %misuse, "the machine refused what was shown");
        }
    }

    /// A turn whose snapshot the app has kept. What the store has of it is at least as new, and goes first.
    async fn revive(
        &self,
        setup: &Arc<Setup>,
        stored: &StoreSetup,
        snapshot: &str,
        run: Journaled,
    ) -> Result<(Option<StoredTurn>, Journaled), StoreError> {
        let turn = run.machine.turn().cloned().unwrap_or_default();
        let key = TurnKey::new(self.agent.thread.key.clone(), turn);
        let beginning = self.beginning(setup, stored);
        if let Some(claimed) = beginning.claim(&key, false).await? {
            let generation = claimed.generation;
            let (journal, now) = (setup.journal.as_ref(), self.clock.now());
            let run = match &claimed.checkpoint {
                Some(checkpoint) => {
                    let path = beginning.path(&key).await?;
                    Journaled::revive_stored(checkpoint, &path, &setup.config, journal, now)
                }
                None => Journaled::revive(snapshot, &setup.config, journal, now),
            };
            let run = run.map_err(|error| StoreError::Damaged {
                message: error.to_string(),
            })?;
            return Ok((Some(StoredTurn { key, generation }), run));
        }
        // It was begun without this store.
        let mut new = NewTurn::new(key, stored.owner.clone(), self.clock.now());
        // A checkpoint would count on the blocks that are elsewhere.
        new.checkpoint = Some(snapshot.to_owned());
        let turn = beginning.begin(&new).await?;
        Ok((Some(turn), run))
    }

    fn beginning<'b>(&'b self, setup: &'b Setup, stored: &'b StoreSetup) -> Beginning<'b> {
        Beginning {
            config: &setup.config,
            stored,
            notices: self.notices,
            cancel: self.cancel,
            fails_if_busy: self.when_busy == WhenBusy::Fail,
            history_took: &self.history_took,
        }
    }

    /// A machine that has started, with its first outputs still in it.
    fn machine(&self, setup: &Setup, start: &Start, history: Conversation) -> Journaled {
        let thread_id = &self.agent.thread.key.thread;
        let journal = setup.journal.as_ref();
        let mut run = Journaled::new(&setup.config, thread_id, history, journal, &start.run_id);
        // Before its first request: there may be no network for it.
        for news in self.device.news(Device::default()) {
            if let Err(misuse) = run.handle(news, self.clock.now()) {
                tracing::error!(target: "stepwell", %misuse, "the machine refused to hear of the device");
            }
            // Nothing is under way yet: there is nothing to take.
            while run.poll_output().is_some() {}
        }
        let start = Input::Start(Box::new(start.clone()));
        if let Err(misuse) = run.handle(start, self.clock.now()) {
            tracing::error!(target: "stepwell", %misuse, "a new machine refused to start");
        }
        run
    }
}

/// What the thread is called, if this is its first turn.
fn title_of(run: &Journaled) -> Option<String> {
    let title = title(run.machine.conversation().messages());
    // A store takes any text but this.
    let title = title.replace('\0', "");
    Some(title).filter(|title| !title.is_empty())
}
