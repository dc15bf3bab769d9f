//! The engines that drive stored turns. All that a turn emits is in the store, so a reader needs no engine, and may be
//! on another host.
//!
//! There is one way to drive a turn, and the [`Driver`] has it: a task of this process for each. An [`Engine`] decides
//! what the driver drives: on which host a turn runs and when, which host continues a turn whose owner has died, and
//! how a turn on another host is reached. [`local`] drives turns where they begin; `restate` asks Restate, which many
//! hosts share.

mod commands;
mod done;
mod driver;
mod error;
mod forgotten;
mod hosts;
mod local;
mod new_turn;
mod observer;
mod own_lease;
mod reader;
mod reply;
#[cfg(feature = "restate")]
mod restate;
mod take_over;
mod taken;
#[cfg(test)]
#[path = "../../tests/engine/mod.rs"]
pub(crate) mod tests;
mod times;

pub(crate) use commands::CommandReply;
pub use commands::{Command, Continued};
pub(crate) use driver::GoesOn;
pub use driver::{Driver, DriverSetup, Permit};
pub use error::EngineError;
pub use local::LocalEngine;
pub use new_turn::{NewTurn, Origin, Parent};
pub use observer::{Journals, Observer, RunObserver};
pub(crate) use reader::Reader;
#[cfg(all(feature = "restate", feature = "testing"))]
pub use restate::seam;
#[cfg(feature = "restate")]
pub use restate::{RestateEngine, RestateSettings};
pub(crate) use times::{LONGEST_REQUEST, LOOKS, TELLING_TIME};

use crate::turn::store_trouble::StoreTrouble;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::fmt::Debug;
use std::time::Duration;
use stepwell_core::ToolCallId;
use stepwell_core::event::ResumeEntry;
use stepwell_io::store::{Generation, StoreError, TurnKey, Unfinished};
use stepwell_io::tool::ToolResult;
use tokio::sync::watch;

/// Decides where turns are driven. All that a host does with a turn is the same behind each engine.
pub trait Engine: Debug + Send + Sync {
    /// Drives the turns that run on this host.
    fn driver(&self) -> &Driver;

    /// Begins to continue turns that no host drives.
    fn open(&self) -> BoxFuture<'_, Result<(), EngineError>>;

    /// Returns the owner in whose name a turn that is reported in runs is stored while it waits for the next run.
    fn resting(&self) -> &'static str;

    /// Returns why the engine takes no new turn at the moment, if it takes none.
    fn refuses(&self) -> Option<EngineError>;

    /// Has a turn driven whose thread has no other under way. Returns once it is stored that it has begun.
    fn begin<'a>(
        &'a self,
        key: &'a TurnKey,
        turn: NewTurn,
    ) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Tells a turn something that is not driven here, and waits until what it promises is stored.
    fn pass_on(&self, turn: Unfinished, command: Command)
    -> BoxFuture<'_, Result<(), EngineError>>;

    /// Brings a turn to its end as cancelled, wherever it is driven, and waits until that is stored.
    fn end(&self, turn: Unfinished) -> BoxFuture<'_, Result<(), EngineError>>;

    /// Takes no more turns, and gives those that are driven here time to end. Those that have not are released, to continue
    /// another time or elsewhere.
    fn close(&self, grace: Duration) -> BoxFuture<'_, ()>;

    /// Begins a turn, once it is stored that it has begun. A turn of the thread that is under way is cancelled first.
    fn start(&self, new: NewTurn) -> BoxFuture<'_, Result<TurnKey, EngineError>> {
        async move {
            let driver = self.driver();
            if driver.is_stopping() {
                return Err(EngineError::Stopping);
            }
            if let Some(refused) = self.refuses() {
                return Err(refused);
            }
            driver.check_waiting(&new.thread)?;
            let key = driver.admit(&new).await?;
            let mut looks = 0;
            loop {
                looks += 1;
                let thread = driver.store().thread(&key.thread).await?;
                if let Some(unfinished) = thread.and_then(|thread| thread.unfinished) {
                    // The request may be late: its own turn, begun elsewhere since, is not to make way for it, nor is the next.
                    driver.check_new(&key).await?;
                    self.end(unfinished).await?;
                }
                match self.begin(&key, new.clone()).await {
                    Ok(()) => return Ok(key),
                    // Another turn of the thread began in between.
                    Err(EngineError::Store(StoreError::Busy { .. })) if looks < LOOKS => {}
                    Err(error) => return Err(error),
                }
            }
        }
        .boxed()
    }

    /// Sends a turn a command, and waits until it is handled and its effects are stored.
    fn tell<'a>(
        &'a self,
        turn: &'a TurnKey,
        command: Command,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        async move {
            if let Some(active) = self.driver().find(turn) {
                match active.tell(command.clone()).await {
                    // The turn may be about to rest: then the command is sent to the resting turn.
                    Err(EngineError::Over) => {
                        let ended = active.ended.cancelled();
                        let _ = tokio::time::timeout(LONGEST_REQUEST, ended).await;
                    }
                    told => return told,
                }
            }
            match self.driver().unfinished(turn).await? {
                Some(unfinished) => self.pass_on(unfinished, command).await,
                None => Err(EngineError::Over),
            }
        }
        .boxed()
    }

    /// Answers what a turn asks the user.
    fn answer<'a>(
        &'a self,
        turn: &'a TurnKey,
        answers: Vec<ResumeEntry>,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        self.tell(turn, Command::Answer(answers))
    }

    /// Stops one call of a turn; the others continue.
    fn cancel_call<'a>(
        &'a self,
        turn: &'a TurnKey,
        call: ToolCallId,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        self.tell(turn, Command::CancelCall(call))
    }

    /// Brings what a client's tool gave, and waits until it is stored.
    fn bring_result<'a>(
        &'a self,
        turn: &'a TurnKey,
        call: ToolCallId,
        result: ToolResult,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        self.tell(turn, Command::BringResult(call, result))
    }

    /// Cancels a turn, and waits until that is stored. One that is over stays as it is.
    fn cancel<'a>(&'a self, turn: &'a TurnKey) -> BoxFuture<'a, Result<(), EngineError>> {
        async move {
            match self.driver().unfinished(turn).await? {
                Some(unfinished) => self.end(unfinished).await,
                None => Ok(()),
            }
        }
        .boxed()
    }

    /// Completes the log of a turn that is over, and that no host drives any more: its host may have died before it
    /// could report the end.
    fn tell_end<'a>(&'a self, turn: &'a TurnKey) -> BoxFuture<'a, Result<(), EngineError>> {
        self.driver().tell_end(turn).boxed()
    }

    /// Waits, not for long, until a turn that is over and still driven here has reported its end.
    fn told<'a>(&'a self, turn: &'a TurnKey) -> BoxFuture<'a, ()> {
        async move {
            if let Some(active) = self.driver().find(turn) {
                let _ = tokio::time::timeout(LONGEST_REQUEST, active.ended.cancelled()).await;
            }
        }
        .boxed()
    }

    /// Returns what keeps a turn that is driven here from being stored, as it changes.
    fn trouble(&self, turn: &TurnKey) -> Option<watch::Receiver<Option<StoreTrouble>>> {
        self.driver().find(turn).map(|active| active.trouble)
    }

    /// Returns whether a turn waits for the user, which is not known of a turn that another host drives.
    fn asks(&self, turn: &Unfinished) -> bool {
        if turn.owner == self.resting() && turn.generation != Generation::FIRST {
            return true;
        }
        let active = self.driver().find(&turn.key);
        active.is_some_and(|active| *active.asks.borrow())
    }
}
