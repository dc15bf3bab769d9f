//! The services that Restate calls. What they journal comes before a turn is driven, or is a letter that was received: never
//! anything that depends on how far the turn came, which another attempt need not repeat.

use super::words::{Leg, Letter, Posted, Reply, Tell, Why};
use super::work::Work;
use restate_sdk::prelude::*;
use std::sync::Arc;

/// The name of the object that a thread is, and of its exclusive handler.
pub(super) const THREAD: &str = "StepwellThread";
pub(super) const TURN: &str = "turn";

/// Under which invocation a thread's turn is driven.
const DRIVEN_BY: &str = "driven_by";

/// For which invocation letters were posted last, and how many.
const POSTED_TO: &str = "posted_to";
const POSTED: &str = "posted";

/// A thread: one turn of it is driven at a time.
pub(super) struct Thread(pub(super) Arc<Work>);

// A turn journals nothing for as long as it is driven, and it may take long: it is asked to make room never.
#[object(
    name = "StepwellThread",
    client_visibility = "pub(super)",
    inactivity_timeout = "30 days",
    abort_timeout = "1h",
    invocation_retry_policy(
        initial_interval = "100ms",
        factor = 2.0,
        max_interval = "5s",
        max_attempts = 1000000,
        on_max_attempts = "pause",
    )
)]
impl Thread {
    /// Drives a turn until it ends, or until nobody but its user can move it on.
    #[handler]
    async fn turn(&self, ctx: ObjectContext<'_>, leg: Json<Leg>) -> Result<(), HandlerError> {
        ctx.set(DRIVEN_BY, ctx.invocation_id().to_owned());
        let leg = leg.into_inner();
        let Some(driven) = self.0.take(&leg).await? else {
            return Ok(());
        };
        let mut number = 0;
        loop {
            let letter = tokio::select! {
                biased;
                letter = ctx.signal::<Json<Letter>>(&signal(number)) => letter,
                () = driven.ended() => break,
            };
            match letter {
                Ok(letter) => driven.hear(letter.into_inner()),
                // Whoever operates Restate has cancelled the invocation.
                Err(_) => {
                    driven.cancel();
                    driven.ended().await;
                    break;
                }
            }
            number += 1;
        }
        // No journal entry may follow.
        Ok(driven.settle().await?)
    }

    /// Tells a turn something, and gives what became of it.
    #[handler]
    async fn tell(
        &self,
        ctx: SharedObjectContext<'_>,
        tell: Json<Tell>,
    ) -> Result<Json<Reply>, HandlerError> {
        let Tell { thread, turn, says } = tell.into_inner();
        let (reply_to, reply) = ctx.awakeable::<Json<Reply>>();
        let letter = Letter { says, reply_to };
        if let Some(invocation) = ctx.get::<String>(DRIVEN_BY).await? {
            let posted = Posted {
                invocation,
                letter: letter.clone(),
            };
            let post = ctx.object_client::<PostClient<'_>>(ctx.key());
            post.post(Json(posted)).send();
        }
        // Where no host drives the turn, one is given it; else this comes when that one is done, and finds it done.
        let leg = Leg {
            thread,
            turn,
            why: Why::Told(letter),
        };
        let own = ctx.object_client::<ThreadClient<'_>>(ctx.key());
        own.turn(Json(leg)).send();
        Ok(reply.await?)
    }
}

/// Hands letters on, one by one: an invocation takes them by their number.
pub(super) struct Post;

#[object(
    name = "StepwellPost",
    client_visibility = "pub(super)",
    ingress_private
)]
impl Post {
    #[handler]
    async fn post(&self, ctx: ObjectContext<'_>, posted: Json<Posted>) -> Result<(), HandlerError> {
        let Posted { invocation, letter } = posted.into_inner();
        let before = ctx.get::<String>(POSTED_TO).await?;
        let number = match before == Some(invocation.clone()) {
            true => ctx.get::<u64>(POSTED).await?.unwrap_or_default(),
            false => 0,
        };
        let handle = ctx.invocation_handle(invocation.clone());
        handle.signal(signal(number)).resolve(Json(letter));
        ctx.set(POSTED_TO, invocation);
        ctx.set(POSTED, number + 1);
        Ok(())
    }
}

/// What a turn's letter of this number comes under.
fn signal(number: u64) -> String {
    format!("letter-{number}")
}
