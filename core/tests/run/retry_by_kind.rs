//! The table of retries, by kind of failure, as a turn applies it.

use crate::world::{Reply, ToolReply, World, offer};
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{
    ErrorKind, Failure, Outcome, Refusal, Retry, RunConfig, RunEvent, RunMachine, StateKind,
};
use stepwell_core::tool::Tool;
use stepwell_testing::reply::{Call, Part, call, text};

fn refused(status: u16) -> Reply {
    Reply::Refused(Refusal {
        status,
        retry_after: None,
        body: Vec::new(),
    })
}

/// A stream that ends with this error before it has shown anything.
fn error_in_stream(code: &str) -> Reply {
    let body = format!(r#"{{"error":{{"message":"No","code":"{code}"}}}}"#);
    let body = format!("data: {body}\n\n");
    Reply::Body(Some("text/event-stream"), body.into_bytes())
}

fn unreadable(id: &str) -> Part {
    Part::Calls(vec![Call::new(id, "clock", "{")])
}

fn world(rows: &[Retry], set: impl FnOnce(&mut RunConfig)) -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        for &row in rows {
            config.retry = config.retry.clone().with(row);
        }
        offer(config, Tool::new("clock", "The time."));
        set(config);
    })
    .tool("clock", |_| ToolReply::text("noon"))
}

fn tries(world: &World) -> Vec<(ErrorKind, u32)> {
    let tries = world.seen.events().filter_map(|event| match event {
        RunEvent::Retrying { kind, attempt, .. } => Some((*kind, *attempt)),
        _ => None,
    });
    tries.collect()
}

fn requests(world: &World) -> usize {
    world.seen.requests().len()
}

#[test]
fn each_kind_of_failure_has_attempts_of_its_own() {
    let failures: [(ErrorKind, fn() -> Reply); 8] = [
        (ErrorKind::RateLimit, || refused(429)),
        (ErrorKind::Overloaded, || refused(529)),
        (ErrorKind::ServerError, || refused(500)),
        (ErrorKind::Authentication, || refused(401)),
        (ErrorKind::Connection, || Reply::Unreachable),
        (ErrorKind::Timeout, || Reply::Silent),
        (ErrorKind::RateLimit, || {
            error_in_stream("rate_limit_exceeded")
        }),
        (ErrorKind::OutputInvalid, || {
            error_in_stream("tool_use_failed")
        }),
    ];
    for (kind, failure) in failures {
        for attempts in 1..4 {
            let mut world = world(&[Retry::after(kind).attempts(attempts)], |_| {});
            world.fallback_reply = Some(failure());
            let world = world.turn();
            assert_eq!(requests(&world), attempts as usize, "{kind:?}");
            let problem = world.outcome().problem().expect("it failed");
            assert_eq!(problem.kind, kind);
            let expected: Vec<_> = (1..attempts).map(|attempt| (kind, attempt)).collect();
            assert_eq!(tries(&world), expected, "{kind:?}");
        }
    }
}

#[test]
fn failures_of_different_kinds_are_bounded_together() {
    let rows = [
        Retry::after(ErrorKind::RateLimit).attempts(5),
        Retry::after(ErrorKind::Connection).attempts(2),
    ];
    let world = world(&rows, |_| {})
        .reply(refused(429))
        .reply(Reply::Unreachable)
        .reply(refused(429))
        .reply(refused(500))
        .reply(refused(429))
        .turn();
    assert_eq!(requests(&world), 5, "the largest number of the table");
    let world = self::world(&rows, |_| {})
        .reply(refused(429))
        .reply(Reply::Unreachable)
        .reply(Reply::Unreachable)
        .turn();
    assert_eq!(requests(&world), 3, "a connection is tried twice");
}

#[test]
fn a_failure_of_an_unknown_kind_in_the_stream_is_not_retried() {
    let rows = [Retry::after(ErrorKind::ServerError).attempts(9)];
    let world = world(&rows, |_| {}).reply(error_in_stream("odd")).turn();
    assert_eq!(requests(&world), 1);
}

#[test]
fn a_restored_run_keeps_its_count() {
    let mut world = world(&[], |_| {});
    world.fallback_reply = Some(refused(500));
    world.send("Hello");
    for _ in 1..4 {
        world.drive_to(StateKind::Waiting);
        let snapshot = world.machine.snapshot();
        world.machine = RunMachine::restore(&snapshot, world.config.clone()).expect("readable");
        world.drive_until(|world| world.machine.state() != StateKind::Waiting);
    }
    world.drive();
    assert_eq!(requests(&world), 4);
}

#[test]
fn a_new_answer_is_a_new_count() {
    let world = world(&[], |_| {})
        .reply(refused(500))
        .reply(refused(500))
        .reply(refused(500))
        .streams([call("a", "clock", "{}")])
        .reply(refused(500))
        .reply(refused(500))
        .reply(refused(500))
        .streams([text("Noon.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn calls_that_cannot_be_read_are_asked_for_again_so_often() {
    let world = world(&[], |_| {})
        .streams([unreadable("a")])
        .streams([unreadable("b")])
        .streams([unreadable("c")])
        .turn();
    let Outcome::Failed {
        failure: Failure::OutputInvalid { reason, .. },
    } = world.outcome()
    else {
        panic!("it ended with {:?}", world.outcome());
    };
    assert!(reason.contains("`clock` are not valid JSON"), "{reason}");
    assert_eq!(requests(&world), 3);
    let kind = ErrorKind::OutputInvalid;
    assert_eq!(tries(&world), [(kind, 1), (kind, 2)]);
    world.assert_valid_history();
}

#[test]
fn a_call_that_can_be_read_ends_the_count_of_those_that_cannot() {
    let both = [unreadable("a"), call("b", "clock", "{}")];
    let world = world(&[], |_| {})
        .streams([unreadable("c")])
        .streams([unreadable("d")])
        .streams(both)
        .streams([unreadable("e")])
        .streams([unreadable("f")])
        .streams([text("Noon.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn without_a_next_hop_there_is_no_try() {
    let world = world(&[], |config| config.limits.continue_after_tools = false)
        .streams([unreadable("a")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(tries(&world), []);
}
