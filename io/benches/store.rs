//! What a store costs: a write of a block, the log of what was shown, catching up with it, and a long thread from its
//! first word.
//!
//! `cargo bench -p stepwell-io --bench store` prints the median, and the fastest and slowest of the middle nine tenths.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use stepwell_core::event::Message;
use stepwell_core::run::{Attached, Block, BlockContent, Outcome, TurnStatus};
use stepwell_core::session::MessageBuilder;
use stepwell_core::{CallKey, Timestamp};
use stepwell_io::ThreadKey;
use stepwell_io::store::{
    Generation, MemoryStore, NewTurn, PersistBatch, SqliteOptions, SqliteStore, SqliteSync, Store,
    TurnKey,
};

/// As large as a run's checkpoint is.
const CHECKPOINT: usize = 20_000;
const WRITES: u64 = 500;
const EVENTS: usize = 10_000;
const TURNS: u64 = 1_000;

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(measure());
}

async fn measure() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("store-bench");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory");
    let stores: [(&str, Arc<dyn Store>); 3] = [
        ("memory", Arc::new(MemoryStore::new())),
        (
            "SQLite, normal",
            sqlite(directory.join("normal.db"), SqliteSync::Normal).await,
        ),
        (
            "SQLite, full",
            sqlite(directory.join("full.db"), SqliteSync::Full).await,
        ),
    ];
    for (name, store) in stores {
        println!("{name}");
        write(&*store, 1).await;
        write(&*store, 10).await;
        catch_up(&*store).await;
        load(&*store).await;
    }
    let _ = std::fs::remove_dir_all(&directory);
}

async fn sqlite(file: PathBuf, sync: SqliteSync) -> Arc<dyn Store> {
    let mut options = SqliteOptions::default();
    options.sync = sync;
    let store = SqliteStore::open_with(file, options).await;
    Arc::new(store.expect("a file"))
}

/// Times each round in microseconds.
struct Times(Vec<f64>);

impl Times {
    fn add(&mut self, since: Instant) {
        self.0.push(since.elapsed().as_secs_f64() * 1e6);
    }

    fn say(mut self, what: &str, parts: usize) {
        self.0.sort_by(f64::total_cmp);
        let count = self.0.len();
        let at = |place: usize| self.0[place.min(count - 1)] / parts as f64;
        println!(
            "  {what:<48} {:>10.1} us  ({:.1} to {:.1})",
            at(count / 2),
            at(count / 20),
            at(count - 1 - count / 20)
        );
    }
}

async fn begin(store: &dyn Store, thread: &str, turn: &str, parent: Option<String>) -> TurnKey {
    let key = TurnKey::new(ThreadKey::from(thread), turn);
    let mut new = NewTurn::new(key.clone(), "bench", Timestamp(1));
    new.message = Some(Message::user(
        format!("{turn}-user"),
        "What is the weather?",
    ));
    new.parent = parent.map(Into::into);
    store.begin_turn(&new).await.expect("a new turn");
    key
}

fn text(sequence: u64, message: &str) -> Block {
    Block {
        sequence,
        hop: 0,
        content: BlockContent::Text {
            message_id: message.into(),
            text: "It is sunny in Bergen, with some wind from the west. ".repeat(4),
            attached: Attached::default(),
        },
    }
}

fn batch(first: u64, blocks: Vec<Block>) -> PersistBatch {
    PersistBatch {
        first,
        blocks,
        status: TurnStatus::Streaming,
        outcome: None,
        checkpoint: "s".repeat(CHECKPOINT),
        at: Timestamp(2),
        first_event: 0,
        events: Vec::new(),
    }
}

async fn write(store: &dyn Store, blocks: u64) {
    let key = begin(store, &format!("write-{blocks}"), "run", None).await;
    let mut times = Times(Vec::new());
    for round in 0..WRITES {
        let first = round * blocks;
        let batch = batch(
            first,
            (first..first + blocks).map(|at| text(at, "m")).collect(),
        );
        let since = Instant::now();
        let stored = store.persist(&key, Generation::FIRST, &batch).await;
        times.add(since);
        stored.expect("it is stored");
    }
    let what = format!("a block, {blocks} in a write with its checkpoint");
    times.say(&what, blocks as usize);
}

async fn catch_up(store: &dyn Store) {
    let key = begin(store, "events", "run", None).await;
    let event = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":" some words"}"#;
    let mut times = Times(Vec::new());
    let events = vec![event.to_owned(); 10];
    for first in (0..EVENTS).step_by(events.len()) {
        let since = Instant::now();
        let appended = store.append_events(&key, Generation::FIRST, first as u64, &events);
        appended.await.expect("they are stored");
        times.add(since);
    }
    times.say("an event, 10 in a write", events.len());
    for page in [EVENTS, 500] {
        let mut times = Times(Vec::new());
        for _ in 0..20 {
            let since = Instant::now();
            let (mut after, mut count) = (None, 0);
            loop {
                let read = store
                    .events(&key, after, page)
                    .await
                    .expect("they are there");
                let Some(last) = read.last() else { break };
                after = Some(last.index);
                count += read.len();
            }
            times.add(since);
            assert_eq!(count, EVENTS);
        }
        times.say(&format!("{EVENTS} events read, {page} at a time"), 1);
    }
}

async fn load(store: &dyn Store) {
    let mut parent = None;
    let mut last = None;
    for turn in 0..TURNS {
        let id = format!("run-{turn}");
        let key = begin(store, "long", &id, parent).await;
        let call = CallKey { hop: 0, index: 0 };
        let asks = BlockContent::ToolUse {
            call,
            tool_call_id: format!("{id}-call").into(),
            name: "weather".to_owned(),
            arguments: "{\"city\":\"Bergen\"}".to_owned(),
            parent: Some(format!("{id}-0").into()),
            label: None,
            encrypted_value: None,
            metadata: None,
        };
        let says = BlockContent::ToolResult {
            call,
            tool_call_id: format!("{id}-call").into(),
            content: "Sunny.".into(),
            is_error: false,
            message_id: Some(format!("{id}-result").into()),
            failure: None,
            attached: Attached::default(),
        };
        let block = |sequence, content| Block {
            sequence,
            hop: 0,
            content,
        };
        let blocks = vec![
            text(0, &format!("{id}-0")),
            block(1, asks),
            block(2, says),
            Block {
                hop: 1,
                ..text(3, &format!("{id}-1"))
            },
        ];
        let end = PersistBatch {
            status: TurnStatus::Complete,
            outcome: Some(Outcome::Success),
            ..batch(0, blocks)
        };
        let stored = store.persist(&key, Generation::FIRST, &end).await;
        stored.expect("it is stored");
        parent = Some(id);
        last = Some(key);
    }
    let last = last.expect("there are turns");
    let (mut turns, mut path, mut whole) =
        (Times(Vec::new()), Times(Vec::new()), Times(Vec::new()));
    for _ in 0..20 {
        let since = Instant::now();
        let read = store.turns(&last.thread).await.expect("they are there");
        turns.add(since);
        assert_eq!(read.len(), TURNS as usize);
        let since = Instant::now();
        let read = store.path(&last).await.expect("they are there");
        path.add(since);
        let transcript = MessageBuilder::new().transcript(&read);
        whole.add(since);
        let messages = transcript.expect("they fit together").messages().len();
        assert_eq!(messages, 4 * TURNS as usize);
    }
    turns.say(&format!("a thread of {TURNS} turns read"), 1);
    path.say(&format!("a path of {TURNS} turns read"), 1);
    whole.say(&format!("a path of {TURNS} turns as a conversation"), 1);
}
