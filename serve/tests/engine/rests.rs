//! A turn that is stored for another owner to drive, and released while only its user can move it on.

use crate::engine::Command;
use crate::engine::driver::Active;
use crate::engine::tests::{model, new_turn, said, setup_of};
use crate::engine::{Driver, DriverSetup, GoesOn};
use crate::engine::{EngineError, NewTurn};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::run::TurnStatus;
use stepwell_io::store::{EventStore, Generation, MemoryStore, TurnKey, TurnStore, Unfinished};
use stepwell_mock_llm::MockLlm;
use tokio::sync::oneshot;

const ELSEWHERE: &str = "elsewhere";

async fn driver(store: &MemoryStore) -> (MockLlm, Driver) {
    let (model, base) = model::with_numbers().await;
    let setup = setup_of(base, Arc::new(store.clone()), Duration::ZERO);
    let elsewhere = Some(ELSEWHERE);
    (model, Driver::new(DriverSetup { elsewhere, ..setup }))
}

/// Lays a turn down that asks its user.
async fn lay(driver: &Driver) -> TurnKey {
    let new = NewTurn {
        origin: said("change"),
        ..new_turn()
    };
    let key = driver.admit(&new).await.unwrap();
    driver.start_turn(&key, new).await.unwrap();
    key
}

async fn unfinished(driver: &Driver, key: &TurnKey) -> Unfinished {
    driver.unfinished(key).await.unwrap().expect("it goes on")
}

async fn drive(driver: &Driver, key: &TurnKey, why: GoesOn) -> Active {
    let turn = unfinished(driver, key).await;
    driver.adopt(turn, why).await.unwrap()
}

async fn events(store: &MemoryStore, key: &TurnKey, name: &str) -> Vec<Value> {
    let events = store.events(key, None, 1_000).await.unwrap().into_iter();
    let events = events.map(|event| serde_json::from_str::<Value>(&event.data).unwrap());
    events.filter(|event| event["name"] == name).collect()
}

/// A command for the turn, and the receiver of its result.
fn telling(command: Command) -> (GoesOn, oneshot::Receiver<Result<(), EngineError>>) {
    let (told, heard) = oneshot::channel();
    let why = GoesOn {
        command: Some((command, told)),
        ..GoesOn::default()
    };
    (why, heard)
}

fn answer(id: &Value) -> Command {
    let entry = json!({
        "interruptId": id,
        "status": "resolved",
        "payload": { "approved": true },
    });
    Command::Answer(vec![serde_json::from_value(entry).unwrap()])
}

#[tokio::test]
async fn a_turn_that_is_laid_down_has_begun_and_says_nothing() {
    let store = MemoryStore::new();
    let (model, driver) = driver(&store).await;
    let key = lay(&driver).await;
    let turn = unfinished(&driver, &key).await;
    assert_eq!(turn.owner, ELSEWHERE);
    assert_eq!(turn.generation, Generation::FIRST);
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn a_turn_that_asks_is_released_and_continues_with_the_answer() {
    let store = MemoryStore::new();
    let (_model, driver) = driver(&store).await;
    let key = lay(&driver).await;
    let first = drive(&driver, &key, GoesOn::default()).await;
    first.ended.cancelled().await;
    let turn = unfinished(&driver, &key).await;
    assert_eq!(turn.owner, ELSEWHERE);
    let asked = events(&store, &key, "interrupt").await;
    assert_eq!(asked.len(), 1, "{asked:?}");
    // An answer to nothing that is asked changes nothing.
    let (why, heard) = telling(answer(&json!("nobody")));
    let wrong = drive(&driver, &key, why).await;
    assert!(matches!(heard.await.unwrap(), Err(EngineError::Answers(_))));
    wrong.ended.cancelled().await;
    assert_eq!(unfinished(&driver, &key).await.owner, ELSEWHERE);
    let (why, heard) = telling(answer(&asked[0]["value"]["id"]));
    let last = drive(&driver, &key, why).await;
    heard.await.unwrap().unwrap();
    last.ended.cancelled().await;
    let stored = store.turn(&key).await.unwrap().unwrap();
    assert_eq!(stored.status, TurnStatus::Complete);
    assert_eq!(events(&store, &key, "interrupt").await.len(), 1);
    assert_eq!(events(&store, &key, "interrupt_answered").await.len(), 1);
}

#[tokio::test]
async fn questions_of_a_turn_that_rests_for_too_long_are_declined() {
    let store = MemoryStore::new();
    let (_model, driver) = driver(&store).await;
    let key = lay(&driver).await;
    let first = drive(&driver, &key, GoesOn::default()).await;
    first.ended.cancelled().await;
    let why = GoesOn {
        has_lapsed: true,
        ..GoesOn::default()
    };
    let last = drive(&driver, &key, why).await;
    last.ended.cancelled().await;
    let stored = store.turn(&key).await.unwrap().unwrap();
    assert_ne!(stored.status, TurnStatus::Streaming);
    let answered = events(&store, &key, "interrupt_answered").await;
    assert_eq!(answered[0]["value"]["status"], "cancelled");
}
