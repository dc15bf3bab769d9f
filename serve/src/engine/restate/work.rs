//! How a host drives a turn that Restate gives it.

use crate::engine::EngineError;
use crate::engine::done::is_done;
use crate::engine::driver::Active;
use crate::engine::reply::Reply;
use crate::engine::restate::client::{Restate, lapsed};
use crate::engine::restate::protocol::ELSEWHERE;
use crate::engine::restate::protocol::{Invocation, Says, Signal, Why};
use crate::engine::{Driver, GoesOn, LOOKS};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use stepwell_io::store::{StoreError, TurnKey, Unfinished};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long after the expiry of its questions a resting turn is notified of it.
const MARGIN: Duration = Duration::from_secs(1);

/// Drives what Restate gives this host.
#[derive(Debug)]
pub struct Work {
    pub driver: Driver,
    pub client: Arc<dyn Restate>,
}

/// A turn that this host drives for Restate. The drop, once Restate has given up this attempt, releases the turn.
struct Driven<'a> {
    work: &'a Work,
    key: TurnKey,
    active: Active,
    /// The reply addresses of the signals that were received: each signal may come twice.
    heard: Mutex<HashSet<String>>,
    /// The reply to what the turn was given to this host with.
    reply: Mutex<Option<JoinHandle<Result<(), EngineError>>>>,
}

/// Why an attempt must be made again.
#[derive(Debug, thiserror::Error)]
pub enum Again {
    #[error(transparent)]
    Failed(#[from] EngineError),
    #[error("this host drives as many turns as it may")]
    Full,
    #[error("this host is stopping")]
    Stopping,
    #[error("the turn was let go of before its end")]
    Left,
}

impl From<StoreError> for Again {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl Work {
    /// Drives a turn for Restate until it ends, or until only its user can move it on. Meanwhile the turn receives the
    /// signals by their numbers; a signal is `None` where Restate's operator has cancelled the invocation.
    pub async fn drive<S: Future<Output = Option<Signal>>>(
        &self,
        invocation: &Invocation,
        signal: impl Fn(u64) -> S,
    ) -> Result<(), Again> {
        let Some(driven) = self.take(invocation).await? else {
            return Ok(());
        };
        let mut number = 0;
        loop {
            let signal = tokio::select! {
                biased;
                signal = signal(number) => signal,
                () = driven.ended() => break,
            };
            match signal {
                Some(signal) => driven.hear(signal),
                None => {
                    driven.cancel();
                    driven.ended().await;
                    break;
                }
            }
            number += 1;
        }
        driven.settle().await
    }

    /// Takes the turn, if there is something to do for this invocation: the owner before cannot write from then on.
    async fn take(&self, invocation: &Invocation) -> Result<Option<Driven<'_>>, Again> {
        let key = invocation.key();
        for _ in 0..LOOKS {
            if self.driver.is_stopping() {
                return Err(Again::Stopping);
            }
            if let Some(before) = self.driver.find(&key) {
                // An attempt that Restate has given up, and that does not know it yet.
                before.leave.cancel();
                before.ended.cancelled().await;
            }
            let Some((unfinished, is_done)) = self.find_open(invocation, &key).await? else {
                return Ok(None);
            };
            if self.driver.is_full() {
                return Err(Again::Full);
            }
            let (reply, replied) = oneshot::channel();
            let (cancelled, command, waits) = match &invocation.why {
                Why::Told(signal) if !is_done => match &signal.says {
                    Says::Stop => (true, None, None),
                    Says::Command(command) => {
                        (false, Some((command.clone(), reply)), Some(replied))
                    }
                },
                _ => (false, None, None),
            };
            let why = GoesOn {
                cancelled,
                has_lapsed: matches!(invocation.why, Why::Lapsed(_)),
                command,
            };
            let active = match self.driver.adopt(unfinished, why).await {
                Ok(active) => active,
                // The turn ended, or another host claimed it, in the meantime.
                Err(EngineError::Store(error)) if error.is_lost() => continue,
                Err(error) => return Err(error.into()),
            };
            let driven = Driven {
                work: self,
                key,
                active,
                heard: Mutex::default(),
                reply: Mutex::default(),
            };
            if let Why::Told(signal) = &invocation.why {
                driven.is_new(signal);
                if !is_done {
                    driven.reply_when(signal.clone(), waits);
                }
            }
            return Ok(Some(driven));
        }
        Err(Again::Left)
    }

    /// Finds the unfinished turn of an invocation, and whether an earlier attempt has handled the invocation. Replies, and
    /// returns `None`, if there is nothing left to do.
    async fn find_open(
        &self,
        invocation: &Invocation,
        key: &TurnKey,
    ) -> Result<Option<(Unfinished, bool)>, Again> {
        let unfinished = match self.driver.unfinished(key).await {
            Err(EngineError::Store(StoreError::NoTurn { .. } | StoreError::NoThread { .. })) => {
                self.reply_to(invocation, &Reply::Gone).await?;
                return Ok(None);
            }
            unfinished => unfinished?,
        };
        let Some(unfinished) = unfinished else {
            self.close(invocation).await?;
            return Ok(None);
        };
        let is_done = self.is_done(invocation, &unfinished).await?;
        if is_done {
            self.reply_to(invocation, &Reply::Done).await?;
            // Otherwise the host that handled it has died, and no other host receives the turn.
            if unfinished.owner == ELSEWHERE {
                self.rests(key).await?;
                return Ok(None);
            }
        }
        Ok(Some((unfinished, is_done)))
    }

