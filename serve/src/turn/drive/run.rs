//! The loop that drives a turn.

use super::next::{DriveEvent, Guards};
use super::{CurrentRun, Drive, DriveEnd, EndedRun};
use crate::engine::{Command, CommandReply, Continued};
use crate::turn::brought::Given;
use crate::turn::ending::Ending;
use crate::turn::run_clock::RunClock;
use crate::turn::stop::Stop;
use crate::turn::store_trouble::StoreTrouble;
use stepwell_core::event::TokenUsage;
use stepwell_io::turn::TurnHandle;
use tokio::sync::mpsc;

/// A turn that waits for its model reserves no room for rare events: the futures of their handlers are boxed.
impl Drive<'_> {
    /// Drives the turn: waits for what happens next, and handles it.
    pub(crate) async fn run(
        mut self,
        given: Given,
        continued: Option<(Box<Continued>, CommandReply)>,
    ) -> DriveEnd {
        let handle = self.turn.handle();
        let mut guards = Guards::new(&self, &handle);
        Box::pin(self.give_unstored(given, &handle)).await;
        if let Some((continued, reply)) = continued {
            Box::pin(self.continue_in_run(*continued, reply, &handle)).await;
        }
        loop {
            match self.next_step(&mut guards, &handle).await {
                DriveEvent::Released => return Box::pin(self.release(DriveEnd::Left)).await,
                DriveEvent::ReadersChanged => {}
                DriveEvent::MayRest => {
                    if let Some(owner) = Box::pin(self.rest_now(&handle)).await {
                        return Box::pin(self.release(DriveEnd::Rests(owner))).await;
                    }
                }
                DriveEvent::Stopped(why) => {
                    guards.stop = Some(why);
                    Box::pin(self.stop(&handle)).await;
                }
                DriveEvent::StoreTrouble(trouble) => self.report_trouble(trouble).await,
                DriveEvent::Command(command, reply) => {
                    if !self.is_in_run(guards.stop) {
                        guards.clock = RunClock::new(self.setup.run_time);
                    }
                    Box::pin(self.take_command(command, reply, guards.stop, &handle)).await;
                }
                DriveEvent::QuestionLapsed => Box::pin(self.lapse_questions(&handle)).await,
                DriveEvent::ProgressDue => self.report_progress().await,
                DriveEvent::Asked(asking) => {
                    Box::pin(self.ask(asking)).await;
                    self.handle_early_commands(&handle).await;
                }
                DriveEvent::Event(Some(event)) => self.report_events(event, &handle).await,
                DriveEvent::Event(None) => return Box::pin(self.finish(guards.stop)).await,
            }
        }
    }

    /// Ends the run if only the user or the client can move the turn on. Returns the owner in whose name the turn is then
    /// stored, if this host releases it.
    async fn rest_now(&mut self, handle: &TurnHandle) -> Option<&'static str> {
        self.has_moved = false;
        let rest = self.awaited(handle).await?;
        if std::mem::take(&mut self.has_lapsed) {
            self.lapse(handle).await;
            return None;
        }
        self.end_run(&rest, handle).await;
        self.resting.filter(|_| !self.questions.has_tools())
    }

    /// Cancels the turn, whose end is reported in a run.
    async fn stop(&mut self, handle: &TurnHandle) {
        if self.run.is_none() {
            let id = format!("{}-end", self.key.turn);
            self.begin_run(id.into(), None, Vec::new(), handle).await;
        }
        self.turn.cancel();
    }

    /// Reports what keeps the turn from being stored, once for each time that the store is away.
    async fn report_trouble(&mut self, trouble: Option<StoreTrouble>) {
        let before = self.trouble.send_replace(trouble);
        if let (None, Some(trouble)) = (before, trouble)
            && self.run.is_some()
        {
            self.writer.append(trouble.warning()).await;
        }
    }

    /// Handles a command, in a run of its own if the turn is between two runs.
    async fn take_command(
        &mut self,
        command: Command,
        reply: CommandReply,
        stop: Option<Stop>,
        handle: &TurnHandle,
    ) {
        if !self.is_in_run(stop) && !matches!(command, Command::Continue(_)) {
            self.begin_unposted(handle).await;
        }
        self.handle_command(command, reply, handle).await;
    }

    /// Releases the turn: the next owner continues from the checkpoint of the last write.
    async fn release(self, over: DriveEnd) -> DriveEnd {
        let _ = self.turn.suspend().await;
        close(self.commands).await;
        over
    }

    /// Takes the outcome of a turn that has come to its end.
    async fn finish(mut self, stop: Option<Stop>) -> DriveEnd {
        self.report_state().await;
        let finished = self.turn.finish().await;
        close(self.commands).await;
        let ending = Ending::of(&finished.outcome, stop, self.models);
        let run = self.run.unwrap_or_else(|| CurrentRun {
            id: self.key.turn.clone(),
            before: TokenUsage::default(),
            observer: None,
        });
        let run = EndedRun {
            id: run.id,
            before: run.before,
            used: finished.usage,
            observer: run.observer,
        };
        DriveEnd::Ended(ending, run)
    }
}

/// Drops the commands that came too late. One that was being sent would stay in a channel that is only dropped, and
/// its sender would wait.
async fn close(mut commands: mpsc::Receiver<(Command, CommandReply)>) {
    commands.close();
    while commands.recv().await.is_some() {}
}
