use super::error::{StoreError, StoreFuture};
use super::inbox::{Inbox, LocalInbox};
use super::leases::{LeaseKey, Leases};
use super::record::{
    Claimed, EventLog, Generation, LoggedEvent, NewTurn, PersistBatch, RESTING, ThreadQuery,
    ThreadRecord, TurnKey, Unfinished,
};
use super::wake::{Changes, Wakers};
use super::{EventStore, ThreadStore, TurnStore, check};
use crate::base::lock;
use futures::FutureExt;
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::future::ready;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::TurnStatus;
use stepwell_core::session::{Turn, TurnBlock};
use stepwell_core::{RunId, Timestamp};

/// Keeps all turns in memory, as long as the store or a clone of it lives.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    threads: Arc<Mutex<HashMap<ThreadKey, Thread>>>,
    leases: Arc<Leases>,
    inbox: LocalInbox,
    wakers: Wakers,
}

#[derive(Debug)]
struct Thread {
    title: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// The turns, in the order in which they began.
    turns: Vec<Stored>,
}

#[derive(Debug)]
struct Stored {
    turn: Turn,
    owner: String,
    generation: Generation,
    checkpoint: Option<String>,
    log: Log,
    acknowledged: Option<u64>,
}

/// The log of what was shown of a turn.
#[derive(Debug, Default)]
struct Log {
    /// The number of events that were dropped.
    dropped: u64,
    events: VecDeque<String>,
}

impl Log {
    fn next(&self) -> u64 {
        self.dropped + self.events.len() as u64
    }

    /// Returns the events from an index on, with their indexes.
    fn from(&self, first: u64) -> impl Iterator<Item = (u64, &String)> {
        let first = index(first.saturating_sub(self.dropped));
        let numbered = self.events.iter().enumerate().skip(first);
        numbered.map(|(place, event)| (self.dropped + place as u64, event))
    }

    /// Returns the events that are not stored yet, if those that are stored are the same.
    fn new_events<'a>(
        &self,
        turn: &RunId,
        first: u64,
        events: &'a [String],
    ) -> Result<&'a [String], StoreError> {
        let next = self.next();
        check::follows(turn, first, next)?;
        for (number, stored) in self.from(first) {
            let event = events.get(index(number - first));
            if event.is_some_and(|event| event != stored) {
                let turn = turn.clone();
                return Err(StoreError::Conflict { turn, number });
            }
        }
        Ok(events.get(index(next - first)..).unwrap_or_default())
    }
}

impl Stored {
    fn is_open(&self) -> bool {
        self.turn.status == TurnStatus::Streaming
    }

    fn unfinished(&self, thread: &ThreadKey) -> Unfinished {
        Unfinished {
            key: TurnKey::new(thread.clone(), self.turn.id.clone()),
            generation: self.generation,
            owner: self.owner.clone(),
            updated_at: self.turn.updated_at,
        }
    }
}

impl Thread {
    fn turn(&self, id: &RunId) -> Option<&Stored> {
        self.turns.iter().find(|stored| stored.turn.id == *id)
    }

    fn open(&self) -> Option<&Stored> {
        self.turns.iter().find(|stored| stored.is_open())
    }

    fn record(&self, key: &ThreadKey) -> ThreadRecord {
        ThreadRecord {
            key: key.clone(),
            title: self.title.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            latest: self.turns.last().map(|stored| stored.turn.id.clone()),
            unfinished: self.open().map(|stored| stored.unfinished(key)),
        }
    }
}

fn no_turn(turn: &RunId) -> StoreError {
    StoreError::NoTurn { turn: turn.clone() }
}

impl MemoryStore {
    /// Returns an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads or changes a turn.
    fn with<T>(
        &self,
        key: &TurnKey,
        look: impl FnOnce(&mut Stored) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut threads = lock(&self.threads);
        let thread = threads.get_mut(&key.thread);
        let mut turns = thread
            .into_iter()
            .flat_map(|thread| thread.turns.iter_mut());
        let stored = turns.find(|stored| stored.turn.id == key.turn);
        look(stored.ok_or_else(|| no_turn(&key.turn))?)
    }