    /// Returns whether an earlier attempt has handled the invocation.
    async fn is_done(&self, invocation: &Invocation, turn: &Unfinished) -> Result<bool, Again> {
        let Why::Told(signal) = &invocation.why else {
            return Ok(turn.owner == ELSEWHERE && invocation.is_settled(turn));
        };
        match &signal.says {
            Says::Stop => Ok(false),
            Says::Command(command) => {
                Ok(is_done(self.driver.store(), &invocation.key(), command).await?)
            }
        }
    }

    /// The turn is over, and this invocation has nothing to do.
    async fn close(&self, invocation: &Invocation) -> Result<(), Again> {
        let Why::Told(signal) = &invocation.why else {
            return Ok(());
        };
        let is_done = match &signal.says {
            Says::Stop => true,
            Says::Command(command) => {
                is_done(self.driver.store(), &invocation.key(), command).await?
            }
        };
        let reply = if is_done { Reply::Done } else { Reply::Over };
        self.reply_to(invocation, &reply).await
    }

    async fn reply_to(&self, invocation: &Invocation, reply: &Reply) -> Result<(), Again> {
        if let Why::Told(signal) = &invocation.why {
            let replied = self.client.reply(&signal.reply_to, reply).await;
            replied.map_err(EngineError::from)?;
        }
        Ok(())
    }

    /// Arranges that a resting turn is notified when it has rested for too long. Returns whether the turn rests, or is
    /// over.
    async fn rests(&self, key: &TurnKey) -> Result<bool, Again> {
        let unfinished = match self.driver.unfinished(key).await {
            Err(EngineError::Store(StoreError::NoTurn { .. } | StoreError::NoThread { .. })) => {
                return Ok(true);
            }
            unfinished => unfinished?,
        };
        let Some(turn) = unfinished else {
            return Ok(true);
        };
        if turn.owner != ELSEWHERE {
            return Ok(false);
        }
        let since = turn.generation.0;
        let invocation = Invocation::new(key, Why::Lapsed(since));
        let longest = self.driver.setup().interrupt_time.saturating_add(MARGIN);
        let once = lapsed(key, since);
        let sent = self.client.send(&invocation, &once, Some(longest)).await;
        sent.map_err(EngineError::from)?;
        Ok(true)
    }
}

impl Driven<'_> {
    /// Waits until the turn is driven here no more.
    async fn ended(&self) {
        self.active.ended.cancelled().await;
    }

    fn cancel(&self) {
        self.active.cancel.cancel();
    }

    fn is_new(&self, signal: &Signal) -> bool {
        let heard = self.heard.lock();
        let mut heard = heard.unwrap_or_else(PoisonError::into_inner);
        heard.insert(signal.reply_to.clone())
    }

    /// Sends the signal to the turn while it is driven. The invocation of the same signal makes up for a lost reply.
    fn hear(&self, signal: Signal) {
        if signal.turn != self.key.turn || !self.is_new(&signal) {
            return;
        }
        let (active, client) = (self.active.clone(), self.work.client.clone());
        let key = self.key.clone();
        tokio::spawn(async move {
            let heard = match signal.says {
                Says::Stop => {
                    active.cancel.cancel();
                    // Its end is in the store when the invocation of the signal looks.
                    return;
                }
                Says::Command(command) => active.tell(command).await,
            };
            let reply = Reply::from(heard);
            if let Reply::Over | Reply::Later(_) = reply {
                // The invocation of the signal knows better.
                return;
            }
            if let Err(error) = client.reply(&signal.reply_to, &reply).await {
                tracing::warn!(target: "stepwell", turn = %key, %error, "a reply waits");
            }
        });
    }

    /// Replies to the signal that the turn was given to this host with, when it is done.
    fn reply_when(
        &self,
        signal: Signal,
        waits: Option<oneshot::Receiver<Result<(), EngineError>>>,
    ) {
        let (client, driver) = (self.work.client.clone(), self.work.driver.clone());
        let (ended, key) = (self.active.ended.clone(), self.key.clone());
        let replied = tokio::spawn(async move {
            let reply = match waits {
                Some(replied) => Reply::from(replied.await.unwrap_or(Err(EngineError::Over))),
                None => {
                    ended.cancelled().await;
                    match driver.unfinished(&key).await? {
                        None => Reply::Done,
                        // Another attempt replies.
                        Some(_) => return Ok(()),
                    }
                }
            };
            client.reply(&signal.reply_to, &reply).await?;
            Ok(())
        });
        *self.reply.lock().unwrap_or_else(PoisonError::into_inner) = Some(replied);
    }

    /// The turn is driven here no more: whether Restate is done with it too.
    async fn settle(&self) -> Result<(), Again> {
        let reply = self.reply.lock();
        let reply = reply.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(reply) = reply
            && let Ok(replied) = reply.await
        {
            replied?;
        }
        match self.work.rests(&self.key).await? {
            true => Ok(()),
            false => Err(Again::Left),
        }
    }
}

impl Drop for Driven<'_> {
    fn drop(&mut self) {
        self.active.leave.cancel();
    }
}
