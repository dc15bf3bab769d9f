use super::{Suite, ag_ui_server::Server};
use crate::{
    bindings::python,
    context::Context,
    log::Log,
    process,
    tools::{mock_llm, npm, venv::Venv},
};
use anyhow::{Context as _, ensure};
use std::{env, fs, path::Path, process::Stdio};

pub(super) const SUITE: Suite = Suite {
    name: "ai-sdk",
    about: "the AI SDK's transport, reader and chats, of versions 6 and 7, against `stepwell serve`, an axum app and an ASGI app",
    run,
};

/// The suite's closing line.
const PASSED: &str = "chats passed";

/// The versions of the SDK.
const VERSIONS: [&str; 2] = ["6", "7"];

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let project = context.root.join("tests/ai-sdk");
    npm::ensure(log, &project)?;
    let program = context.program(log, "stepwell")?;
    for version in VERSIONS {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--max-runs", "16"];
        let server = Server::of(process::command(&program).args(serve))?;
        play(log, &project, &server, ["serve", version])?;
    }
    let scenes = fs::read_to_string(context.root.join("host/src/serve/scenes.json"))?;
    let scenes: serde_json::Value = serde_json::from_str(&scenes).context("scenes.json")?;
    let model = mock_llm::start(context, log, Some(&scenes.to_string()))?;
    let app = context.program(log, "serve")?;
    let app = Server::of(process::command(app).args(["127.0.0.1:0", model.base_url()]))?;
    for version in VERSIONS {
        play(log, &project, &app, ["axum", version])?;
    }
    let venv = Venv::ensure(
        context,
        log,
        "venv-ai-sdk",
        &project.join("requirements.txt"),
    )?;
    let _sources = python::SOURCES.lock();
    python::generate(context, log)?;
    let sources = ["bindings/python/src", "tests/ag-ui-backend"].map(|it| context.root.join(it));
    let mut app = venv.python();
    app.arg(project.join("asgi_app.py"))
        .arg(context.root.join("examples/python/serve.py"))
        .env("PYTHONPATH", env::join_paths(sources)?)
        .env("MODEL_URL", model.base_url())
        // It ends with its standard input.
        .stdin(Stdio::piped());
    let app = Server::of(&mut app)?;
    for version in VERSIONS {
        play(log, &project, &app, ["asgi", version])?;
    }
    Ok(())
}

/// Plays the chats of a version of the SDK with a server.
fn play(log: &mut Log, project: &Path, server: &Server, what: [&str; 2]) -> anyhow::Result<()> {
    let mut chats = process::command("node");
    chats.args(["chats.mjs", &server.url]).args(what);
    let played = log.output(chats.current_dir(project))?;
    let said = String::from_utf8_lossy(&played.stdout);
    for line in said.lines() {
        log.say(line)?;
    }
    let is_whole = said.lines().last();
    let is_whole = is_whole.is_some_and(|line| line.ends_with(PASSED));
    ensure!(played.status.success() && is_whole, "a chat failed");
    Ok(())
}