    fn begin(&self, new: &NewTurn) -> Result<Generation, StoreError> {
        check::new_turn(new)?;
        let mut threads = lock(&self.threads);
        let key = &new.key;
        if let Some(thread) = threads.get(&key.thread) {
            if thread.turn(&key.turn).is_some() {
                let turn = key.turn.clone();
                return Err(StoreError::Exists { turn });
            }
            if let Some(open) = thread.open() {
                return Err(StoreError::Busy {
                    turn: open.turn.id.clone(),
                    generation: open.generation,
                    owner: open.owner.clone(),
                });
            }
        }
        if let Some(parent) = &new.parent {
            let thread = threads.get(&key.thread);
            thread
                .and_then(|thread| thread.turn(parent))
                .ok_or_else(|| no_turn(parent))?;
        }
        let thread = threads.entry(key.thread.clone());
        let thread = thread.or_insert_with(|| Thread {
            title: None,
            created_at: new.at,
            updated_at: new.at,
            turns: Vec::new(),
        });
        thread.updated_at = thread.updated_at.max(new.at);
        thread.title = thread.title.take().or_else(|| new.title.clone());
        thread.turns.push(Stored {
            turn: new.turn(),
            owner: new.owner.clone(),
            generation: Generation::FIRST,
            checkpoint: new.checkpoint.clone(),
            log: Log::default(),
            acknowledged: None,
        });
        Ok(Generation::FIRST)
    }

    fn write(
        &self,
        key: &TurnKey,
        generation: Generation,
        batch: &PersistBatch,
    ) -> Result<(), StoreError> {
        check::batch(batch)?;
        self.with(key, |stored| {
            let turn = &mut stored.turn;
            check::owned(&turn.id, generation, stored.generation)?;
            let blocks = check::new_blocks(turn, batch)?;
            let events = match batch.events.is_empty() {
                true => &[],
                false => {
                    let log = &stored.log;
                    log.new_events(&turn.id, batch.first_event, &batch.events)?
                }
            };
            stored.log.events.extend(events.iter().cloned());
            let Some(blocks) = blocks else { return Ok(()) };
            let blocks = blocks.iter().cloned();
            turn.blocks.extend(blocks.map(|block| TurnBlock {
                block,
                at: batch.at,
            }));
            turn.status = batch.status;
            turn.outcome.clone_from(&batch.outcome);
            turn.updated_at = turn.updated_at.max(batch.at);
            let is_open = batch.status == TurnStatus::Streaming;
            stored.checkpoint = is_open.then(|| batch.checkpoint.clone());
            Ok(())
        })?;
        if let Some(thread) = lock(&self.threads).get_mut(&key.thread) {
            thread.updated_at = thread.updated_at.max(batch.at);
        }
        Ok(())
    }

    fn append(
        &self,
        key: &TurnKey,
        generation: Generation,
        first: u64,
        events: &[String],
    ) -> Result<(), StoreError> {
        check::events(events)?;
        self.with(key, |stored| {
            let turn = &stored.turn.id;
            check::owned(turn, generation, stored.generation)?;
            let new = stored.log.new_events(turn, first, events)?;
            stored.log.events.extend(new.iter().cloned());
            Ok(())
        })
    }

