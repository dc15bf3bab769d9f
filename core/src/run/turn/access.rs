//! What requests are sent with, where the host gives it: asked for when a request is about to go out, and forgotten when
//! it has.

use super::Turn;
use crate::dialect::Endpoint;
use crate::run::protocol::{Authorization, Credentials, EffectId, EffectStage, TimerKey};
use std::borrow::Cow;

impl Turn {
    /// What is to go out in the place of this effect: a request waits until the host has said what it is sent with.
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

    /// A run that was just read has no credentials: for a request that was about to go out the host is asked again.
    pub(super) fn ask_for_access_again(&mut self) {
        for id in self.effects.at(EffectStage::Queued) {
            if self.with_access(id) != id {
                self.free(id);
            }
        }
    }

    /// The host has said what the request is sent with: it goes out.
    pub(in crate::run) fn authorize(&mut self, request: EffectId, authorization: Authorization) {
        self.access.give(authorization);
        self.emit(request);
    }

    /// The request is out, or is not to go out now.
    /// What the next request is sent with, while it is known.
    pub(in crate::run) fn given_access(&self) -> Option<&Authorization> {
        self.access.given()
    }

    pub(super) fn forget_access(&mut self) {
        self.access.forget();
    }

    /// The provider has refused what the try was sent with. Whether the host is to be asked once more.
    pub(in crate::run) fn reject_access(&mut self, attempt: u32) -> bool {
        self.setup.config().credentials == Credentials::Host && self.access.reject(attempt)
    }

    /// The provider has taken what the request was sent with.
    pub(super) fn accept_access(&mut self) {
        self.access.forget();
        self.access.accepted();
    }

    /// Whether the host is asked since what it gave before was refused.
    pub(in crate::run) fn is_after_rejection(&self, attempt: u32) -> bool {
        self.access.is_after_rejection(attempt)
    }

    /// Where the request goes, with what it is sent with.
    pub(in crate::run) fn endpoint(&self) -> Cow<'_, Endpoint> {
        let endpoint = &self.setup.config().endpoint;
        let Some(given) = self.access.given() else {
            return Cow::Borrowed(endpoint);
        };
        let mut endpoint = endpoint.clone();
        if let Some(key) = &given.key {
            endpoint = endpoint.with_key(key.clone());
        }
        endpoint.put_headers(&given.headers);
        Cow::Owned(endpoint)
    }

    pub(super) fn time_access(&mut self) {
        let most = self.setup.config().timeouts.credentials;
        self.clocks.set(TimerKey::Credentials, most);
    }
}
