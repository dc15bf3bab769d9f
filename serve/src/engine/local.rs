//! The engine of hosts that need nothing but their store. The host where a turn began drives it, and another host once
//! that one has died. A command for the turn reaches its owner from any host.

use crate::engine::Command;
use crate::engine::done::is_done;
use crate::engine::hosts::late;
use crate::engine::{Driver, DriverSetup, GoesOn, LONGEST_REQUEST, LOOKS};
use crate::engine::{Engine, EngineError, NewTurn};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::time::Duration;
use stepwell_io::store::{RESTING, StoreError, TurnKey, Unfinished};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Drives turns where they begin. Clones are the same engine.
#[derive(Clone, Debug)]
pub struct LocalEngine(pub(crate) Driver);

impl LocalEngine {
    /// An engine without turns.
    #[must_use]
    pub fn new(setup: DriverSetup) -> Self {
        Self(Driver::new(setup))
    }

    /// A turn of another host is claimed from that host: whatever it still writes is refused.
    async fn stop_turn(&self, mut turn: Unfinished) -> Result<(), EngineError> {
        let key = turn.key.clone();
        let mut is_stored_late = false;
        for _ in 0..LOOKS {
            let active = match self.0.find(&key) {
                Some(active) => active,
                None => match self.0.adopt(turn, GoesOn::cancelled()).await {
                    Ok(active) => active,
                    Err(EngineError::Store(error)) if error.is_lost() => {
                        // The turn ended, or another host claimed it, in the meantime.
                        match self.0.unfinished(&key).await? {
                            Some(taken) => turn = taken,
                            None => return Ok(()),
                        }
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            active.cancel.cancel();
            let ended = tokio::time::timeout(LONGEST_REQUEST, active.ended.cancelled()).await;
            // The turn may have been released before its end.
            match self.0.unfinished(&key).await? {
                None => return Ok(()),
                Some(left) => turn = left,
            }
            if ended.is_err() {
                is_stored_late = true;
                break;
            }
        }
        // The read fails if the store is damaged.
        self.0.store().path(&key).await?;
        if !is_stored_late {
            // Other hosts took it, each from the other.
            return Err(EngineError::Contended);
        }
        let message = "the turn is stopped, and its end waits to be stored".to_owned();
        Err(StoreError::Unavailable { message }.into())
    }

    /// Continues a turn that no host drives, with a command.
    async fn revive(&self, turn: Unfinished, command: Command) -> Result<(), EngineError> {
        let (reply, replied) = oneshot::channel();
        let why = GoesOn {
            command: Some((command, reply)),
            ..GoesOn::default()
        };
        match self.0.adopt(turn, why).await {
            Ok(_) => {}
            // Another host was given something for it at the same moment.
            Err(EngineError::Store(error)) if error.is_lost() => {
                return Err(EngineError::Contended);
            }
            Err(error) => return Err(error),
        }
        let heard = tokio::time::timeout(LONGEST_REQUEST, replied).await;
        heard
            .unwrap_or(Ok(Err(EngineError::Contended)))
            .unwrap_or(Err(EngineError::Over))
    }
}

impl Engine for LocalEngine {
    fn driver(&self) -> &Driver {
        &self.0
    }

    fn open(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            self.recover().await?;
            Ok(())
        }
        .boxed()
    }

    fn resting(&self) -> &'static str {
        RESTING
    }

    fn refuses(&self) -> Option<EngineError> {
        let most = self.0.setup().most;
        self.0.is_full().then_some(EngineError::TooMany { most })
    }

    fn begin<'a>(
        &'a self,
        key: &'a TurnKey,
        turn: NewTurn,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        self.0.start_turn(key, turn).boxed()
    }

    fn pass_on(
        &self,
        turn: Unfinished,
        command: Command,
    ) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            let key = turn.key.clone();
            let mut unfinished = Some(turn);
            let mut is_again = false;
            let until = Instant::now() + LONGEST_REQUEST;
            while Instant::now() < until {
                let Some(turn) = unfinished else {
                    // The owner may have handled the command before the turn ended, without time to reply.
                    let is_done = is_again && is_done(self.0.store(), &key, &command).await?;
                    return if is_done {
                        Ok(())
                    } else {
                        Err(EngineError::Over)
                    };
                };
                if let Some(active) = self.0.find(&key) {
                    match active.tell(command.clone()).await {
                        Err(EngineError::Over) => active.ended.cancelled().await,
                        told => return told,
                    }
                } else if turn.owner == RESTING || turn.owner == self.0.setup().owner {
                    return self.revive(turn, command).await;
                } else {
                    let asked = self.0.ask_owner(&turn, &command, is_again, until).await?;
                    if let Some(reply) = asked {
                        return reply.heard(&key.turn);
                    }
                    is_again = true;
                }
                unfinished = self.0.unfinished(&key).await?;
            }
            Err(late())
        }
        .boxed()
    }

    fn end(&self, turn: Unfinished) -> BoxFuture<'_, Result<(), EngineError>> {
        self.stop_turn(turn).boxed()
    }

    fn close(&self, grace: Duration) -> BoxFuture<'_, ()> {
        self.0.stop(grace).boxed()
    }
}
