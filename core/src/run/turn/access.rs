//! The credentials of requests that the host supplies.
//!
//! Owns `access`. The host is asked when a request is due. Its answer is forgotten as soon as the request is sent, and
//! is never stored; for an answer in the background it is kept in memory, to cancel the answer with it.

use super::Turn;
use crate::dialect::{Endpoint, Resumption};
use crate::run::protocol::{Authorization, Credentials, EffectId, EffectStage, TimerKey};
use std::borrow::Cow;

impl Turn {
    /// Returns the effect to emit instead of this one: a request waits until the host has supplied its credentials.
    pub(super) fn with_access(&self, id: EffectId) -> EffectId {
        let is_asked = self.setup.config().credentials == Credentials::Host;
        match id {
            EffectId::Open { hop, attempt } if is_asked && self.access.given().is_none() => {
                EffectId::Authorize { hop, attempt }
            }
            // The run was stored while it asked its host.
            EffectId::Authorize { hop, attempt } if !is_asked => EffectId::Open { hop, attempt },
            id => id,
        }
    }

    /// Asks the host again for a request that was due: a run that was just read has no credentials.
    pub(super) fn ask_for_access_again(&mut self) {
        for id in self.effects.at(EffectStage::Queued) {
            if self.with_access(id) != id {
                self.free(id);
            }
        }
    }

    /// Sends a request with the credentials that the host has given.
    pub(in crate::run) fn authorize(&mut self, request: EffectId, authorization: Authorization) {
        self.access.give(authorization);
        self.emit(request);
    }

    /// Returns the credentials of the next request, while they are known.
    pub(in crate::run) fn given_access(&self) -> Option<&Authorization> {
        self.access.given()
    }

    /// Returns the credentials that an answer in the background may be cancelled with, and the number of their model.
    pub(in crate::run) fn kept_access(&self) -> Option<&(u32, Authorization)> {
        self.access.kept()
    }

    /// Forgets the credentials: the request is sent, or is not sent now.
    pub(super) fn forget_access(&mut self) {
        self.access.forget();
    }

    /// Notes that the provider has rejected the credentials of an attempt. Returns whether the host is asked again.
    pub(in crate::run) fn reject_access(&mut self, attempt: u32) -> bool {
        self.setup.config().credentials == Credentials::Host && self.access.reject(attempt)
    }

    /// Notes that the provider has accepted the credentials of the request.
    pub(super) fn accept_access(&mut self) {
        if self.setup.config().endpoint.quirks.resumption == Resumption::Background {
            self.access.keep_for(self.route.model());
        }
        self.access.forget();
        self.access.accepted();
    }

    /// Returns whether the host is asked because the provider refused the credentials before.
    pub(in crate::run) fn is_after_rejection(&self, attempt: u32) -> bool {
        self.access.is_after_rejection(attempt)
    }

    /// Returns the endpoint of the request, with the credentials.
    pub(in crate::run) fn endpoint(&self) -> Cow<'_, Endpoint> {
        let endpoint = &self.setup.config().endpoint;
        let Some(given) = self.access.given() else {
            return Cow::Borrowed(endpoint);
        };
        Cow::Owned(given.over(endpoint.clone()))
    }

    pub(super) fn time_access(&mut self) {
        let most = self.setup.config().timeouts.credentials;
        self.clocks.set(TimerKey::Credentials, most);
    }
}
