//! The rules of `Store`.

mod events;
mod limits;
mod owners;
mod threads;
mod turns;

pub(crate) use events::*;
pub(crate) use limits::*;
pub(crate) use owners::*;
pub(crate) use threads::*;
pub(crate) use turns::*;

use std::sync::Arc;
use stepwell_io::store::Store;

type AnyStore = Arc<dyn Store>;

/// Hands the names of all rules to a macro.
macro_rules! rules {
    ($then:ident) => {
        $then! {
            a_turn_comes_back_as_it_was_written
            a_thread_has_one_unfinished_turn
            a_turns_id_is_used_once_in_its_thread
            a_parent_must_be_there
            a_batch_that_is_sent_again_changes_nothing
            a_batch_that_does_not_fit_changes_nothing
            a_turn_is_closed_once
            the_newest_snapshot_is_the_one_to_go_on_from
            a_claim_shuts_the_owner_before_out
            of_many_that_claim_at_once_one_wins
            of_many_that_begin_at_once_one_wins
            unfinished_turns_are_listed_by_owner
            the_turns_of_who_is_not_there_are_orphans
            a_path_goes_up_the_tree
            threads_are_listed_page_by_page
            a_thread_has_a_title
            a_deleted_thread_leaves_nothing
            events_are_read_from_any_place_on
            events_are_read_up_to_so_many_bytes
            a_store_that_is_well_says_so
            events_that_do_not_follow_are_refused
            many_logs_are_asked_for_at_once
            what_was_seen_never_goes_back
            whoever_follows_a_thread_is_woken
            many_blocks_and_events_at_once
            names_are_any_text_of_some_length_but_nul
            a_write_that_is_dropped_is_whole_or_not_there
        }
    };
}
pub(crate) use rules;
