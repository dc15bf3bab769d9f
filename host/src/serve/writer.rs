//! Writes the events of one run, and holds them to what the protocol allows.

use super::event_log::LogWriter;
use super::lawful::Lawful;
use super::stop::{Stop, StopSignal};
use futures::FutureExt;
use futures::future::BoxFuture;
use stepwell_core::event::Event;

/// What a run says, on its way into the log.
pub(super) struct RunWriter {
    log: LogWriter,
    lawful: Lawful,
    /// Comes to its end when the run is to be stopped. One for the whole run: it is asked with each event.
    stop: BoxFuture<'static, Stop>,
    /// Why the run is being stopped, once it is. It no longer waits for its reader then.
    stopped: Option<Stop>,
}

impl RunWriter {
    pub(super) fn new(log: LogWriter, stop: StopSignal) -> Self {
        let abandoned = log.abandoned();
        let stop = async move {
            tokio::select! {
                biased;
                () = abandoned => Stop::ClientLeft,
                stop = stop.wait() => stop,
            }
        };
        Self {
            log,
            lawful: Lawful::default(),
            stop: stop.boxed(),
            stopped: None,
        }
    }

    /// Waits until the run is to be stopped. Never comes back a second time.
    pub(super) async fn stop(&mut self) -> Stop {
        if self.stopped.is_some() {
            return std::future::pending().await;
        }
        let stop = (&mut self.stop).await;
        self.stopped = Some(stop);
        stop
    }

    /// Why the run is being stopped, if it is.
    pub(super) fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    /// Writes an event once there is room for it. `true` if the run is to be stopped from now on: the event is written
    /// all the same, as are the few that still come.
    pub(super) async fn write(&mut self, event: Event) -> bool {
        let mut is_stopped_now = false;
        if self.stopped.is_none() && !self.log.has_room() {
            tokio::select! {
                biased;
                () = self.log.room() => {}
                stop = &mut self.stop => {
                    self.stopped = Some(stop);
                    is_stopped_now = true;
                }
            }
        }
        self.append(event);
        is_stopped_now
    }

    /// Ends the run: what is still open is closed first, where the protocol asks for it.
    pub(super) fn end(&mut self, event: Event) {
        if matches!(event, Event::RunFinished(_)) {
            for end in self.lawful.ends() {
                self.append(end);
            }
        }
        self.append(event);
    }

    fn append(&mut self, event: Event) {
        if let Some(event) = self.lawful.admit(event) {
            self.log.append(&event);
        }
    }
}
