//! The streams of chats that are under way, from their beginning: a client that has lost its connection comes back to one.

use super::super::encoding::Encoding;
use super::super::event_log::EventStream;
use super::super::frames::LONGEST;
use bytes::Bytes;
use futures::{Stream, stream};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use tokio::sync::watch;

/// The streams of chats that are under way. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct ChatStreams(Arc<Mutex<HashMap<ThreadKey, Arc<Said>>>>);

/// What one run has said so far.
#[derive(Debug)]
struct Said {
    frames: Mutex<Vec<Bytes>>,
    progress: watch::Sender<Progress>,
    /// How many read it.
    readers: watch::Sender<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// How many frames there are.
    frames: usize,
    is_over: bool,
}

/// One reader of a chat's stream, from its beginning.
#[derive(Debug)]
pub struct ChatStream {
    said: Arc<Said>,
    progress: watch::Receiver<Progress>,
    next: usize,
}

impl ChatStreams {
    /// Keeps what a run of the chat says until it is over, in the place of its run before. A run that nobody reads for
    /// `patience` is stopped.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn keep(&self, chat: ThreadKey, mut run: EventStream, patience: Duration) -> ChatStream {
        let said = Arc::new(Said {
            frames: Mutex::default(),
            progress: watch::Sender::default(),
            readers: watch::Sender::default(),
        });
        self.lock().insert(chat.clone(), Arc::clone(&said));
        let stream = said.read();
        let streams = self.clone();
        tokio::spawn(async move {
            let mut readers = said.readers.subscribe();
            loop {
                let is_read = *readers.borrow_and_update() > 0;
                let entry = tokio::select! {
                    biased;
                    entry = run.next() => entry,
                    Ok(()) = readers.changed() => continue,
                    () = tokio::time::sleep(patience.min(LONGEST)), if !is_read => None,
                };
                let Some(entry) = entry else { break };
                said.add(entry.json.into());
            }
            said.progress
                .send_modify(|progress| progress.is_over = true);
            streams.forget(&chat, &said);
        });
        stream
    }

    /// The stream of the chat's run that is under way, if there is one.
    #[must_use]
    pub fn get(&self, chat: &ThreadKey) -> Option<ChatStream> {
        self.lock().get(chat).map(Said::read)
    }

    fn forget(&self, chat: &ThreadKey, said: &Arc<Said>) {
        let mut streams = self.lock();
        if streams.get(chat).is_some_and(|now| Arc::ptr_eq(now, said)) {
            streams.remove(chat);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ThreadKey, Arc<Said>>> {
        // Nothing is left half-done under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Said {
    fn add(&self, frame: Bytes) {
        self.frames().push(frame);
        self.progress.send_modify(|progress| progress.frames += 1);
    }

    fn read(self: &Arc<Self>) -> ChatStream {
        self.readers.send_modify(|readers| *readers += 1);
        ChatStream {
            said: Arc::clone(self),
            progress: self.progress.subscribe(),
            next: 0,
        }
    }

    fn frames(&self) -> MutexGuard<'_, Vec<Bytes>> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatStream {
    /// The frames of an HTTP body, with a comment after a silence of `keep_alive`.
    pub fn frames(self, keep_alive: Duration) -> impl Stream<Item = Bytes> + Send + 'static {
        let keep_alive = keep_alive.min(LONGEST);
        stream::unfold(self, move |mut stream| async move {
            let next = stream.next(keep_alive).await?;
            Some((next, stream))
        })
    }

    /// All that it has not given yet, or a comment.
    async fn next(&mut self, keep_alive: Duration) -> Option<Bytes> {
        loop {
            let Progress { frames, is_over } = *self.progress.borrow_and_update();
            if frames > self.next {
                let unread = self.said.frames()[self.next..frames].concat();
                self.next = frames;
                return Some(unread.into());
            }
            if is_over {
                return None;
            }
            match tokio::time::timeout(keep_alive, self.progress.changed()).await {
                Ok(_) => {}
                Err(_) => return Encoding::UiMessages.keep_alive(),
            }
        }
    }
}

impl Drop for ChatStream {
    fn drop(&mut self) {
        self.said.readers.send_modify(|readers| *readers -= 1);
    }
}
