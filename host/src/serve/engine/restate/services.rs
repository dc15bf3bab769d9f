//! The services that Restate calls. What they journal comes before a turn is driven, or is a letter that was received: never
//! anything that depends on how far the turn came, which another attempt need not repeat.

use super::words::{Leg, Letter, Reply, Tell, Why};
use super::work::Work;
use restate_sdk::prelude::*;
use std::sync::Arc;

/// The name of the object that a thread is, and of its exclusive handler.
pub(super) const THREAD: &str = "StepwellThread";
pub(super) const TURN: &str = "turn";

/// Under which invocation a thread's turn is driven, and the letters that came since it is.
const DRIVEN_BY: &str = "driven_by";
const LETTERS: &str = "letters";

/// The number of the next letter for it.
const NEXT: &str = "next";

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
        let post = ctx.object_client::<PostClient<'_>>(ctx.key());
        post.deliver_to(ctx.invocation_id().to_owned()).send();
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
        let letter = Letter {
            turn: turn.clone(),
            says,
            reply_to,
        };
        let post = ctx.object_client::<PostClient<'_>>(ctx.key());
        post.post(Json(letter.clone())).send();
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

/// Hands letters on to whatever drives the thread's turn: an invocation takes them by their number. One that begins is
/// given those that came before too, since they may have come before it was known.
pub(super) struct Post;

#[object(
    name = "StepwellPost",
    client_visibility = "pub(super)",
    ingress_private
)]
impl Post {
    #[handler]
    async fn deliver_to(
        &self,
        ctx: ObjectContext<'_>,
        invocation: String,
    ) -> Result<(), HandlerError> {
        let came = ctx.get::<Json<Vec<Letter>>>(LETTERS).await?;
        let came = came.map(Json::into_inner).unwrap_or_default();
        let mut next = 0;
        for letter in came {
            let handle = ctx.invocation_handle(invocation.clone());
            handle.signal(signal(next)).resolve(Json(letter));
            next += 1;
        }
        ctx.set(DRIVEN_BY, invocation);
        ctx.set(NEXT, next);
        ctx.clear(LETTERS);
        Ok(())
    }

    #[handler]
    async fn post(&self, ctx: ObjectContext<'_>, letter: Json<Letter>) -> Result<(), HandlerError> {
        let letter = letter.into_inner();
        if let Some(invocation) = ctx.get::<String>(DRIVEN_BY).await? {
            let next = ctx.get::<u64>(NEXT).await?.unwrap_or_default();
            let handle = ctx.invocation_handle(invocation);
            handle.signal(signal(next)).resolve(Json(letter.clone()));
            ctx.set(NEXT, next + 1);
        }
        let came = ctx.get::<Json<Vec<Letter>>>(LETTERS).await?;
        let mut came = came.map(Json::into_inner).unwrap_or_default();
        came.push(letter);
        ctx.set(LETTERS, Json(came));
        Ok(())
    }
}

/// What a turn's letter of this number comes under.
fn signal(number: u64) -> String {
    format!("letter-{number}")
}
