//! The memory that followers of turns hold, whether they read it or not.
//!
//! A follower is given a page of events at a time: 64 KiB, or one event that is longer. All pages together are bounded:
//! where there is no room for one more, the connection is closed that has held its page longest. Its client resumes
//! with the id of the last event that it has.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The most bytes of a page, unless it is a single event.
pub(super) const MAX_PAGE_BYTES: usize = 64 << 10;

/// The most bytes of all pages.
const MAX_BYTES: usize = 256 << 20;

/// The number of concurrent reads of a page, which is not counted while it is read.
const READERS: usize = 8;

/// All followers. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Followers {
    held: Arc<Mutex<Held>>,
    reading: Arc<Semaphore>,
    most: usize,
}

#[derive(Debug, Default)]
struct Held {
    next: u64,
    bytes: usize,
    /// The pages, the one first that is held longest, with what closes its connection.
    pages: BTreeMap<u64, (usize, CancellationToken)>,
}

/// A page that counts until it is dropped.
#[derive(Debug)]
pub(crate) struct HeldPage {
    held: Arc<Mutex<Held>>,
    number: u64,
}

impl Default for Followers {
    fn default() -> Self {
        Self::new(MAX_BYTES)
    }
}

impl Followers {
    fn new(most: usize) -> Self {
        Self {
            held: Arc::default(),
            reading: Arc::new(Semaphore::new(READERS)),
            most,
        }
    }

    /// Waits for the turn to read a page, which is held until it is counted.
    pub(crate) async fn reads(&self) -> Result<OwnedSemaphorePermit, AcquireError> {
        Arc::clone(&self.reading).acquire_owned().await
    }

    /// Counts a page of this size. Where there is no room, closes the connections that have held their pages longest;
    /// `close` closes the caller's own.
    pub(crate) fn hold(&self, bytes: usize, close: &CancellationToken) -> HeldPage {
        let mut held = lock(&self.held);
        while held.bytes + bytes > self.most
            && let Some((_, (freed, close))) = held.pages.pop_first()
        {
            held.bytes -= freed;
            close.cancel();
            tracing::warn!(target: "stepwell", "a follower that does not read is cut off: all followers hold as much as they may");
        }
        let number = held.next;
        held.next += 1;
        held.bytes += bytes;
        held.pages.insert(number, (bytes, close.clone()));
        HeldPage {
            held: Arc::clone(&self.held),
            number,
        }
    }
}

impl Drop for HeldPage {
    fn drop(&mut self) {
        let mut held = lock(&self.held);
        if let Some((bytes, _)) = held.pages.remove(&self.number) {
            held.bytes -= bytes;
        }
    }
}

fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    // Nothing is left half-done under the lock.
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_that_is_held_longest_makes_room() {
        let followers = Followers::new(100);
        let close = [(); 4].map(|()| CancellationToken::new());
        let closed = || close.each_ref().map(CancellationToken::is_cancelled);
        let _first = followers.hold(40, &close[0]);
        let second = followers.hold(40, &close[1]);
        drop(second);
        let _third = followers.hold(60, &close[2]);
        assert_eq!(closed(), [false; 4]);
        let last = followers.hold(90, &close[3]);
        assert_eq!(closed(), [true, false, true, false]);
        assert_eq!(lock(&followers.held).bytes, 90);
        drop(last);
        assert_eq!(lock(&followers.held).bytes, 0);
        // A page that is longer than the budget of all pages is alone.
        let _long = followers.hold(1_000, &close[1]);
        let _short = followers.hold(1, &close[3]);
        assert_eq!(closed(), [true, true, true, false]);
    }
}
