//! The commands that other hosts send to owners.

use crate::store::contract::support::unique_name;
use crate::store::{SentCommand, StoreError, TurnStore};
use std::sync::Arc;

/// A command that no other test sends.
fn command(owner: &str, text: &str) -> SentCommand {
    SentCommand {
        id: format!("{text}-{}", unique_name()),
        owner: format!("{owner}-{:?}", std::thread::current().id()),
        command: text.to_owned(),
    }
}

/// Checks that a command is delivered to its owner until it has a reply, and is gone when it was removed.
pub async fn a_command_waits_until_it_has_a_reply(store: Arc<dyn TurnStore>) {
    let inbox = store.inbox();
    let [first, second, mut other] = ["first", "second", "other"].map(|text| command("host", text));
    other.owner.push_str("-other");
    for command in [&first, &other, &second, &first] {
        inbox.send(command).await.unwrap();
    }
    let waiting = async |limit| inbox.waiting(&first.owner, limit).await.unwrap();
    assert_eq!(waiting(10).await, [&*first.id, &*second.id]);
    assert_eq!(waiting(1).await, [&*first.id]);
    assert_eq!(inbox.waiting("nobody", 10).await, Ok(Vec::new()));
    assert_eq!(inbox.reply_to(&first.id).await, Ok(None));
    for reply in ["done", "too late"] {
        inbox.reply(&first.id, reply).await.unwrap();
    }
    assert_eq!(inbox.reply_to(&first.id).await, Ok(Some("done".to_owned())));
    assert_eq!(waiting(10).await, [&*second.id]);
    // A command that was replied to is not delivered again because it was sent again.
    inbox.send(&first).await.unwrap();
    assert_eq!(waiting(10).await, [&*second.id]);
    for command in [&first, &second, &second] {
        inbox.remove(&command.id).await.unwrap();
    }
    assert_eq!(waiting(10).await, [""; 0]);
    assert_eq!(inbox.reply_to(&first.id).await, Ok(None));
    inbox.reply(&first.id, "nobody asks").await.unwrap();
    assert_eq!(
        inbox.waiting(&other.owner, 10).await,
        Ok(vec![other.id.clone()])
    );
    assert_eq!(inbox.command(&other.id).await, Ok(Some(other.clone())));
    inbox.remove(&other.id).await.unwrap();
    assert_eq!(inbox.command(&other.id).await, Ok(None));
    let mut nul = command("host", "nul");
    nul.command.push('\0');
    let refused = inbox.send(&nul).await;
    assert!(
        matches!(refused, Err(StoreError::Refused { .. })),
        "{refused:?}"
    );
}

/// Checks that a wait for commands wakes when one is sent, and a wait for a reply when it is there.
pub async fn waits_for_commands_and_replies_are_woken(store: Arc<dyn TurnStore>) {
    let inbox = store.inbox();
    let command = command("host", "command");
    let mut of_owner = inbox.subscribe(&command.owner).await.unwrap();
    let mut of_sender = inbox.subscribe(&command.id).await.unwrap();
    let owner = async {
        while inbox.waiting(&command.owner, 1).await.unwrap().is_empty() {
            of_owner.changed().await;
        }
        inbox.reply(&command.id, "done").await.unwrap();
    };
    let sender = async {
        inbox.send(&command).await.unwrap();
        while inbox.reply_to(&command.id).await.unwrap().is_none() {
            of_sender.changed().await;
        }
        inbox.remove(&command.id).await.unwrap();
    };
    futures::join!(owner, sender);
}
