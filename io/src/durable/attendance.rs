//! An agent says in its store that it lives, while turns of it are under way.

use super::StoreSetup;
use crate::store::{Presence, StoreError};
use std::sync::{Arc, Weak};
use tokio::sync::Mutex;

/// What the turns of an agent share: the first of them makes the presence, and it ends with the last, so that a turn that
/// was suspended can be recovered by another agent. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attendance(Arc<Mutex<Weak<Presence>>>);

impl StoreSetup {
    /// Says that the owner lives, until what is given is dropped; nothing if that is said elsewhere. It waits while the
    /// store has lost the presence.
    pub(crate) async fn attend(&self) -> Result<Option<Arc<Presence>>, StoreError> {
        let Some(Attendance(own)) = &self.attendance else {
            return Ok(None);
        };
        let presence = {
            let mut own = own.lock().await;
            match own.upgrade() {
                Some(presence) => presence,
                None => {
                    let presence = Arc::new(self.store.attend(&self.owner).await?);
                    *own = Arc::downgrade(&presence);
                    presence
                }
            }
        };
        presence.held().await;
        Ok(Some(presence))
    }
}
