//! A process that is cut off from its PostgreSQL server, without a word, as one that is frozen is.

use crate::line::{Line, State};
use crate::open::{options, postgres_url};
use sqlx::{Connection, Executor, PgConnection, Row};
use std::sync::Arc;
use std::time::Duration;
use stepwell_io::store::contract::support::{FIRST, batch, key, new_turn, texts};
use stepwell_io::store::{PostgresStore, StoreError, TurnStore};

/// The number of sessions of the process with this name that wait for a lock.
const WAITING: &str = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_cut_off_from_postgres_holds_up_no_other() {
    let Some(url) = postgres_url() else { return };
    let mut options = options("cut_off");
    options.idle_transaction_timeout = Duration::from_millis(100);
    let name = options.schema.clone().unwrap();
    let line = Line::to(&url, &name);
    let cut = format!("{}&application_name={name}", line.url);
    let cut = PostgresStore::connect_with(&cut, options.clone()).await;
    let cut = Arc::new(cut.unwrap());
    let other = PostgresStore::connect_with(&url, options).await.unwrap();
    let turn = key("t", "a");
    cut.begin_turn(&new_turn("t", "a", 1)).await.unwrap();

    // The write gets its locks when this connection lets go of them, and its answer is lost on the way.
    let mut holder = PgConnection::connect(&url).await.unwrap();
    holder.execute("BEGIN").await.unwrap();
    let hold = format!("SELECT 1 FROM \"{name}\".turn_states FOR UPDATE");
    holder.execute(&*hold).await.unwrap();
    let writes = tokio::spawn({
        let (cut, turn) = (Arc::clone(&cut), turn.clone());
        async move { cut.persist(&turn, FIRST, &batch(0, &["lost"], 2)).await }
    });
    let mut looks = PgConnection::connect(&url).await.unwrap();
    loop {
        let waiting = sqlx::query(WAITING).bind(&name);
        let waiting = waiting.fetch_one(&mut looks).await.unwrap();
        if waiting.get::<i64, _>(0) > 0 {
            break;
        }
    }
    line.set(State::Silent);
    holder.execute("COMMIT").await.unwrap();

    let claimed = other.claim(&turn, FIRST, "other").await.unwrap();
    line.set(State::Whole);
    writes.await.unwrap().expect_err("the transaction is over");
    let written = cut.persist(&turn, FIRST, &batch(0, &["lost"], 2)).await;
    assert!(
        matches!(written, Err(StoreError::Stale { .. })),
        "{written:?}"
    );
    let goes_on = batch(0, &["found"], 3);
    other
        .persist(&turn, claimed.generation, &goes_on)
        .await
        .unwrap();
    assert_eq!(texts(&other, &turn).await, ["found"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_to_postgres_that_does_not_answer_is_given_up() {
    let Some(url) = postgres_url() else { return };
    let mut options = options("lost_answer");
    options.answer_timeout = Duration::from_secs(2);
    options.connect_timeout = Duration::from_secs(2);
    let line = Line::to(&url, options.schema.as_deref().unwrap());
    let store = PostgresStore::connect_with(&line.url, options)
        .await
        .unwrap();
    let turn = key("t", "a");
    store.begin_turn(&new_turn("t", "a", 1)).await.unwrap();
    let persist = async |batch| store.persist(&turn, FIRST, &batch).await;
    persist(batch(0, &["a"], 2)).await.unwrap();
    line.set(State::Silent);
    let away = persist(batch(1, &["b"], 3)).await;
    assert!(
        matches!(away, Err(StoreError::Unavailable { .. })),
        "{away:?}"
    );
    let away = store.turn(&turn).await;
    assert!(
        matches!(away, Err(StoreError::Unavailable { .. })),
        "{away:?}"
    );

    // Whatever arrives late changes nothing that comes after it.
    line.set(State::Whole);
    persist(batch(1, &["b"], 3)).await.unwrap();
    persist(batch(2, &["c"], 4)).await.unwrap();
    assert_eq!(texts(&store, &turn).await, ["a", "b", "c"]);
    let claimed = store.claim(&turn, FIRST, "host").await.unwrap();
    assert_eq!(claimed.checkpoint, Some(batch(2, &["c"], 4).checkpoint));
}
