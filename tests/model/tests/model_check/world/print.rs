//! What two worlds must have in common to be one state: the print of a world, and that of a snapshot in it.

use super::*;

impl World {
    /// Returns what another path to the same state would have to agree on.
    pub fn print(&self) -> u64 {
        let mut out = DefaultHasher::new();
        let abstraction = &self.bounds.abstraction;
        self.machine.canon(abstraction, &mut out);
        let durable = self.machine.durable();
        for (id, hand) in &self.hands {
            abstraction.effect(*id, durable).hash(&mut out);
            match hand {
                Hand::Create => 0u8.hash(&mut out),
                Hand::Request => 1u8.hash(&mut out),
                Hand::Stream(said) => (2u8, said).hash(&mut out),
                Hand::Approval => 3u8.hash(&mut out),
                Hand::Tool => 4u8.hash(&mut out),
                Hand::Write(write) => {
                    5u8.hash(&mut out);
                    if self.crashes > 0 {
                        write.snapshot.print.hash(&mut out);
                    }
                }
                Hand::Committed => 6u8.hash(&mut out),
                Hand::Deferred => 7u8.hash(&mut out),
                Hand::Decoding => 8u8.hash(&mut out),
                Hand::Key => 8u8.hash(&mut out),
                Hand::Choice => 8u8.hash(&mut out),
                Hand::Question => 8u8.hash(&mut out),
                Hand::Hook => 8u8.hash(&mut out),
                Hand::Rest(answer, after) => (9u8, answer, after).hash(&mut out),
            }
        }
        // A machine that forgets what became of a call must not look like one in which nothing has become of it.
        let results = self.ghost.results.iter();
        for entry in results.filter(|entry| self.is_open(entry.0)) {
            entry.hash(&mut out);
        }
        u8::MAX.hash(&mut out);
        (self.device, self.steers).hash(&mut out);
        let hop = self.machine.hop();
        let asked = self.tools_asked.iter().filter(|entry| entry.0.hop >= hop);
        for entry in asked {
            entry.hash(&mut out);
        }
        u8::MAX.hash(&mut out);
        (self.is_offline, self.is_background).hash(&mut out);
        (u8::MAX, self.ghost.shown, self.crashes, self.questions).hash(&mut out);
        if !self.is_over() {
            abstraction
                .number(self.store.blocks, durable)
                .hash(&mut out);
        }
        self.store.is_closed.hash(&mut out);
        if self.bounds.background.is_some() {
            self.print_provider(&mut out);
        }
        if !abstraction.time {
            self.now.hash(&mut out);
        }
        // The stored data, and the tools that were begun, matter to a host that restarts and continues the run.
        if self.crashes > 0
            && let Some(snapshot) = &self.store.snapshot
        {
            snapshot.print.hash(&mut out);
        }
        let snapshot = self.store.snapshot.as_ref();
        if self.crashes > 0 && !snapshot.is_some_and(|snapshot| snapshot.is_over) {
            let hop = snapshot.map_or(0, |snapshot| snapshot.hop);
            for calls in [&self.store.calls, &self.begun] {
                for entry in calls.iter().filter(|entry| entry.0.hop >= hop) {
                    entry.hash(&mut out);
                }
                u8::MAX.hash(&mut out);
            }
        } else if !self.is_over() {
            // A host that restarted may begin again what was begun before.
            let hop = self.machine.hop();
            for entry in self.begun.iter().filter(|entry| entry.0.hop >= hop) {
                entry.hash(&mut out);
            }
        }
        out.finish()
    }

    /// Returns whether the machine waits for something of the call.
    fn is_open(&self, call: CallKey) -> bool {
        let live = self.machine.transcript().call(call);
        live.is_some_and(|live| !live.status.is_final())
    }

    /// Takes in the snapshot of the run at a write.
    pub fn snapshot(&mut self, text: String) -> Arc<Snapshot> {
        let mut seen = Seen {
            print: 0,
            hop: self.machine.hop(),
            is_over: self.is_over(),
        };
        if self.crashes > 0 {
            match seen_before(&self.bounds, &text) {
                Ok(found) => seen = found,
                Err(error) => self.wrong(format!("I4: a snapshot cannot be read: {error}")),
            }
        }
        Arc::new(Snapshot {
            text,
            print: seen.print,
            hop: seen.hop,
            is_over: seen.is_over,
            deferred: self
                .hands
                .iter()
                .filter(|(_, hand)| matches!(hand, Hand::Deferred))
                .map(|(id, _)| *id)
                .collect(),
            ghost: self.ghost.clone(),
        })
    }
}

#[derive(Clone, Copy)]
struct Seen {
    print: u64,
    hop: u32,
    is_over: bool,
}

thread_local! {
    /// The canonical forms of snapshots: the same ones come again and again, and reading one is dear.
    static SNAPSHOTS: RefCell<HashMap<u64, Seen>> = RefCell::default();
}

/// Reads a snapshot.
fn seen_before(bounds: &Bounds, text: &str) -> Result<Seen, SnapshotError> {
    let mut out = DefaultHasher::new();
    (bounds.name, text).hash(&mut out);
    format!("{:?}", bounds.abstraction).hash(&mut out);
    let key = out.finish();
    if let Some(seen) = SNAPSHOTS.with_borrow(|seen| seen.get(&key).copied()) {
        return Ok(seen);
    }
    let machine = RunMachine::restore(text, Arc::clone(&bounds.config))?;
    let mut out = DefaultHasher::new();
    machine.canon(&bounds.abstraction, &mut out);
    let seen = Seen {
        print: out.finish(),
        hop: machine.hop(),
        is_over: machine.state() == StateKind::Completed,
    };
    SNAPSHOTS.with_borrow_mut(|known| {
        if known.len() > 500_000 {
            known.clear();
        }
        known.insert(key, seen);
    });
    Ok(seen)
}
