//! Errors of readers, as those of engines.

use super::FollowError;
use crate::engine::EngineError;

impl From<FollowError> for EngineError {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Store(error) => error.into(),
            // The event was there a moment ago.
            FollowError::NoEvent { .. } => Self::Contended,
        }
    }
}
