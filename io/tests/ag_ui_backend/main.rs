//! Turns with backends that are not ours: agents of five frameworks with scripted models, in `tests/ag-ui-backend`.
//! `cargo xtask test ag-ui-backend` installs them and runs these tests, which are ignored else.

mod backend;
mod scenes;
#[path = "../support/mod.rs"]
mod support;

/// A test for each scene that a backend has.
macro_rules! backends {
    ($( $backend:ident { $( $scene:ident, )+ } )+) => {
        $( mod $backend {
            $( #[tokio::test]
            #[ignore = "needs the backends: cargo xtask test ag-ui-backend"]
            async fn $scene() {
                let backend = super::backend::Backend::of(stringify!($backend));
                super::scenes::$scene(&backend).await;
            } )+
        } )+
    };
}

backends! {
    pydantic_ai {
        text_arrives_and_the_thread_continues,
        reasoning_is_shown_and_taken_back,
        sealed_reasoning_is_kept,
        tools_of_the_backend_are_left_to_it,
        tools_of_the_client_run_here_over_two_runs,
        tools_of_both_in_one_run,
        an_answered_question_continues_the_turn,
        what_it_asks_is_answered_after_a_restart,
        the_shared_state_follows_its_deltas,
        its_error_is_the_turns,
        a_cancelled_turn_is_cancelled_there,
    }
    langgraph {
        text_arrives_and_the_thread_continues,
        reasoning_is_shown_and_taken_back,
        tools_of_the_backend_are_left_to_it,
        tools_of_the_client_run_here_over_two_runs,
        tools_that_only_a_snapshot_asks_for_run_here,
        tools_of_both_in_one_run,
        an_answered_question_continues_the_turn,
        what_it_asks_is_answered_after_a_restart,
        its_error_is_the_turns,
    }
    strands {
        text_arrives_and_the_thread_continues,
        reasoning_is_shown_and_taken_back,
        tools_of_the_backend_are_left_to_it,
        tools_of_the_client_run_here_over_two_runs,
        tools_of_both_in_one_run,
        an_answered_question_continues_the_turn,
        what_it_asks_is_answered_after_a_restart,
        its_error_is_the_turns,
    }
    adk {
        text_arrives_and_the_thread_continues,
        reasoning_is_shown_and_taken_back,
        tools_of_the_backend_are_left_to_it,
        tools_of_the_client_run_here_over_two_runs,
        tools_of_both_in_one_run,
        one_question_is_answered_after_a_restart,
        its_error_is_the_turns,
    }
    agno {
        text_arrives_and_the_thread_continues,
        tools_of_the_backend_are_left_to_it,
        tools_of_the_client_run_here_over_two_runs,
        tools_of_both_in_one_run,
        what_it_asks_by_a_call_is_answered_by_a_tool,
        its_error_is_the_turns,
    }
}
