//! Answers that the provider makes in the background, and the hosts that read them one after the other.

use crate::faulty::Fault;
use crate::restarts::killed;
use crate::support::{Chat, IntoChat as _};
use crate::*;
use stepwell_io::store::{Generation, StoreError};
use stepwell_io::{Agent, Model};

const TEXT: &str = "It took the night, and it is all here.";

/// An agent whose answers are made in the background, and that waits so long before it reads on.
fn agent(server: &MockLlm, store: &(impl Store + Clone), pause: Duration) -> AgentBuilder {
    let model = Model::openai("mock-model").base_url(server.base_url());
    let agent = Agent::builder(model.api_key("test-key").in_background());
    let agent = agent.store(Arc::new(store.clone()));
    agent.configure(move |config| {
        config.retry.first_delay = pause;
        config.retry.max_delay = pause;
    })
}

fn soon(server: &MockLlm, store: &(impl Store + Clone)) -> Chat {
    agent(server, store, Duration::from_millis(1)).chat()
}

fn requests(server: &MockLlm, method: &str) -> usize {
    let requests = server.requests();
    let of_method = requests.iter().filter(|request| request.method == method);
    of_method.count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_dies_leaves_its_answer_to_the_next_one() {
    let hops = [says(TEXT).drop_every(4), says("Good night.")];
    let server = Arc::new(serve(hops).await);
    let store = memory();
    let life = {
        let (server, store) = (Arc::clone(&server), store.clone());
        move || async move {
            // It dies in the pause before it would read on.
            let agent = agent(&server, &store, Duration::from_secs(3600));
            let mut turn = agent.chat().send("Write a book");
            let is_pause = |event: &RunEvent| matches!(event, RunEvent::Retrying { .. });
            while !is_pause(&turn.next().await.unwrap()) {}
            turn.detach();
        }
    };
    killed(life);
    assert_eq!(
        (requests(&server, "POST"), requests(&server, "GET")),
        (1, 0)
    );
    let left = turns(&store).await;
    assert!(!is_closed(&left[0]));

    let chat = soon(&server, &store);
    let recovered = chat.recover().await.unwrap().pop().unwrap();
    let (_, finished) = watch(recovered.turn.unwrap().into_events()).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.transcript.text(), TEXT);
    assert_eq!(requests(&server, "POST"), 1, "the same answer");
    let resumed = &server.requests()[1];
    assert_eq!(resumed.path, "/v1/responses/resp_0_0");
    // The checkpoint may be from before some of the events that were read.
    let after = resumed.query.strip_prefix("stream=true&starting_after=");
    assert!(after.is_some_and(|after| ["0", "1", "2", "3"].contains(&after)));

    let turns = turns(&store).await;
    assert!(is_closed(&turns[0]));
    let kept = kinds(&turns[0]).into_iter().filter(|kind| *kind == "text");
    assert_eq!(kept.count(), 1);
    let (_, finished) = watch(chat.send("Thank you")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let input = &server.requests().pop().unwrap().body["input"];
    assert_eq!(input[1]["content"], TEXT);
    assert_eq!(input.as_array().unwrap().len(), 3);
    assert_legal(&server);
}

#[tokio::test]
async fn a_turn_that_another_host_has_leaves_its_answer_to_that_host() {
    let server = serve([says(TEXT).stall(), says("Yes?")]).await;
    let store = faulty();
    let taken = StoreError::Stale {
        turn: "turn".into(),
        given: Generation::FIRST,
        current: Generation::FIRST.next(),
    };
    // The write that has the id of the answer fails.
    store.next([Fault::None, Fault::Before(taken)]);
    let (events, finished) = watch(soon(&server, &store).send("Write a book")).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    let warned = warnings(&events);
    let stops = |warning: &&str| warning.contains("stops here");
    assert!(warned.iter().any(stops), "{warned:?}");
    // A request to cancel the answer would come before those of the next turn.
    let (_, finished) = watch(soon(&server, &memory()).send("Hello?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let paths: Vec<_> = server
        .requests()
        .into_iter()
        .map(|request| request.path)
        .collect();
    assert_eq!(paths, ["/v1/responses"; 2]);
}
