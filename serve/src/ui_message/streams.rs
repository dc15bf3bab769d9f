//! The streams of chats, from their beginning: a client that has lost its connection comes back to one.

use crate::ui_message::encoder::ABORTED;
use crate::wire::Encoding;
use crate::wire::event_log::EventStream;
use crate::wire::frames::LONGEST;
use bytes::Bytes;
use futures::{Stream, stream};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long an answer is kept that ended without a reader.
const KEEP_AFTER_END: Duration = Duration::from_secs(60);

/// The most bytes of all such answers together.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// The most bytes that a reader is given at once, but for a single frame that is longer.
const MAX_CHUNK_BYTES: usize = 64 << 10;

/// The streams of chats that are under way, and for a minute those that ended while no client read them. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct ChatStreams(Arc<Mutex<Streams>>);

#[derive(Debug, Default)]
struct Streams {
    chats: HashMap<ThreadKey, Arc<Said>>,
    /// Those that are over, the oldest first.
    ended: VecDeque<(ThreadKey, Arc<Said>)>,
    ended_bytes: usize,
}

/// What one run has said so far.
#[derive(Debug, Default)]
struct Said {
    frames: Mutex<Vec<Bytes>>,
    progress: watch::Sender<Progress>,
    /// How many read it.
    readers: watch::Sender<usize>,
    /// Stops the run.
    stop: CancellationToken,
    /// Cancelled once a reader has the end.
    is_heard: CancellationToken,
}

