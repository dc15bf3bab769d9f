//! An agent keeps nothing of runs that are over and of conversations that are released.

use crate::{agent, echo};
use allocation_counter::measure;
use std::ops::Range;
use stepwell_io::{Agent, ErrorKind};
use tokio::runtime::{Builder, Runtime};

/// The turns before the measured ones: they fill what is limited by its length, such as the registry's events.
const FIRST_TURNS: usize = 1_000;

/// The measured turns. `STEPWELL_THOROUGH` takes ten times as many.
const TURNS: usize = 2_000;

fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

/// Checks that further turns keep less than a byte each.
fn assert_flat(turn: &impl AsyncFn(&Agent, usize)) {
    let agent = agent::<()>(echo()).build().expect("it is set up");
    let runtime = runtime();
    let turns = |numbers: Range<usize>| {
        runtime.block_on(async {
            for number in numbers {
                turn(&agent, number).await;
            }
            // The tasks of the last turns end.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        });
    };
    turns(0..FIRST_TURNS);
    let is_thorough = std::env::var_os("STEPWELL_THOROUGH").is_some();
    let count = if is_thorough { 10 * TURNS } else { TURNS };
    let allocated = measure(|| turns(FIRST_TURNS..FIRST_TURNS + count));
    assert!(allocated.count_total > count as u64, "{allocated:?}");
    assert!(allocated.bytes_current < count as i64, "{allocated:?}");
    assert_eq!(agent.registry().running(), []);
    assert_eq!(agent.registry().unread_threads(), []);
}

#[test]
fn runs_that_are_over_take_no_memory() {
    assert_flat(&async |agent, _| {
        let result = agent.run("Hello").await.expect("it is answered");
        assert_eq!(result.output, "Hello");
    });
}

#[test]
fn released_conversations_take_no_memory() {
    assert_flat(&async |agent, number| {
        let conversation = agent.conversation(number.to_string());
        let result = conversation.send("Hello").await;
        assert_eq!(result.expect("it is answered").messages().len(), 2);
    });
}

#[test]
fn cancelled_and_dropped_turns_take_no_memory() {
    assert_flat(&async |agent, number| {
        let conversation = agent.conversation(number.to_string());
        drop(conversation.stream("Dropped"));
        let turn = agent.stream("Cancelled");
        turn.cancel();
        let error = turn.result().await.expect_err("it is cancelled");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    });
}

#[test]
fn a_conversation_in_use_is_kept() {
    runtime().block_on(async {
        let agent = agent::<()>(echo()).build().expect("it is set up");
        let held = agent.conversation("held");
        held.send("Hello").await.expect("it is answered");
        let same = agent.conversation("held");
        assert_eq!(same.transcript(), held.transcript());
        drop((same, held));
        let new = agent.conversation("held");
        assert!(new.transcript().messages().is_empty());
    });
}
