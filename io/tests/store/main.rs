//! What every store must do, run over each: in memory, SQLite, and PostgreSQL if `STEPWELL_POSTGRES` is the address of a
//! server. `cargo xtask test store-postgres` starts one.
#![allow(clippy::unwrap_used)]

mod contract;
mod model;
mod open;
#[cfg(feature = "postgres")]
mod postgres_only;
#[cfg(feature = "sqlite")]
mod sqlite_only;
mod support;

macro_rules! contract {
    ($($test:ident)*) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let opened = crate::open::memory();
                crate::contract::$test(opened.store).await;
            })*

            #[test]
            fn any_interleaving_gives_what_the_model_says() {
                crate::model::holds(|| async { crate::open::memory() });
            }
        }

        mod layer {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let opened = crate::open::layer();
                crate::contract::$test(opened.store).await;
            })*
        }

        #[cfg(feature = "sqlite")]
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let opened = crate::open::sqlite(stringify!($test)).await;
                crate::contract::$test(opened.store.clone()).await;
            })*

            #[test]
            fn any_interleaving_gives_what_the_model_says() {
                crate::model::holds(|| crate::open::sqlite("model"));
            }
        }

        #[cfg(feature = "postgres")]
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                if let Some(opened) = crate::open::postgres(stringify!($test)).await {
                    crate::contract::$test(opened.store.clone()).await;
                }
            })*

            #[test]
            fn any_interleaving_gives_what_the_model_says() {
                if crate::open::postgres_url().is_some() {
                    crate::model::holds(|| async {
                        crate::open::postgres("model").await.unwrap()
                    });
                }
            }
        }
    };
}

contract! {
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
