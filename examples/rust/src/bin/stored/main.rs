//! A conversation that outlives its process: `stored DATABASE [BASE_URL]`, with the key in OPENAI_API_KEY.
mod own_store;

use own_store::OwnStore;
use std::sync::Arc;
use stepwell_io::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let database = arguments.next().unwrap_or_else(|| "app.db".to_owned());
    let mut model = Model::openai("gpt-4o-mini");
    if let Some(url) = arguments.next() {
        model = model.base_url(url);
    }
    let store = Arc::new(OwnStore::open(&database)?);
    let agent = Agent::builder(model).store(store).build()?;
    // What a process that was killed has left.
    for recovered in agent.recover().await? {
        recovered.turn?.result().await?;
    }
    let diary = agent.conversation("diary");
    println!("{}", diary.send("What have I said so far?").await?.output);
    Ok(())
}
