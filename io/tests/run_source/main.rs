//! Backends that create runs before their streams are opened, over real HTTP: a mock of Soliplex's rooms.

mod rooms;
#[path = "../support/mod.rs"]
mod support;

use futures::StreamExt;
use rooms::{Rooms, Says};
use serde_json::json;

use stepwell_core::run_source::Soliplex;
use stepwell_io::host::{RestError, RestRunSource};
use stepwell_io::tool::Tool;
use stepwell_io::turn::{Failure, Outcome, RunEvent};
use stepwell_io::{Agent, HttpClient};
use support::{Chat, IntoChat as _};

/// An agent on a new thread of the room.
async fn chat(rooms: &Rooms) -> (Chat, RestRunSource<Soliplex>, HttpClient) {
    let room = Soliplex::new(rooms.address(), "the room").key("token");
    let (endpoint, source) = (room.endpoint(), RestRunSource::new(room));
    let client = HttpClient::new().expect("a client");
    let thread = source.create_thread(&client).await.expect("a thread");
    let agent = Agent::builder(endpoint)
        .client(client.clone())
        .run_source(source.clone())
        .configure(|config| config.retry.first_delay = std::time::Duration::ZERO)
        .tool(Tool::new("work", "Works."), |_| async {
            Ok::<_, String>("worked")
        })
        .chat()
        .thread(thread.thread_id);
    (agent, source, client)
}

#[tokio::test]
async fn a_turn_with_a_tool_takes_two_runs_which_the_server_makes() {
    let rooms = Rooms::serve([Says::call("work"), Says::text("Done.")]).await;
    let (agent, source, client) = chat(&rooms).await;
    let mut turn = agent.send("Go on");
    let mut hops = Vec::new();
    while let Some(event) = turn.next().await {
        if let RunEvent::HopStarted { hop, run_id } = event {
            hops.push((hop, run_id.to_string()));
        }
    }
    let finished = turn.finish().await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.transcript.text(), "Done.");
    // The first came with the thread, the second was asked for.
    let expected = [(0, "run-1".to_owned()), (1, "run-2".to_owned())];
    assert_eq!(hops, expected);
    assert_eq!(
        rooms.seen(),
        [
            "POST /api/v1/rooms/the%20room/agui {}",
            "POST /api/v1/rooms/the%20room/agui/thread-1/run-1 of run-1",
            "POST /api/v1/rooms/the%20room/agui/thread-1 {\"parent_run_id\":\"run-1\"}",
            "POST /api/v1/rooms/the%20room/agui/thread-1/run-2 of run-2 after run-1",
        ]
    );

    // Another device reads the thread, and has the same conversation.
    let kept = source.transcript(&client, agent.conversation.id()).await;
    let kept = kept.expect("the history");
    assert_eq!(kept.messages(), finished.transcript.messages());
}

#[tokio::test]
async fn the_next_turn_has_a_run_of_its_own() {
    let rooms = Rooms::serve([Says::text("One."), Says::text("Two.")]).await;
    let (agent, ..) = chat(&rooms).await;
    for said in ["One.", "Two."] {
        let finished = agent.send("Go on").finish().await;
        assert_eq!(finished.outcome, Outcome::Success);
        assert!(finished.transcript.text().ends_with(said));
    }
    let runs = rooms
        .seen()
        .into_iter()
        .filter(|line| line.contains(" of "));
    let runs: Vec<_> = runs
        .map(|line| line.rsplit(' ').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(runs, ["run-1", "run-2"]);
}

#[tokio::test]
async fn a_broken_stream_continues_after_the_last_event() {
    let rooms = Rooms::serve([Says::text("A text that is cut twice.").cut_at([3, 5])]).await;
    let (agent, ..) = chat(&rooms).await;
    let finished = agent.send("Go on").finish().await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.transcript.text(), "A text that is cut twice.");
    let posts = rooms.seen();
    assert_eq!(posts.len(), 4, "{posts:?}");
    assert!(posts[2].ends_with("resumed at run-1:2"), "{posts:?}");
    assert!(posts[3].ends_with("resumed at run-1:4"), "{posts:?}");
}

#[tokio::test]
async fn a_refused_run_fails_the_turn_with_the_servers_text() {
    let rooms = Rooms::serve([Says::call("work"), Says::no_run("the quota is used up")]).await;
    let (agent, ..) = chat(&rooms).await;
    let finished = agent.send("Go on").finish().await;
    let Outcome::Failed {
        failure: Failure::RunNotCreated { message },
    } = &finished.outcome
    else {
        panic!("{:?}", finished.outcome);
    };
    assert!(message.contains("the quota is used up"), "{message}");
    let last = finished.transcript.messages().last().expect("messages");
    assert_eq!(json!(last)["content"], "worked", "the result is kept");
    // A new turn on the same history sends it.
    rooms.then([Says::text("Done.")]);
    let finished = agent.send("Go on").finish().await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert!(rooms.last_input().to_string().contains("worked"));
}

#[tokio::test]
async fn refusals_and_wrong_answers_are_distinguished() {
    let client = HttpClient::new().expect("a client");
    let rooms = Rooms::serve([]).await;
    let stranger = RestRunSource::new(Soliplex::new(rooms.address(), "the room").key("wrong"));
    let refused = stranger.create_thread(&client).await.expect_err("no right");
    assert!(refused.to_string().contains("refused"), "{refused}");
    let elsewhere = RestRunSource::new(Soliplex::new(rooms.address(), "page").key("token"));
    let unreadable = elsewhere.create_thread(&client).await.expect_err("a page");
    assert!(
        unreadable.to_string().contains("cannot be read"),
        "{unreadable}"
    );
    let nowhere = RestRunSource::new(Soliplex::new("http://127.0.0.1:9", "the room"));
    let gone = nowhere.create_thread(&client).await.expect_err("nobody");
    assert!(matches!(gone, RestError::Connection(_)), "{gone}");
}
