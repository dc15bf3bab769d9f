//! The rules of stores, as tests of a store: those of [`TurnStore`](super::TurnStore) in [`turns`], those of
//! [`ThreadStore`](super::ThreadStore) in [`threads`], those of [`EventStore`](super::EventStore) in [`events`].
//!
//! [`store_contract!`](crate::store_contract) makes a test of each rule, for the parts that a store implements. Each rule is
//! also a function of its own, which takes a new, empty store and panics if the store breaks the rule.

// Rules are tests: what a store breaks is a panic.
#![allow(clippy::missing_panics_doc, clippy::unwrap_used)]

pub mod events;
mod model;
mod opened;
#[doc(hidden)]
pub mod support;
pub mod threads;
#[doc(hidden)]
pub mod together;
pub mod turns;

pub use opened::{OpenedStore, TestStore};

/// Makes a test of each rule of a store, and one for each of turns and events that compares any order of calls with a model.
///
/// The first argument is a function that opens a new, empty store for the test of a name: `async fn(&str) -> impl`
/// [`TestStore`](crate::store::contract::TestStore), an `Arc` of a store for one. After it come the parts that the store
/// implements: `turns` ([`TurnStore`](crate::store::TurnStore)), `threads` ([`ThreadStore`](crate::store::ThreadStore)) and
/// `events` ([`EventStore`](crate::store::EventStore)); without them, all are tested. The tests need the features `macros`
/// and `rt-multi-thread` of tokio.
///
/// ```
/// # use std::sync::Arc;
/// # use stepwell_io::store::{MemoryStore, Store};
/// async fn open(_test: &str) -> Arc<dyn Store> {
///     Arc::new(MemoryStore::new()) // a new, empty store
/// }
///
/// mod contract {
///     stepwell_io::store_contract!(super::open);
/// }
/// # fn main() {}
/// ```
///
/// A store for agents alone:
///
/// ```
/// # use std::sync::Arc;
/// # use stepwell_io::store::{MemoryStore, TurnStore};
/// async fn open(_test: &str) -> Arc<dyn TurnStore> {
///     Arc::new(MemoryStore::new())
/// }
///
/// mod contract {
///     stepwell_io::store_contract!(super::open, turns);
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! store_contract {
    ($open:expr) => {
        $crate::store_contract! { $open, turns, threads, events }
        $crate::store_contract! { @rules $open, together, Store;
            a_new_title_wakes_followers
        }
    };
    ($open:expr, $($part:ident),+ $(,)?) => {
        $($crate::store_contract! { @part $part $open })+
    };
    (@part turns $open:expr) => {
        $crate::store_contract! { @rules $open, turns, TurnStore;
            a_turn_is_read_as_it_was_written
            a_thread_has_one_unfinished_turn
            a_turns_id_is_used_once_in_its_thread
            a_parent_must_be_there
            a_batch_that_is_sent_again_changes_nothing
            a_batch_that_arrives_late_changes_nothing
            a_batch_that_does_not_fit_changes_nothing
            concurrent_changes_are_refused_one_by_one
            a_turn_is_closed_once
            a_claim_returns_the_newest_checkpoint
            a_claim_shuts_out_the_former_owner
            one_of_many_concurrent_claims_wins
            one_of_many_concurrent_beginnings_wins
            unfinished_turns_are_listed_by_owner
            turns_without_a_lease_are_orphans
            a_command_waits_until_it_has_a_reply
            waits_for_commands_and_replies_are_woken
            a_path_leads_from_the_root_to_the_turn
            a_thread_names_its_latest_and_its_unfinished_turn
            a_deleted_thread_leaves_nothing
            a_healthy_store_passes_its_check
            many_blocks_are_stored_at_once
            names_are_any_text_without_nul_up_to_800_bytes
            a_dropped_write_is_stored_completely_or_not_at_all
        }
        $crate::store_contract! { @model $open, turns, TurnStore;
            any_order_of_turn_calls_matches_the_model
        }
    };
    (@part threads $open:expr) => {
        $crate::store_contract! { @rules $open, threads, ThreadStore;
            the_tree_of_turns_is_read
            threads_are_listed_page_by_page
            a_thread_has_a_title
        }
    };
    (@part events $open:expr) => {
        $crate::store_contract! { @rules $open, events, EventStore;
            events_are_read_from_any_index
            events_are_read_up_to_a_number_of_bytes
            events_that_do_not_follow_are_refused
            many_events_are_appended_at_once
            a_batch_is_stored_with_its_events_or_not_at_all
            a_claim_shuts_the_former_owner_out_of_the_log
            a_deleted_thread_leaves_no_log
            a_dropped_log_keeps_its_last_event
            many_logs_are_read_in_one_call
            the_acknowledged_index_never_decreases
            followers_of_a_thread_are_woken
        }
        $crate::store_contract! { @model $open, events, EventStore;
            any_order_of_event_calls_matches_the_model
        }
    };
    (@rules $open:expr, $part:ident, $store:ident; $($rule:ident)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $rule() {
            use $crate::store::contract::TestStore as _;
            if let Some(opened) = $open(stringify!($rule)).await.opened() {
                let store: ::std::sync::Arc<dyn $crate::store::$store> = opened.store.clone();
                $crate::store::contract::$part::$rule(store).await;
            }
        })*
    };
    (@model $open:expr, $part:ident, $store:ident; $rule:ident) => {
        #[test]
        fn $rule() {
            use $crate::store::contract::{OpenedStore, TestStore as _};
            $crate::store::contract::$part::$rule(|| async {
                $open("model").await.opened().map(|opened| OpenedStore {
                    store: opened.store as ::std::sync::Arc<dyn $crate::store::$store>,
                    guard: opened.guard,
                })
            });
        }
    };
}
