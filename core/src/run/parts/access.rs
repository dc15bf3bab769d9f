use crate::run::protocol::Authorization;
use serde::{Deserialize, Serialize};

/// What a run knows of the credentials that the host gives it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Access {
    /// What the request that is about to go out is sent with. It is never stored.
    #[serde(skip)]
    given: Option<Authorization>,
    /// The try of this hop that was refused for what it was sent with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rejected: Option<u32>,
}

impl Access {
    pub(crate) fn is_untouched(&self) -> bool {
        self.rejected.is_none()
    }

    pub(crate) fn given(&self) -> Option<&Authorization> {
        self.given.as_ref()
    }

    pub(crate) fn give(&mut self, authorization: Authorization) {
        self.given = Some(authorization);
    }

    /// The request is out, or is not to go out now: the next one is sent with what the host says then.
    pub(crate) fn forget(&mut self) {
        self.given = None;
    }

    /// The provider has refused what this try was sent with. Whether the host is to be asked once more: not when what
    /// it gave then was refused too.
    pub(crate) fn reject(&mut self, attempt: u32) -> bool {
        let is_first = self.rejected.is_none();
        self.rejected = Some(attempt);
        is_first
    }

    /// Whether what the try before this one was sent with was refused.
    pub(crate) fn is_after_rejection(&self, attempt: u32) -> bool {
        self.rejected
            .is_some_and(|rejected| rejected.checked_add(1) == Some(attempt))
    }

    /// The provider has taken it, or another hop begins.
    pub(crate) fn accepted(&mut self) {
        self.rejected = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_asked_once_more_and_not_again() {
        let mut access = Access::default();
        assert!(access.reject(0));
        assert!(access.is_after_rejection(1) && !access.is_after_rejection(2));
        assert!(!access.reject(1));
        access.accepted();
        assert!(access.is_untouched() && access.reject(4));
    }
}
