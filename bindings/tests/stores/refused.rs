//! Requests that do not reach the app's store, and the effects of the app's mistakes.

use crate::app::AppLoop;
use std::sync::{Arc, Mutex};
use stepwell_ffi::{
    CallbackError, JsonValue, SessionStore, StepwellError, StoreAnswer, StoreError, StoreRunner,
    StoreTask, ThreadKey, ThreadQuery, Timestamp,
};
use stepwell_io::store;
use stepwell_io::store::contract::support::{FIRST, batch, block, key, new_turn};

/// Gives odd answers, and records which tasks were cancelled.
struct Odd {
    answer: fn(&Arc<StoreTask>) -> Result<(), CallbackError>,
    cancelled: Arc<Mutex<Vec<u64>>>,
}

impl StoreRunner for Odd {
    fn run(&self, task: Arc<StoreTask>) -> Result<(), CallbackError> {
        (self.answer)(&task)
    }

    fn cancel(&self, task: u64) -> Result<(), CallbackError> {
        self.cancelled.lock().unwrap().push(task);
        Ok(())
    }
}

fn odd(answer: fn(&Arc<StoreTask>) -> Result<(), CallbackError>) -> Arc<SessionStore> {
    let cancelled = Arc::default();
    SessionStore::with_store_runner(Arc::new(Odd { answer, cancelled }))
}

fn never(_: &Arc<StoreTask>) -> Result<(), CallbackError> {
    panic!("the store was called")
}

#[tokio::test]
async fn what_every_store_refuses_never_reaches_the_apps() {
    let store = odd(never).inner();
    let turn = key("t", "a");
    let mut new = new_turn("t", &"x".repeat(801), 1);
    let mut answers = vec![store.begin_turn(&new).await.map(drop)];
    new = new_turn("t", "a\0", 1);
    answers.push(store.begin_turn(&new).await.map(drop));
    answers.push(store.claim(&turn, FIRST, "\0").await.map(drop));
    answers.push(store.rename_thread(&turn.thread, "\0").await);
    let events = ["\0".to_owned()];
    answers.push(store.append_events(&turn, FIRST, 0, &events).await);
    let mut misnumbered = batch(2, &[], 3);
    misnumbered.blocks = vec![block(2, "c"), block(4, "d")];
    answers.push(store.persist(&turn, FIRST, &misnumbered).await);
    for answer in answers {
        assert!(
            matches!(answer, Err(store::StoreError::Refused { .. })),
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn a_call_without_its_answer_has_failed() {
    let thread = ThreadKey::default();
    let dropped = odd(|_| Ok(()));
    let no_loop = odd(|_| {
        Err(CallbackError::Failed {
            reason: "no loop".to_owned(),
        })
    });
    let misfit = odd(|task| {
        assert!(task.finish(StoreAnswer::Deleted { deleted: true }));
        assert!(!task.finish(StoreAnswer::Done), "a second answer is late");
        Ok(())
    });
    let failed = odd(|task| {
        task.fail(StoreError::Full {
            reason: "9 of 9 pages".to_owned(),
        });
        Ok(())
    });
    for (store, reason, is_transient) in [
        (dropped, "the call ended without an answer", true),
        (no_loop, "no loop", true),
        (misfit, "the app's store gave `Deleted`", false),
        (failed, "9 of 9 pages", true),
    ] {
        let error = store
            .inner()
            .thread(&thread.clone().into())
            .await
            .unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(error.is_transient(), is_transient, "{error}");
        let told = store.thread(thread.clone()).await.unwrap_err();
        assert!(matches!(told, StepwellError::Store { .. }), "{told:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled() {
    static KEPT: Mutex<Vec<Arc<StoreTask>>> = Mutex::new(Vec::new());
    let cancelled = Arc::<Mutex<Vec<u64>>>::default();
    let runner = Odd {
        answer: |task| {
            KEPT.lock().unwrap().push(Arc::clone(task));
            Ok(())
        },
        cancelled: Arc::clone(&cancelled),
    };
    let store = SessionStore::with_store_runner(Arc::new(runner)).inner();
    let thread = ThreadKey::default().into();
    let call = store.thread(&thread);
    assert!(futures::FutureExt::now_or_never(call).is_none());
    let task = KEPT.lock().unwrap().pop().unwrap();
    assert_eq!(*cancelled.lock().unwrap(), [task.id()]);
    let late = StoreAnswer::Thread { thread: None };
    assert!(!task.finish(late), "nobody waits for it");
}

/// An app's database may hold anything.
#[tokio::test]
async fn a_turn_that_cannot_be_read_is_damage() {
    let damaged = odd(|task| {
        let stepwell_ffi::StoreCall::Turns { .. } = task.call() else {
            panic!("{:?}", task.call());
        };
        let turn = stepwell_ffi::TurnRecord {
            id: "a".to_owned(),
            parent: None,
            history: None,
            message: Some(JsonValue::from_text("{".to_owned())),
            status: stepwell_ffi::TurnStatus::Complete,
            outcome: None,
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
            blocks: Vec::new(),
        };
        task.finish(StoreAnswer::Turns { turns: vec![turn] });
        Ok(())
    });
    let error = damaged
        .view(ThreadKey::default(), None)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("the message of the turn `a`"), "{error}");
}

/// A path of turns that is a cycle, in a database that was edited by hand, comes to an end.
#[tokio::test]
async fn a_circle_of_turns_is_no_endless_path() {
    let circle = odd(|task| {
        let turn = |id: &str, parent: &str| stepwell_ffi::TurnRecord {
            id: id.to_owned(),
            parent: Some(parent.to_owned()),
            message: None,
            history: None,
            status: stepwell_ffi::TurnStatus::Complete,
            outcome: None,
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
            blocks: Vec::new(),
        };
        let turns = vec![turn("a", "b"), turn("b", "a")];
        task.finish(StoreAnswer::Turns { turns });
        Ok(())
    });
    let path = circle.inner().path(&key("t", "a")).await;
    let missing = store::StoreError::NoTurn { turn: "a".into() };
    assert_eq!(path, Err(missing));
    assert!(circle.view(ThreadKey::default(), None).await.is_err());
}

#[tokio::test]
async fn the_list_of_an_empty_store_is_empty() {
    let runner = Arc::new(AppLoop(crate::app::AppDatabase::default()));
    for store in [
        SessionStore::in_memory(),
        SessionStore::with_store_runner(runner),
    ] {
        let query = ThreadQuery {
            server: None,
            room: None,
            after: None,
            limit: 50,
        };
        let listed = tokio::spawn(async move { store.threads(query).await });
        assert_eq!(listed.await.unwrap(), Ok(Vec::new()));
    }
}
