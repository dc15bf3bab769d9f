//! What a turn waits for, and what happens next in it.

use super::Drive;
use crate::engine::{Command, CommandReply};
use crate::turn::asking::Asking;
use crate::turn::event_writer::EventWriter;
use crate::turn::run_clock::RunClock;
use crate::turn::stop::Stop;
use crate::turn::store_trouble::StoreTrouble;
use crate::turn::store_waits::StoreWaits;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use stepwell_io::turn::{RunEvent, TurnEvents, TurnHandle};
use tokio::time::Instant;

/// The next event in driving a turn.
pub(super) enum DriveEvent {
    /// The turn emits an event; none after its end.
    Event(Option<RunEvent>),
    /// A tool asks, or withdraws its question.
    Asked(Asking),
    /// The host passes a command on.
    Command(Command, CommandReply),
    /// Something else keeps the turn from being stored, or nothing any more.
    StoreTrouble(Option<StoreTrouble>),
    /// The time for an answer is over.
    QuestionLapsed,
    /// A report of progress that was held back is due.
    ProgressDue,
    /// It may be that only the user or the client can move the turn on.
    MayRest,
    /// A client has begun to read the run, or has stopped.
    ReadersChanged,
    /// The turn must be stopped.
    Stopped(Stop),
    /// This host releases the turn.
    Released,
}

/// The signals that stop a turn from outside, and whether one came.
pub(super) struct Guards {
    /// Completes when the log cannot be written any more.
    failed: BoxFuture<'static, ()>,
    waits: StoreWaits,
    pub(super) clock: RunClock,
    pub(super) stop: Option<Stop>,
    /// Whether to wait for the turn to rest: not directly after it was found at rest.
    may_rest: bool,
}

impl Guards {
    pub(super) fn new(drive: &Drive<'_>, handle: &TurnHandle) -> Self {
        Self {
            failed: drive.writer.failed(),
            waits: StoreWaits::new(handle, drive.writer, drive.setup.store_timeout),
            clock: RunClock::new(drive.setup.run_time),
            stop: None,
            may_rest: true,
        }
    }
}

impl Drive<'_> {
    /// Waits for what happens next.
    pub(super) async fn next_step(
        &mut self,
        guards: &mut Guards,
        handle: &TurnHandle,
    ) -> DriveEvent {
        self.note_asks();
        guards.clock.set(!self.awaits_answer());
        let is_told = self.is_in_run(guards.stop);
        let may_stop = guards.stop.is_none();
        // The client is asked when the run ends, even if the question has lapsed by then.
        let is_asking = self.is_told_in_runs && self.run.is_some() && may_stop;
        let looks = self.looks_for_rest() && may_stop;
        let has_moved = looks && self.has_moved && self.questions.has_tools();
        // A new future each time: a rest before the last event does not count.
        let mut rests = (looks && guards.may_rest).then(|| rested(handle));
        let next = tokio::select! {
            biased;
            () = &mut guards.failed => DriveEvent::Released,
            () = self.leave.cancelled() => DriveEvent::Released,
            () = self.closing.cancelled(), if !is_told => match self.setup.is_durable {
                true => DriveEvent::Released,
                false => DriveEvent::Stopped(Stop::Cancelled),
            },
            () = self.cancel.cancelled(), if may_stop => DriveEvent::Stopped(Stop::Cancelled),
            () = until(guards.clock.deadline()), if may_stop => DriveEvent::Stopped(Stop::OutOfTime),
            () = until(guards.waits.deadline()), if may_stop => DriveEvent::Stopped(Stop::StoreAway),
            () = until(self.unread_until()), if may_stop => DriveEvent::Stopped(Stop::ClientLeft),
            () = self.reading.changed(), if self.is_told_in_runs => DriveEvent::ReadersChanged,
            trouble = guards.waits.changed() => DriveEvent::StoreTrouble(trouble),
            Some((command, reply)) = self.commands.recv() => DriveEvent::Command(command, reply),
            Some(asking) = self.asked.recv() => DriveEvent::Asked(asking),
            () = until(self.questions.next_lapse()), if !is_asking => DriveEvent::QuestionLapsed,
            () = until(self.progress.deadline()) => DriveEvent::ProgressDue,
            event = take(self.writer, &mut self.turn), if is_told => DriveEvent::Event(event),
            () = std::future::ready(()), if has_moved => DriveEvent::MayRest,
            () = async {
                if let Some(rests) = &mut rests {
                    rests.await;
                }
            }, if rests.is_some() => DriveEvent::MayRest,
        };
        guards.may_rest = !matches!(next, DriveEvent::MayRest);
        next
    }

    /// Returns whether it matters that the turn rests.
    fn looks_for_rest(&self) -> bool {
        self.awaits_answer() && (self.is_told_in_runs || self.resting.is_some())
    }

    /// Returns when the turn will have been without readers for long enough.
    fn unread_until(&self) -> Option<Instant> {
        let waits = self.awaits_answer();
        match (self.is_told_in_runs, &self.run) {
            (true, Some(_)) => self.reading.deadline(),
            (true, None) if !waits => self.reading.gives_up(),
            _ => None,
        }
    }
}

/// Waits until only the user or the client can move the turn on; for ever if it comes to its end instead.
fn rested(handle: &TurnHandle) -> BoxFuture<'static, ()> {
    let handle = handle.clone();
    async move {
        if handle.rested().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
    .boxed()
}

/// The next event, once there is room for it.
async fn take(writer: &EventWriter, turn: &mut TurnEvents) -> Option<RunEvent> {
    writer.room().await;
    turn.next().await
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
