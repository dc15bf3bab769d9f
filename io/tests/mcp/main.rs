//! Tools of MCP servers. This program is also the server that it tests with: see `server`.

#[path = "../support/mod.rs"]
mod agents;
mod calls;
mod hostile;
mod http;
mod reference;
mod restarts;
mod server;
mod support;
mod turns;

use libtest_mimic::{Arguments, Trial};
use std::future::Future;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Ok(manner) = std::env::var(server::MANNER) {
        return server::run(&manner);
    }
    let arguments = Arguments::from_args();
    let mut tests = Vec::new();
    macro_rules! tests {
        ($($module:ident: $($name:ident),+;)+) => {
            $($(tests.push(test(concat!(stringify!($module), "::", stringify!($name)), $module::$name));)+)+
        };
    }
    tests! {
        calls:
            each_tool_has_a_name_a_schema_and_hints,
            approval_is_asked_for_as_the_app_wants_it,
            a_call_gives_what_the_tool_gave,
            errors_are_results_that_the_model_sees,
            media_and_resources_are_kept,
            what_is_structured_is_given_once,
            progress_is_reported_with_its_call,
            a_call_that_is_dropped_is_cancelled_on_the_server,
            tools_that_change_are_there_in_the_next_turn,
            environment_and_folder_are_the_childs,
            servers_get_no_secrets_of_the_app,
            a_server_without_handshake_is_spoken_to_as_well,
            dropped_servers_are_gone;
        hostile:
            too_many_and_too_large_tools_are_left_out,
            a_large_result_is_cut,
            a_message_beyond_all_bounds_ends_the_connection,
            words_that_are_no_protocol_do_no_harm,
            answers_that_cannot_be_read_end_their_calls,
            a_silent_server_is_given_up_in_time,
            a_server_that_ends_at_once_gives_the_reason,
            a_program_that_does_not_exist_is_named,
            names_that_are_the_same_are_refused;
        restarts:
            a_server_that_is_killed_gives_an_error_and_is_started_again,
            restarts_come_to_an_end_and_a_call_tries_once_more;
        http:
            calls_progress_and_cancel_go_over_http,
            a_server_that_was_started_again_is_called_again,
            a_refusal_that_names_no_call_is_its_answer,
            headers_are_sent_and_never_shown,
            an_address_that_is_none_is_refused;
        turns:
            a_turn_calls_a_tool_and_continues_with_its_result,
            a_turn_that_is_cancelled_cancels_its_call,
            a_call_out_of_time_is_cancelled;
    }
    let own = std::mem::take(&mut tests);
    tests! {
        reference:
            it_lists_calls_and_fails_over_stdio,
            a_slow_call_is_cancelled_over_stdio,
            it_is_killed_in_the_middle_over_stdio,
            all_of_it_goes_over_http,
            a_turn_calls_it;
    }
    let is_absent = std::env::var_os(reference::PROGRAM).is_none();
    let others = tests
        .into_iter()
        .map(|test| test.with_ignored_flag(is_absent));
    let tests = own.into_iter().chain(others).collect();
    libtest_mimic::run(&arguments, tests).exit_code()
}

fn test<F: Future<Output = ()> + 'static>(name: &str, code: fn() -> F) -> Trial {
    Trial::test(name, move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(code());
        Ok(())
    })
}
