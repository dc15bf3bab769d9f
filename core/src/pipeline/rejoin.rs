//! Resumes a stream that broke off, where the backend does not simply continue after the last event.

use super::passed::Passed;
use super::replay::Replay;
use super::resync::Resync;
use crate::dialect::{DecodeError, Resumption};
use crate::event::{EventRef, Order};
use crate::transcript::Transcript;
use serde::{Deserialize, Serialize};

/// The state that a stream needs to resume after a break.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Rejoin {
    way: Way,
    /// The body that is read has brought something new.
    has_gone_on: bool,
    /// Why the body does not continue what the stream has brought so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    differs: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Way {
    Replay(Replay),
    Resync(Resync),
}

impl Rejoin {
    /// Returns the state for this kind of resumption, if it needs any.
    pub(super) fn by(resumption: Resumption) -> Option<Box<Self>> {
        let way = match resumption {
            Resumption::Replay => Way::Replay(Replay::default()),
            Resumption::Snapshot => Way::Resync(Resync::default()),
            // `Never`, or the server itself leaves out what was read.
            _ => return None,
        };
        Some(Box::new(Self {
            way,
            has_gone_on: true,
            differs: None,
        }))
    }

    /// Notes that another body begins.
    pub(super) fn reopen(&mut self) {
        self.has_gone_on = false;
        match &mut self.way {
            Way::Replay(replay) => replay.reopen(),
            Way::Resync(resync) => resync.reopen(),
        }
    }

    /// Returns whether the body has not reached the place where the stream broke off.
    pub(super) fn is_behind(&self) -> bool {
        match &self.way {
            Way::Replay(replay) => replay.is_behind(),
            Way::Resync(resync) => resync.is_behind(),
        }
    }

    pub(super) fn has_gone_on(&self) -> bool {
        self.has_gone_on
    }

    /// Decides what to do with an event of the body.
    pub(super) fn pass(
        &mut self,
        event: EventRef<'_>,
        order: &Order,
        transcript: &Transcript,
    ) -> Passed {
        if self.differs.is_some() {
            return Passed::Dropped;
        }
        let was_behind = self.is_behind();
        let passed = match &mut self.way {
            Way::Replay(replay) => replay.pass(event),
            Way::Resync(resync) => resync.pass(event, order, transcript),
        };
        match passed {
            Ok(passed) => {
                self.has_gone_on |= !was_behind;
                passed
            }
            Err(reason) => {
                self.differs = Some(reason);
                Passed::Dropped
            }
        }
    }

    /// Checks that all events since the break continue what the stream has brought so far.
    pub(super) fn agrees(&self) -> Result<(), DecodeError> {
        match &self.differs {
            Some(reason) => Err(DecodeError::Resumed {
                reason: reason.clone(),
            }),
            None => Ok(()),
        }
    }
}
