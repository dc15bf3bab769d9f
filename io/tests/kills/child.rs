//! The program that is killed.

use crate::{EFFECTS, FINISH, PROVIDER, open};
use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;
use stepwell_io::tool::{Tool, ToolContext};
use stepwell_io::{Agent, provider};

/// Turns side by side, each on a thread of its own.
const THREADS: u32 = 3;

/// The time that a tool takes: a kill may come in the middle.
const WORK: Duration = Duration::from_millis(3);

pub(crate) fn run(store: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(live(store));
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap()
}

/// Leaves its mark, as one write at the end of the file, and then takes a while.
async fn mark(call: ToolContext) -> Result<String, std::io::Error> {
    let mut file = OpenOptions::new().append(true).open(variable(EFFECTS))?;
    file.write_all(format!("{}\n", call.tool_call_id).as_bytes())?;
    tokio::time::sleep(WORK).await;
    Ok("done".to_owned())
}

async fn live(store: &str) {
    let endpoint = provider::find("openai-compatible").unwrap();
    let endpoint = endpoint.endpoint(None, "m", Some(&variable(PROVIDER)), None);
    let store = open(store).await;
    let agent = Agent::builder(endpoint.unwrap())
        .store(store.clone())
        .tool(Tool::new("work", "Works."), mark)
        .tool(Tool::new("look", "Looks.").idempotent(), mark)
        .build()
        .unwrap();
    let (mut keys, mut recovered) = (HashSet::new(), Vec::new());
    // A server takes a moment to find out that the process before is dead.
    loop {
        for found in agent.recover().await.unwrap() {
            keys.insert(found.key);
            recovered.push(tokio::spawn(found.turn.unwrap().result()));
        }
        let unfinished = store.unfinished(None).await.unwrap();
        if unfinished.iter().all(|turn| keys.contains(&turn.key)) {
            break;
        }
    }
    if std::env::var(FINISH).is_ok() {
        for turn in recovered {
            drop(turn.await.unwrap());
        }
        return;
    }
    println!("ready");
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let agent = agent.clone();
            tokio::spawn(async move {
                for round in 0u64.. {
                    let name = format!("{}-{number}-{round}", std::process::id());
                    let conversation = agent.conversation(name.as_str());
                    let _ = conversation.send(name.as_str()).await;
                    // A second turn, on the same thread.
                    let _ = conversation.send(format!("{name}-again")).await;
                }
            })
        })
        .collect();
    for thread in threads {
        thread.await.unwrap();
    }
}
