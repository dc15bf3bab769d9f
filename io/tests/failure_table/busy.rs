//! A turn that begins while another turn of its thread is under way.

use crate::cancel::Place;
use crate::support::{Chat, IntoChat as _};
use crate::threads::{events, names};
use crate::*;
use stepwell_io::message::Message;
use stepwell_io::turn::Start;
use stepwell_io::{ErrorKind, WhenBusy};

/// Returns the users' messages in the conversation.
fn said(finished: &Finished) -> Vec<Value> {
    let messages = finished.transcript.messages();
    let said = messages.iter().filter_map(|message| match message {
        Message::User(user) => Some(json!(user.content)),
        _ => None,
    });
    said.collect()
}

/// A way to begin a turn.
type Way = (&'static str, fn(&Chat) -> TurnEvents);

const WAYS: [Way; 4] = [
    ("send", |agent| agent.send("I am Bob")),
    ("turn", |agent| {
        let run = agent.run("I am Bob").instructions("Be brief.");
        run.stream().into_events()
    }),
    ("start", |agent| {
        agent.start(Start::new("bob", Message::user("bob-user", "I am Bob")))
    }),
    ("branch", |agent| {
        agent.branch(
            None,
            Start::new("bob", Message::user("bob-user", "I am Bob")),
        )
    }),
];

#[tokio::test]
async fn two_users_of_one_agent_are_not_mixed() {
    for (place, dialect) in Place::all() {
        for (way, begin) in WAYS {
            let what = format!("{way}, {place:?}, {dialect:?}");
            let server = serve([place.hop(), says("Sure.")]).await;
            let calls = Arc::new(Semaphore::new(0));
            let agent = place.agent(dialect, &server, &calls);
            let mut first = agent.send("I am Alice");
            place.reached(&mut first, &server, &calls).await;

            let second = begin(&agent);
            let handle = second.handle();
            let (seen, second) = watch(second).await;
            assert_eq!(*failure(&second.outcome), Failure::Busy, "{what}");
            assert_eq!(
                seen,
                [RunEvent::Completed(second.outcome.clone())],
                "{what}"
            );
            let told = second.outcome.problem().expect("it has failed");
            assert_eq!(told.kind, ErrorKind::Busy, "{what}");
            assert!(second.transcript.messages().is_empty(), "{what}");
            assert_eq!((second.hops, second.text().as_str()), (0, ""), "{what}");
            handle.begun().await;
            assert!(handle.usage().await.is_err(), "{what}");

            // The first turn is as it was, and nothing of the second is in the conversation.
            assert_eq!(names(&events(&agent)), ["started thread-1#1.0"], "{what}");
            let transcript = first.handle().transcript().await;
            let transcript = transcript.expect("the first turn is under way");
            assert_eq!(transcript.text(), so_far(place), "{what}");
            agent.cancel();
            let (_, first) = watch(first).await;
            assert_eq!(first.outcome, Outcome::Cancelled, "{what}");
            assert_eq!(said(&first), ["I am Alice"], "{what}");
            // A turn that was cancelled is not under way.
            let (_, third) = watch(agent.send("And now?")).await;
            assert_eq!(third.outcome, Outcome::Success, "{what}");
            assert_eq!(said(&third), ["I am Alice", "And now?"], "{what}");
            for request in server.requests() {
                assert!(!request.body.to_string().contains("Bob"), "{what}");
            }
            assert_legal(&server);
        }
    }
}

/// Returns the model's text at that place.
fn so_far(place: Place) -> &'static str {
    match place {
        Place::Streaming => "So far",
        _ => "",
    }
}

#[tokio::test]
async fn when_busy_cancel_cancels_the_turn_under_way() {
    let server = serve([Hop::silent(), Hop::silent(), says("Sure.")]).await;
    let agent = Dialect::Chat
        .agent(&server)
        .chat()
        .when_busy(WhenBusy::Cancel);
    let first = agent.send("A hard question");
    server.wait_until(|requests| requests.len() == 1).await;
    let second = agent.send("Forget it");
    assert_eq!(watch(first).await.1.outcome, Outcome::Cancelled);
    server.wait_until(|requests| requests.len() == 2).await;
    // A turn may be more careful than its agent.
    let refused = agent.run("Hello?").when_busy(WhenBusy::Fail).await;
    assert_eq!(
        refused.expect_err("a turn is under way").kind(),
        ErrorKind::Busy
    );
    let (_, third) = watch(agent.send("Hello?")).await;
    assert_eq!(third.outcome, Outcome::Success);
    assert_eq!(watch(second).await.1.outcome, Outcome::Cancelled);
    assert_eq!(said(&third), ["A hard question", "Forget it", "Hello?"]);
}

#[tokio::test]
async fn a_dropped_or_suspended_turn_frees_its_thread() {
    let server = serve([Hop::silent(), Hop::silent(), says("Sure.")]).await;
    let agent = Dialect::Chat.agent(&server).chat();
    drop(agent.send("Dropped"));
    let turn = agent.send("Suspended");
    server.wait_until(|requests| requests.len() == 1).await;
    turn.suspend().await.expect("it is under way");
    let turn = agent.send("Hello");
    server.wait_until(|requests| requests.len() == 2).await;
    drop(turn);
    let (_, finished) = watch(agent.send("Hello again")).await;
    assert_eq!(finished.outcome, Outcome::Success);
}

#[tokio::test]
async fn a_stored_turn_is_not_revived_on_a_busy_thread() {
    let server = serve([asks(&["a"]), Hop::silent()]).await;
    let calls = Arc::new(Semaphore::new(0));
    let agent = Dialect::Chat.agent(&server).tool(work(), hangs(&calls));
    let agent = agent.chat();
    let turn = agent.send("Go on");
    begun(&calls, 1).await;
    let snapshot = turn.suspend().await.expect("it is under way");
    let other = agent.send("Something else");
    server.wait_until(|requests| requests.len() == 2).await;
    let revived = agent.revive(&snapshot).expect("it was just written");
    let (_, revived) = watch(revived).await;
    assert_eq!(*failure(&revived.outcome), Failure::Busy);
    agent.cancel();
    assert_eq!(watch(other).await.1.outcome, Outcome::Cancelled);
}
