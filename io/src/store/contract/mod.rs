//! The rules of [`Store`](super::Store), as tests of a store.
//!
//! [`store_contract!`](crate::store_contract) makes a test of each rule, for a store of the app's own.

// Rules are tests: what a store breaks is a panic.
#![allow(missing_docs, clippy::missing_panics_doc, clippy::unwrap_used)]

mod commands;
mod events;
mod limits;
mod model;
mod opened;
mod owners;
#[doc(hidden)]
pub mod support;
mod threads;
mod turns;

#[doc(hidden)]
pub use commands::*;
#[doc(hidden)]
pub use events::*;
#[doc(hidden)]
pub use limits::*;
#[doc(hidden)]
pub use model::holds_to_the_model;
pub use opened::{OpenedStore, TestStore};
#[doc(hidden)]
pub use owners::*;
#[doc(hidden)]
pub use threads::*;
#[doc(hidden)]
pub use turns::*;

/// Makes a test of each rule of [`Store`](crate::store::Store), and one that compares any order of calls with a model.
///
/// Its argument is a function that opens a new, empty store for the test of a name: `async fn(&str) -> impl`
/// [`TestStore`](crate::store::contract::TestStore), an `Arc` of a store for one. The tests need the features `macros` and
/// `rt-multi-thread` of tokio.
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
#[macro_export]
macro_rules! store_contract {
    ($open:expr) => {
        $crate::store_contract! { @rules $open;
            a_turn_comes_back_as_it_was_written
            a_thread_has_one_unfinished_turn
            a_turns_id_is_used_once_in_its_thread
            a_parent_must_be_there
            a_batch_that_is_sent_again_changes_nothing
            a_batch_that_does_not_fit_changes_nothing
            a_step_is_stored_with_its_events_or_not_at_all
            changes_that_come_at_once_are_refused_one_by_one
            a_turn_is_closed_once
            the_newest_checkpoint_is_the_one_to_go_on_from
            a_claim_shuts_the_owner_before_out
            of_many_that_claim_at_once_one_wins
            of_many_that_begin_at_once_one_wins
            unfinished_turns_are_listed_by_owner
            turns_without_a_lease_are_orphans
            a_command_is_its_owners_until_it_has_a_reply
            whoever_waits_for_commands_or_replies_is_woken
            a_path_goes_up_the_tree
            threads_are_listed_page_by_page
            a_thread_has_a_title
            a_deleted_thread_leaves_nothing
            events_are_read_from_any_place_on
            events_are_read_up_to_so_many_bytes
            a_log_that_was_dropped_keeps_its_end
            a_store_that_is_well_says_so
            events_that_do_not_follow_are_refused
            many_logs_are_asked_for_at_once
            what_was_seen_never_goes_back
            whoever_follows_a_thread_is_woken
            many_blocks_and_events_at_once
            names_are_any_text_of_some_length_but_nul
            a_write_that_is_dropped_is_whole_or_not_there
        }

        #[test]
        fn any_interleaving_gives_what_the_model_says() {
            $crate::store::contract::holds_to_the_model(|| $open("model"));
        }
    };
    (@rules $open:expr; $($rule:ident)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $rule() {
            use $crate::store::contract::TestStore as _;
            if let Some(opened) = $open(stringify!($rule)).await.opened() {
                $crate::store::contract::$rule(opened.store.clone()).await;
            }
        })*
    };
}
