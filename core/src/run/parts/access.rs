use crate::run::protocol::Authorization;
use serde::{Deserialize, Serialize};

/// The credentials that a run has from the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Access {
    /// The credentials of the next request. They are never stored.
    #[serde(skip)]
    given: Option<Authorization>,
    /// The credentials that a model's provider has accepted, for its answer that is made in the background. They are never
    /// stored.
    #[serde(skip)]
    kept: Option<(u32, Authorization)>,
    /// The attempt of this hop whose credentials were rejected.
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

    /// Forgets the credentials: the request is sent, or is not sent now. The host is asked again for the next request.
    pub(crate) fn forget(&mut self) {
        self.given = None;
    }

    /// Keeps the credentials of the request that is sent to the model with this number.
    pub(crate) fn keep_for(&mut self, model: u32) {
        if let Some(given) = self.given.clone() {
            self.kept = Some((model, given));
        }
    }

    /// Returns the credentials that were kept, and the number of their model.
    pub(crate) fn kept(&self) -> Option<&(u32, Authorization)> {
        self.kept.as_ref()
    }

    /// Returns the credentials that were kept for the model with this number.
    pub(crate) fn kept_for(&self, model: u32) -> Option<&Authorization> {
        let (of, kept) = self.kept.as_ref()?;
        (*of == model).then_some(kept)
    }

    /// Notes that the provider has rejected the credentials of this attempt. Returns whether to ask the host again: not
    /// if the credentials that the host then gave were rejected too.
    pub(crate) fn reject(&mut self, attempt: u32) -> bool {
        let is_first = self.rejected.is_none();
        self.rejected = Some(attempt);
        is_first
    }

    /// Returns whether the credentials of the attempt before this one were rejected.
    pub(crate) fn is_after_rejection(&self, attempt: u32) -> bool {
        self.rejected
            .is_some_and(|rejected| rejected.checked_add(1) == Some(attempt))
    }

    /// Notes that the provider accepted the credentials, or that another hop begins.
    pub(crate) fn accepted(&mut self) {
        self.rejected = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_kept_for_their_model() {
        let mut access = Access::default();
        access.keep_for(1);
        assert_eq!(access.kept(), None, "none were given");
        let given = Authorization::from("sk-of-now");
        access.give(given.clone());
        access.keep_for(1);
        access.forget();
        assert_eq!(access.kept(), Some(&(1, given.clone())));
        assert_eq!(access.kept_for(1), Some(&given));
        assert_eq!(access.kept_for(0), None);
    }

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
