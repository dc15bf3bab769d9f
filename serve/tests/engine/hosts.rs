//! Commands for a turn at a host which does not drive it.

use crate::engine::tests::{model, new_turn, said, setup_of};
use crate::engine::{Command, DriverSetup, Engine, EngineError, GoesOn, LocalEngine, NewTurn};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::run::TurnStatus;
use stepwell_io::store::{EventStore, MemoryStore, TurnKey, TurnStore};
use stepwell_mock_llm::MockLlm;

struct Host {
    _model: MockLlm,
    engine: LocalEngine,
}

/// A host that does not read the commands of others yet.
async fn host(store: &MemoryStore) -> Host {
    let (model, base) = model::with_numbers().await;
    let setup = DriverSetup {
        linger: Some(Duration::from_secs(30)),
        ..setup_of(base, Arc::new(store.clone()), Duration::ZERO)
    };
    let engine = LocalEngine::new(setup);
    engine.0.leased().await.unwrap();
    Host {
        _model: model,
        engine,
    }
}

async fn open_host(store: &MemoryStore) -> Host {
    let host = host(store).await;
    host.engine.open().await.unwrap();
    host
}

/// Begins a turn that asks its user, and gives the question's id.
async fn asks(store: &MemoryStore, host: &Host) -> (TurnKey, String) {
    let new = NewTurn {
        origin: said("change"),
        ..new_turn()
    };
    let key = host.engine.start(new).await.unwrap();
    let mut changes = store.subscribe(&key.thread).await.unwrap();
    loop {
        for event in store.events(&key, None, 1_000).await.unwrap() {
            let event: Value = serde_json::from_str(&event.data).unwrap();
            if event["name"] == "interrupt" {
                let id = event["value"]["id"].as_str().unwrap();
                return (key, id.to_owned());
            }
        }
        changes.changed().await;
    }
}

fn answer(id: &str, approved: bool) -> Command {
    let entry = json!({
        "interruptId": id,
        "status": "resolved",
        "payload": { "approved": approved },
    });
    Command::Answer(vec![serde_json::from_value(entry).unwrap()])
}

async fn ended(store: &MemoryStore, key: &TurnKey) -> TurnStatus {
    let mut changes = store.subscribe(&key.thread).await.unwrap();
    loop {
        let turn = store.turn(key).await.unwrap().unwrap();
        if turn.status != TurnStatus::Streaming {
            return turn.status;
        }
        changes.changed().await;
    }
}

#[tokio::test]
async fn commands_at_another_host_reach_the_owner() {
    let store = MemoryStore::new();
    let (first, second) = (open_host(&store).await, open_host(&store).await);
    let (key, question) = asks(&store, &first).await;
    let tell = async |command| second.engine.tell(&key, command).await;
    let unfit = tell(answer("another question", true)).await;
    assert!(
        matches!(unfit, Err(EngineError::AnswersElsewhere { .. })),
        "{unfit:?}"
    );
    let unknown = tell(Command::CancelCall("none".into())).await;
    assert!(
        matches!(unknown, Err(EngineError::NoCall { .. })),
        "{unknown:?}"
    );
    tell(answer(&question, true)).await.unwrap();
    assert_eq!(ended(&store, &key).await, TurnStatus::Complete);
    let late = tell(Command::CancelCall("none".into())).await;
    assert!(matches!(late, Err(EngineError::Over)), "{late:?}");
    let owner = &first.engine.0.setup().owner;
    let waiting = store.inbox().waiting(owner, 10).await.unwrap();
    assert_eq!(waiting, [""; 0]);
}

#[tokio::test]
async fn a_command_whose_owner_does_not_hear_it_reaches_the_next_one() {
    let store = MemoryStore::new();
    let (first, second) = (host(&store).await, open_host(&store).await);
    let (key, question) = asks(&store, &first).await;
    let owner = first.engine.0.setup().owner.clone();
    let mut sent = store.inbox().subscribe(&owner).await.unwrap();
    let told = {
        let (engine, key) = (second.engine.clone(), key.clone());
        tokio::spawn(async move { engine.tell(&key, answer(&question, true)).await })
    };
    while store.inbox().waiting(&owner, 1).await.unwrap().is_empty() {
        sent.changed().await;
    }
    let third = open_host(&store).await;
    let left = first.engine.0.unfinished(&key).await.unwrap().unwrap();
    let adopted = third.engine.0.adopt(left, GoesOn::default()).await;
    adopted.unwrap();
    told.await.unwrap().unwrap();
    assert_eq!(ended(&store, &key).await, TurnStatus::Complete);
}

#[tokio::test]
async fn the_owner_of_a_turn_hears_of_its_readers_at_other_hosts() {
    let store = MemoryStore::new();
    let (first, second) = (open_host(&store).await, open_host(&store).await);
    let (key, _) = asks(&store, &first).await;
    let active = first.engine.0.find(&key).unwrap();
    let mut readers = active.readers.subscribe();
    let here = first.engine.0.reader(&key);
    readers.changed().await.unwrap();
    assert_eq!(*readers.borrow_and_update(), 1);
    drop(here);
    readers.changed().await.unwrap();
    assert_eq!(*readers.borrow_and_update(), 0);
    let _there = second.engine.0.reader(&key);
    readers.changed().await.unwrap();
    let owner = &first.engine.0.setup().owner;
    while !store.inbox().waiting(owner, 10).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
}
