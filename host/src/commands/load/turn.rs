//! One turn, from its request to its last event at every client.

use super::model::{self, WORD_PREFIX};
use super::statistics::{Measure, Tally};
use super::target::Target;
use super::trouble::Trouble;
use futures::future::join_all;
use reqwest::Response;
use serde::Deserialize;
use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use stepwell_core::wire::{FrameLimits, SseFramer};

/// How long a server may keep the stream of a finished run open.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The question of each turn.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) target: Target,
    pub(super) message: String,
    /// The number of clients that follow each turn of a session.
    pub(super) followers: usize,
    /// The number of words that each client must receive, if this program plays the model.
    pub(super) words: Option<usize>,
    /// The time that a turn may take.
    pub(super) longest: Duration,
}

/// The id of a session's turn, once it has begun.
pub(super) type Begun = Mutex<Option<String>>;

impl Asked {
    /// Runs a turn, and records its measurements. `begun` gets the id of a session's turn.
    pub(super) async fn turn(
        &self,
        thread: &str,
        begun: &Begun,
        tally: &Mutex<Tally>,
    ) -> Result<(), Trouble> {
        let start = Instant::now();
        let whole = async {
            if self.target.is_sessions {
                self.session_turn(thread, start, begun, tally).await
            } else {
                let response = self.target.run(thread, &self.message).await?;
                self.follow(response, start, true, tally).await
            }
        };
        let longest = self.longest.as_secs();
        let done = tokio::time::timeout(self.longest, whole)
            .await
            .unwrap_or_else(|_| {
                Err(Trouble::new(format!(
                    "no end within {longest} s (--timeout)"
                )))
            });
        let mut tally = lock(tally);
        match &done {
            Ok(()) => tally.ended += 1,
            Err(trouble) => {
                if trouble.status.is_some() {
                    tally.record(Measure::Refused, start.elapsed());
                }
                tally.fail(trouble.reason.clone());
            }
        }
        done
    }

    async fn session_turn(
        &self,
        thread: &str,
        start: Instant,
        begun: &Begun,
        tally: &Mutex<Tally>,
    ) -> Result<(), Trouble> {
        let turn = self.target.start(thread, &self.message).await?;
        lock(tally).record(Measure::Accepted, start.elapsed());
        *lock(begun) = Some(turn.clone());
        let followers = (0..self.followers).map(|number| {
            let turn = &turn;
            async move {
                let response = self.target.follow(thread, turn).await?;
                self.follow(response, start, number == 0, tally).await
            }
        });
        join_all(followers).await.into_iter().collect()
    }

    /// Reads a stream to its end. The first client measures the times of the turn.
    async fn follow(
        &self,
        mut response: Response,
        start: Instant,
        is_first: bool,
        tally: &Mutex<Tally>,
    ) -> Result<(), Trouble> {
        let mut framer = SseFramer::new(FrameLimits::default());
        let mut reader = Reader {
            is_session: self.target.is_sessions,
            ..Reader::default()
        };
        while let Some(chunk) = response.chunk().await.map_err(Trouble::of)? {
            let now = Instant::now();
            let at = model::now();
            let read = framer.receive(&chunk, |frame| reader.event(frame.data, at));
            reader.arrived(now, start, is_first, &mut lock(tally));
            read?;
            if reader.is_over {
                break;
            }
        }
        if !reader.is_over {
            return Err(Trouble::new("the stream ended before the turn did"));
        }
        if let Some(expected) = self.words
            && reader.words != expected
        {
            let message = match reader.words {
                0 => "no word of the model played here came: ask it with --base-url".to_owned(),
                _ => format!("words were lost: {} of {expected} came", reader.words),
            };
            return Err(Trouble::new(message));
        }
        // A connection whose response was read to its end can be reused.
        let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, rest).await;
        Ok(())
    }
}

/// The part of a turn that one client has received.
#[derive(Debug, Default)]
struct Reader {
    is_session: bool,
    is_over: bool,
    words: usize,
    /// The time in the model's last word.
    said: u64,
    last_arrival: Option<Instant>,
    has_text: bool,
    /// About the current chunk: its events, whether it has text, and the delays of its words.
    events: u64,
    is_text: bool,
    delays: Vec<Duration>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    code: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
}

/// A delta of text, or the patch of a state.
#[derive(Deserialize)]
#[serde(untagged)]
enum Delta<'a> {
    #[serde(borrow)]
    Text(Cow<'a, str>),
    Other(serde::de::IgnoredAny),
}

impl Reader {
    fn event(&mut self, data: &[u8], at: u64) -> Result<(), Trouble> {
        let event: Event<'_> = serde_json::from_slice(data)
            .map_err(|_| Trouble::new("what came is no event of AG-UI"))?;
        self.events += 1;
        match &*event.kind {
            "TEXT_MESSAGE_CONTENT" | "TEXT_MESSAGE_CHUNK" => {
                self.is_text = true;
                if let Some(Delta::Text(text)) = &event.delta {
                    self.text(text, at)?;
                }
            }
            "RUN_FINISHED" => self.is_over = true,
            "RUN_ERROR" => {
                let code = event.code.as_deref().unwrap_or("without a code");
                return Err(Trouble::new(format!("RUN_ERROR {code}")));
            }
            "CUSTOM" if self.is_session && event.name.as_deref() == Some("interrupt") => {
                return Err(Trouble::new("the turn asks the user, who is not there"));
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str, at: u64) -> Result<(), Trouble> {
        let times = text
            .split_ascii_whitespace()
            .filter_map(|word| word.strip_prefix(WORD_PREFIX)?.parse().ok());
        for said in times {
            if said < self.said {
                return Err(Trouble::new("the words came in another order"));
            }
            self.said = said;
            self.words += 1;
            self.delays
                .push(Duration::from_micros(at.saturating_sub(said)));
        }
        Ok(())
    }

    /// Records a chunk that was read.
    fn arrived(&mut self, now: Instant, start: Instant, is_first: bool, tally: &mut Tally) {
        if self.events == 0 {
            return;
        }
        tally.events += std::mem::take(&mut self.events);
        match self.last_arrival.replace(now) {
            Some(last) => tally.record(Measure::BetweenArrivals, now - last),
            None if is_first => tally.record(Measure::FirstEvent, now - start),
            None => {}
        }
        if std::mem::take(&mut self.is_text)
            && !std::mem::replace(&mut self.has_text, true)
            && is_first
        {
            tally.record(Measure::FirstText, now - start);
        }
        for delay in self.delays.drain(..) {
            tally.record(Measure::Delivery, delay);
        }
        if self.is_over && is_first {
            tally.record(Measure::Turn, now - start);
        }
    }
}

/// A panic under the lock leaves nothing half-counted.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