#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// How many frames there are, and their bytes.
    frames: usize,
    bytes: usize,
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
    /// Keeps what a run of the chat says until it is over, replacing the chat's earlier run. A run that no client reads for
    /// `patience` is stopped. One that ends while no client reads it is kept for a minute.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn keep(&self, chat: ThreadKey, run: EventStream, patience: Duration) -> ChatStream {
        let said = Arc::new(Said::default());
        self.lock().insert(chat.clone(), Arc::clone(&said));
        let stream = said.read();
        let streams = self.clone();
        tokio::spawn(async move {
            let has_ended = said.follow(run, patience.min(LONGEST)).await;
            if has_ended {
                // The readers that it has are about to come to the end.
                streams.lock().end(&chat, &said);
            }
            said.progress
                .send_modify(|progress| progress.is_over = true);
            if has_ended {
                let heard = said.is_heard.cancelled();
                let _ = tokio::time::timeout(KEEP_AFTER_END, heard).await;
            }
            streams.lock().forget(&chat, &said);
        });
        stream
    }

    /// Returns the stream of the chat's run that is under way, or that ended while no client read it.
    #[must_use]
    pub fn get(&self, chat: &ThreadKey) -> Option<ChatStream> {
        self.lock().chats.get(chat).map(Said::read)
    }

    /// Stops the chat's run. Returns whether one was under way.
    pub fn stop(&self, chat: &ThreadKey) -> bool {
        let streams = self.lock();
        let said = streams.chats.get(chat);
        said.filter(|said| !said.progress.borrow().is_over)
            .inspect(|said| said.stop.cancel())
            .is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Streams> {
        // Nothing is left half-done under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Streams {
    fn insert(&mut self, chat: ThreadKey, said: Arc<Said>) {
        if let Some(earlier) = self.chats.insert(chat, said) {
            self.drop_ended(&earlier);
        }
    }

    /// Counts a stream that is over, and forgets the oldest ones beyond what may be kept.
    fn end(&mut self, chat: &ThreadKey, said: &Arc<Said>) {
        if !self.is_latest(chat, said) {
            return;
        }
        self.ended.push_back((chat.clone(), Arc::clone(said)));
        self.ended_bytes += said.bytes();
        while self.ended_bytes > MAX_KEPT_BYTES
            && let Some((chat, said)) = self.ended.front().cloned()
        {
            self.forget(&chat, &said);
        }
    }

    fn forget(&mut self, chat: &ThreadKey, said: &Arc<Said>) {
        self.drop_ended(said);
        if self.is_latest(chat, said) {
            self.chats.remove(chat);
        }
    }

    fn drop_ended(&mut self, said: &Arc<Said>) {
        let place = self.ended.iter();
        let mut place = place.map(|(_, ended)| Arc::ptr_eq(ended, said));
        if let Some(place) = place.position(|is_it| is_it) {
            self.ended.remove(place);
            self.ended_bytes -= said.bytes();
        }
    }

    fn is_latest(&self, chat: &ThreadKey, said: &Arc<Said>) -> bool {
        let latest = self.chats.get(chat);
        latest.is_some_and(|latest| Arc::ptr_eq(latest, said))
    }
}

impl Said {
    /// Takes what the run says until its end. Returns whether it ended by itself: it is stopped on demand, and when no
    /// client has read it for `patience`.
    async fn follow(&self, mut run: EventStream, patience: Duration) -> bool {
        let mut readers = self.readers.subscribe();
        // From when the last reader has gone, whatever the run says meanwhile.
        let mut deadline = None;
        loop {
            let is_read = *readers.borrow_and_update() > 0;
            let at = *deadline.get_or_insert_with(|| Instant::now() + patience);
            if is_read {
                deadline = None;
            }
            let entry = tokio::select! {
                biased;
                () = self.stop.cancelled() => {
                    self.add(Bytes::from_static(ABORTED));
                    return false;
                }
                () = tokio::time::sleep_until(at), if !is_read => return false,
                entry = run.next() => entry,
                Ok(()) = readers.changed() => continue,
            };
            let Some(entry) = entry else { return true };
            self.add(entry.json.into());
        }
    }

    fn add(&self, frame: Bytes) {
        let bytes = frame.len();
        self.frames().push(frame);
        self.progress.send_modify(|progress| {
            progress.frames += 1;
            progress.bytes += bytes;
        });
    }

    fn bytes(&self) -> usize {
        self.progress.borrow().bytes
    }

    /// Returns frames from `next` on, as many as are given at once.
    fn unread(&self, next: usize) -> Vec<Bytes> {
        let mut bytes = 0;
        let frames = self.frames();
        let unread = frames.get(next..).unwrap_or_default().iter();
        let unread = unread.take_while(|frame| {
            let is_first = bytes == 0;
            bytes += frame.len();
            is_first || bytes <= MAX_CHUNK_BYTES
        });
        unread.cloned().collect()
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

    /// Returns what it has not given yet, or a comment.
    async fn next(&mut self, keep_alive: Duration) -> Option<Bytes> {
        loop {
            let is_over = self.progress.borrow_and_update().is_over;
            let mut unread = self.said.unread(self.next);
            self.next += unread.len();
            match unread.len() {
                0 if is_over => {
                    self.said.is_heard.cancel();
                    return None;
                }
                0 => {}
                1 => return unread.pop(),
                _ => return Some(unread.concat().into()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui_message::UiMessageEncoder;
    use crate::wire::event_log::{LogWriter, event_log};
    use crate::wire::format::Format;
    use futures::StreamExt;
    use stepwell_core::event::TextMessageContent;

    const PATIENCE: Duration = Duration::from_secs(15);

    fn run(streams: &ChatStreams, chat: &str) -> (LogWriter, ChatStream) {
        let (writer, run) = event_log(Format::UiMessages(UiMessageEncoder::new("m")));
        (writer, streams.keep(chat.into(), run, PATIENCE))
    }

    fn say(writer: &mut LogWriter, length: usize) {
        let content = TextMessageContent {
            message_id: "m".into(),
            delta: "x".repeat(length),
            ..TextMessageContent::default()
        };
        writer.append(&content.into());
    }

    async fn read(stream: ChatStream) -> String {
        let frames: Vec<_> = stream.frames(LONGEST).collect().await;
        String::from_utf8(frames.concat()).expect("text")
    }

    /// Says something every five seconds until the run is stopped. Returns after how long it was.
    async fn speak(writer: &mut LogWriter) -> Duration {
        let begin = Instant::now();
        loop {
            tokio::select! {
                biased;
                () = writer.abandoned() => return begin.elapsed(),
                () = tokio::time::sleep(Duration::from_secs(5)) => say(writer, 1),
            }
            assert!(begin.elapsed() < 10 * PATIENCE, "the run is not stopped");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_speaking_run_without_readers_is_stopped() {
        let streams = ChatStreams::default();
        let (mut writer, stream) = run(&streams, "c");
        drop(stream);
        assert_eq!(speak(&mut writer).await, PATIENCE);
        tokio::task::yield_now().await;
        assert!(streams.get(&"c".into()).is_none(), "it is not kept");
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_comes_back_starts_the_wait_again() {
        let streams = ChatStreams::default();
        let (mut writer, stream) = run(&streams, "c");
        drop(stream);
        tokio::time::sleep(Duration::from_secs(10)).await;
        let stream = streams.get(&"c".into()).expect("it is under way");
        tokio::time::sleep(2 * PATIENCE).await;
        drop(stream);
        assert_eq!(speak(&mut writer).await, PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_is_stopped_on_demand() {
        let streams = ChatStreams::default();
        let (mut writer, stream) = run(&streams, "c");
        assert!(!streams.stop(&"another".into()));
        say(&mut writer, 1);
        tokio::task::yield_now().await;
        assert!(streams.stop(&"c".into()));
        writer.abandoned().await;
        let said = read(stream).await;
        assert!(
            said.ends_with("{\"type\":\"abort\"}\n\ndata: [DONE]\n\n"),
            "{said}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_ended_without_a_reader_is_played_once() {
        let streams = ChatStreams::default();
        let (mut writer, stream) = run(&streams, "c");
        drop(stream);
        say(&mut writer, 3);
        drop(writer);
        tokio::time::sleep(KEEP_AFTER_END / 2).await;
        let late = streams.get(&"c".into()).expect("it is kept");
        assert!(read(late).await.contains("xxx"));
        tokio::task::yield_now().await;
        assert!(streams.get(&"c".into()).is_none(), "a reader has it");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_was_read_is_not_played_again() {
        let streams = ChatStreams::default();
        let (mut writer, stream) = run(&streams, "c");
        say(&mut writer, 3);
        drop(writer);
        assert!(read(stream).await.contains("xxx"));
        tokio::task::yield_now().await;
        assert!(streams.get(&"c".into()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn answers_without_a_reader_are_kept_for_a_minute() {
        let streams = ChatStreams::default();
        let (writer, stream) = run(&streams, "c");
        drop((writer, stream));
        tokio::time::sleep(KEEP_AFTER_END + Duration::from_secs(1)).await;
        assert!(streams.get(&"c".into()).is_none());
        assert_eq!(streams.lock().ended.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn kept_answers_are_bounded_in_bytes() {
        let streams = ChatStreams::default();
        for chat in ["a", "b", "c"] {
            let (mut writer, stream) = run(&streams, chat);
            drop(stream);
            say(&mut writer, MAX_KEPT_BYTES / 2 - 1_000);
            drop(writer);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let kept = ["a", "b", "c"].map(|chat| streams.get(&chat.into()).is_some());
        assert_eq!(kept, [false, true, true]);
        assert!(streams.lock().ended_bytes <= MAX_KEPT_BYTES);
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_reader_is_given_a_long_answer_in_chunks() {
        let streams = ChatStreams::default();
        let (mut writer, stream) = run(&streams, "c");
        for _ in 0..100 {
            say(&mut writer, 2_000);
        }
        drop(writer);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let frames: Vec<_> = stream.frames(LONGEST).collect().await;
        assert!(frames.iter().all(|frame| frame.len() <= MAX_CHUNK_BYTES));
        assert!(frames.concat().len() > 200_000);
    }
}