    fn list(&self, query: &ThreadQuery) -> Vec<ThreadRecord> {
        let threads = lock(&self.threads);
        let place = |updated_at: Timestamp, key: &ThreadKey| (Reverse(updated_at), key.clone());
        let after = query.after.as_ref();
        let after = after.map(|after| place(after.updated_at, &after.key));
        let is_of = |wanted: &Option<String>, name: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == name)
        };
        let mut records: Vec<_> = threads
            .iter()
            .filter(|(key, _)| is_of(&query.server, &key.server) && is_of(&query.room, &key.room))
            .filter(|(key, thread)| {
                let place = place(thread.updated_at, key);
                after.as_ref().is_none_or(|after| place > *after)
            })
            .map(|(key, thread)| thread.record(key))
            .collect();
        records.sort_by_cached_key(|record| place(record.updated_at, &record.key));
        records.truncate(query.limit);
        records
    }

    /// Returns the result at once, and wakes the followers of the thread after a change.
    fn done<'a, T: Send + 'a>(
        &self,
        thread: &ThreadKey,
        result: Result<T, StoreError>,
    ) -> StoreFuture<'a, T> {
        if result.is_ok() {
            self.wakers.wake(thread);
        }
        ready(result).boxed()
    }
}

/// Returns the position of a number in a list.
fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl TurnStore for MemoryStore {
    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation> {
        self.done(&turn.key.thread, self.begin(turn))
    }

    fn claim<'a>(
        &'a self,
        turn: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed> {
        let claimed = check::owner(owner).and_then(|()| {
            self.with(turn, |stored| {
                if !stored.is_open() {
                    let turn = turn.turn.clone();
                    return Err(StoreError::Closed { turn });
                }
                check::owned(&turn.turn, seen, stored.generation)?;
                stored.generation = stored.generation.next();
                owner.clone_into(&mut stored.owner);
                Ok(Claimed {
                    generation: stored.generation,
                    checkpoint: stored.checkpoint.clone(),
                })
            })
        });
        self.done(&turn.thread, claimed)
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        self.done(&turn.thread, self.write(turn, generation, batch))
    }

    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>> {
        let threads = lock(&self.threads);
        let mut open: Vec<_> = threads
            .iter()
            .filter_map(|(key, thread)| Some((key, thread.open()?)))
            .filter(|(_, stored)| owner.is_none_or(|owner| owner == stored.owner))
            .collect();
        open.sort_by_key(|(key, stored)| (stored.turn.created_at, *key));
        let open = open.into_iter().map(|(key, stored)| stored.unfinished(key));
        ready(Ok(open.collect())).boxed()
    }

    fn renew_lease<'a>(&'a self, key: &'a LeaseKey, term: Duration) -> StoreFuture<'a, ()> {
        let renewed = check::owner(&key.owner).map(|()| self.leases.renew(key, term));
        ready(renewed).boxed()
    }

    fn end_lease<'a>(&'a self, key: &'a LeaseKey) -> StoreFuture<'a, ()> {
        self.leases.end(key);
        ready(Ok(())).boxed()
    }

    fn orphans(&self) -> StoreFuture<'_, Vec<Unfinished>> {
        let unfinished = self.unfinished(None);
        let is_orphan =
            |turn: &Unfinished| turn.owner != RESTING && !self.leases.are_held_by(&turn.owner);
        async move { Ok(unfinished.await?.into_iter().filter(is_orphan).collect()) }.boxed()
    }

    fn inbox(&self) -> &dyn Inbox {
        &self.inbox
    }

    fn turn<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Option<Turn>> {
        let threads = lock(&self.threads);
        let thread = threads.get(&turn.thread);
        let stored = thread.and_then(|thread| thread.turn(&turn.turn));
        ready(Ok(stored.map(|stored| stored.turn.clone()))).boxed()
    }

    fn path<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>> {
        let threads = lock(&self.threads);
        let thread = threads.get(&turn.thread);
        let mut path = Vec::new();
        let mut next = Some(&turn.turn);
        while let Some(id) = next {
            let Some(stored) = thread.and_then(|thread| thread.turn(id)) else {
                return ready(Err(no_turn(id))).boxed();
            };
            path.push(stored.turn.clone());
            next = stored.turn.parent.as_ref();
        }
        path.reverse();
        ready(Ok(path)).boxed()
    }

    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
        let threads = lock(&self.threads);
        let record = threads.get(thread).map(|found| found.record(thread));
        ready(Ok(record)).boxed()
    }

    fn delete_thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, bool> {
        let deleted = lock(&self.threads).remove(thread).is_some();
        self.done(thread, Ok(deleted))
    }
}

