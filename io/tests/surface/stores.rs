//! A store that is opened after the agent is defined.

use crate::{agent, answer, texts};
use std::io;
use std::sync::Arc;
use stepwell_io::store::{MemoryStore, TurnStore};
use stepwell_io::{Agent, HttpClient};
use stepwell_testing::reply::text;

/// An agent whose model answers with all that the user has said.
fn listener() -> Agent {
    let client = HttpClient::from_fn(|request| {
        let said = texts(&request, "user").join(" ");
        async move { io::Result::Ok(answer(&[text(&said)])) }
    });
    agent(client).build().expect("it is set up")
}

fn store() -> Arc<dyn TurnStore> {
    Arc::new(MemoryStore::new())
}

#[tokio::test]
async fn a_conversation_of_a_later_store_continues_in_another_agent() {
    let store = store();
    let first = listener().with_store(Arc::clone(&store));
    let result = first.conversation("alice").send("I am Alice.").await;
    assert_eq!(result.expect("it is answered").output, "I am Alice.");
    let second = listener().with_store(store);
    let conversation = second.conversation("alice");
    assert_eq!(
        conversation
            .load()
            .await
            .expect("it is read")
            .messages()
            .len(),
        2
    );
    let result = conversation.send("Who am I?").await;
    assert_eq!(
        result.expect("it is answered").output,
        "I am Alice. Who am I?"
    );
    let other = second.conversation("bob").send("Hello").await;
    assert_eq!(other.expect("it is answered").output, "Hello");
}

#[tokio::test]
async fn one_store_is_one_place_and_another_store_another() {
    let (agent, store) = (listener(), store());
    let here = agent.with_store(Arc::clone(&store)).conversation("alice");
    here.send("one").await.expect("it is answered");
    let same = agent.with_store(store).conversation("alice");
    assert_eq!(same.transcript(), here.transcript());
    for elsewhere in [agent.clone(), agent.with_store(self::store())] {
        let elsewhere = elsewhere.conversation("alice");
        assert!(elsewhere.transcript().messages().is_empty());
        let result = elsewhere.send("two").await.expect("it is answered");
        assert_eq!(result.output, "two");
    }
}

#[tokio::test]
async fn runs_without_a_conversation_are_not_stored() {
    let store = store();
    let agent = listener().with_store(Arc::clone(&store));
    agent.run("Hello").await.expect("it is answered");
    let unfinished = store.unfinished(None).await.expect("it is read");
    assert!(unfinished.is_empty());
    assert!(agent.registry().unread_threads().is_empty());
}
