//! The services that Restate calls. What they journal comes before a turn is driven, or is a signal that was received: never
//! anything that depends on how far the turn came, which another attempt need not repeat.

use crate::engine::reply::Reply;
use crate::engine::restate::protocol::{Invocation, Signal, Tell, Why};
use crate::engine::restate::work::Work;
use restate_sdk::prelude::*;
use std::sync::Arc;

/// Under which invocation a thread's turn is driven, and the signals that came since it is.
const DRIVEN_BY: &str = "driven_by";
const SIGNALS: &str = "signals";

/// The number of the next signal for it.
const NEXT: &str = "next";

/// A thread: one turn of it is driven at a time.
pub(crate) struct Thread(pub(crate) Arc<Work>);

// A turn journals nothing for as long as it is driven, and it may take long: it is asked to make room never.
#[object(
    name = "StepwellThread",
    client_visibility = "pub(crate)",
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
    /// Drives a turn until it ends, or until only its user can move it on.
    #[handler]
    async fn turn(
        &self,
        ctx: ObjectContext<'_>,
        invocation: Json<Invocation>,
    ) -> Result<(), HandlerError> {
        let signals = ctx.object_client::<SignalsClient<'_>>(ctx.key());
        signals.deliver_to(ctx.invocation_id().to_owned()).send();
        let ctx = &ctx;
        let signal = |number| async move {
            let name = signal_name(number);
            let signal = ctx.signal::<Json<Signal>>(&name).await;
            signal.ok().map(Json::into_inner)
        };
        // No journal entry may follow.
        Ok(self.0.drive(&invocation.into_inner(), signal).await?)
    }

    /// Sends a turn a command, and returns the outcome.
    #[handler]
    async fn tell(
        &self,
        ctx: SharedObjectContext<'_>,
        tell: Json<Tell>,
    ) -> Result<Json<Reply>, HandlerError> {
        let Tell { thread, turn, says } = tell.into_inner();
        let (reply_to, reply) = ctx.awakeable::<Json<Reply>>();
        let signal = Signal {
            turn: turn.clone(),
            says,
            reply_to,
        };
        let signals = ctx.object_client::<SignalsClient<'_>>(ctx.key());
        signals.pass_on(Json(signal.clone())).send();
        // If no host drives the turn, one receives it. Otherwise this call runs after that host is done, and finds the
        // turn done.
        let invocation = Invocation {
            thread,
            turn,
            why: Why::Told(signal),
        };
        let own = ctx.object_client::<ThreadClient<'_>>(ctx.key());
        own.turn(Json(invocation)).send();
        Ok(reply.await?)
    }
}

/// Hands signals on to whatever drives the thread's turn: an invocation takes them by their number. One that begins is
/// given those that came before too, since they may have come before it was known.
pub(crate) struct Signals;

#[object(
    name = "StepwellSignals",
    client_visibility = "pub(crate)",
    ingress_private
)]
impl Signals {
    #[handler]
    async fn deliver_to(
        &self,
        ctx: ObjectContext<'_>,
        invocation: String,
    ) -> Result<(), HandlerError> {
        let came = ctx.get::<Json<Vec<Signal>>>(SIGNALS).await?;
        let came = came.map(Json::into_inner).unwrap_or_default();
        let mut next = 0;
        for signal in came {
            let handle = ctx.invocation_handle(invocation.clone());
            handle.signal(signal_name(next)).resolve(Json(signal));
            next += 1;
        }
        ctx.set(DRIVEN_BY, invocation);
        ctx.set(NEXT, next);
        ctx.clear(SIGNALS);
        Ok(())
    }

    #[handler]
    async fn pass_on(
        &self,
        ctx: ObjectContext<'_>,
        signal: Json<Signal>,
    ) -> Result<(), HandlerError> {
        let signal = signal.into_inner();
        if let Some(invocation) = ctx.get::<String>(DRIVEN_BY).await? {
            let next = ctx.get::<u64>(NEXT).await?.unwrap_or_default();
            let handle = ctx.invocation_handle(invocation);
            handle
                .signal(signal_name(next))
                .resolve(Json(signal.clone()));
            ctx.set(NEXT, next + 1);
        }
        let came = ctx.get::<Json<Vec<Signal>>>(SIGNALS).await?;
        let mut came = came.map(Json::into_inner).unwrap_or_default();
        came.push(signal);
        ctx.set(SIGNALS, Json(came));
        Ok(())
    }
}

/// Returns the name of a turn's signal of this number.
fn signal_name(number: u64) -> String {
    format!("signal-{number}")
}