impl ThreadStore for MemoryStore {
    fn threads<'a>(&'a self, query: &'a ThreadQuery) -> StoreFuture<'a, Vec<ThreadRecord>> {
        ready(Ok(self.list(query))).boxed()
    }

    fn rename_thread<'a>(&'a self, thread: &'a ThreadKey, title: &'a str) -> StoreFuture<'a, ()> {
        let renamed =
            check::title(title).and_then(|()| match lock(&self.threads).get_mut(thread) {
                Some(found) => {
                    found.title = Some(title.to_owned());
                    Ok(())
                }
                None => Err(StoreError::NoThread {
                    thread: thread.clone(),
                }),
            });
        self.done(thread, renamed)
    }

    fn turns<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<Turn>> {
        let threads = lock(&self.threads);
        let turns = threads.get(thread).into_iter();
        let turns = turns.flat_map(|thread| &thread.turns);
        let turns = turns.map(|stored| stored.turn.clone()).collect();
        ready(Ok(turns)).boxed()
    }
}

impl EventStore for MemoryStore {
    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()> {
        self.done(&turn.thread, self.append(turn, generation, first, events))
    }

    fn events<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        let first = after.map_or(0, |after| after.saturating_add(1));
        let events = self.with(turn, |stored| {
            let events = stored.log.from(first).take(limit);
            let events = events.map(|(index, data)| LoggedEvent {
                index,
                data: data.clone(),
            });
            Ok(events.collect())
        });
        ready(events).boxed()
    }

    fn events_within<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
        bytes: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        let first = after.map_or(0, |after| after.saturating_add(1));
        let mut read = 0;
        let events = self.with(turn, |stored| {
            let events = stored.log.from(first).take(limit);
            let events = events.take_while(|(_, data)| {
                let is_first = read == 0;
                read += data.len();
                is_first || read <= bytes
            });
            let events = events.map(|(index, data)| LoggedEvent {
                index,
                data: data.clone(),
            });
            Ok(events.collect())
        });
        ready(events).boxed()
    }

    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog> {
        let log = self.with(turn, |stored| {
            Ok(EventLog {
                next: stored.log.next(),
                acknowledged: stored.acknowledged,
            })
        });
        ready(log).boxed()
    }

    fn acknowledge<'a>(&'a self, turn: &'a TurnKey, index: u64) -> StoreFuture<'a, ()> {
        let acknowledged = self.with(turn, |stored| {
            let next = stored.log.next();
            check::acknowledged(&turn.turn, index, next)?;
            stored.acknowledged = stored.acknowledged.max(Some(index));
            Ok(())
        });
        ready(acknowledged).boxed()
    }

    fn drop_logs(&self, ended: Range<Timestamp>, limit: usize) -> StoreFuture<'_, usize> {
        let mut threads = lock(&self.threads);
        let turns = threads.values_mut().flat_map(|thread| &mut thread.turns);
        let ended = turns.filter(|stored| {
            let is_whole = stored.log.dropped == 0 && stored.log.events.len() > 1;
            !stored.is_open() && is_whole && ended.contains(&stored.turn.updated_at)
        });
        let mut count = 0;
        for stored in ended.take(limit) {
            let log = &mut stored.log;
            log.dropped = log.next() - 1;
            log.events.drain(..log.events.len() - 1);
            log.events.shrink_to_fit();
            count += 1;
        }
        ready(Ok(count)).boxed()
    }

    fn subscribe<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Changes> {
        ready(Ok(self.wakers.subscribe(thread))).boxed()
    }
}
