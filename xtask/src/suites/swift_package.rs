use super::Suite;
use crate::{
    bindings::swift,
    context::Context,
    log::Log,
    tools::{mock_llm, swift::Swift},
};
use anyhow::ensure;
use std::{path::Path, process::Command};

pub(super) const SUITE: Suite = Suite {
    name: "swift-package",
    about: "the Swift package: the Swift package and the example's turn: compiled and tested; the first program run",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let swift = Swift::ensure(context, log)?;
    swift::generate(context, log)?;
    let program = mock_llm::build(context, log)?;
    log.run(
        package(
            context,
            &swift,
            "test",
            &swift::package(context),
            "swift-build",
        )
        .env(mock_llm::VARIABLE, program),
    )?;
    hello(context, log, &swift)?;
    let chat = context.root.join("examples/ios");
    log.run(&mut package(context, &swift, "test", &chat, "swift-chat"))?;
    // The app's own sources need Apple's frameworks: what is looked at here is their form.
    log.run(swift.program("swiftc", &chat).args(["-parse"]).args([
        "Sources/Chat/ChatApp.swift",
        "Sources/Chat/ChatView.swift",
        "Sources/ChatTurn/BackgroundTransport.swift",
    ]))
}

/// A command of SwiftPM, for a package that is linked with the library of the dev profile.
fn package(
    context: &Context,
    swift: &Swift,
    command: &str,
    folder: &Path,
    scratch: &str,
) -> Command {
    let mut program = swift.program("swift", folder);
    program
        .args([command, "--scratch-path"])
        .arg(context.scratch().join(scratch))
        .args(swift.flags())
        .args(["-Xlinker", &format!("-L{}", context.debug().display())])
        .env("LD_LIBRARY_PATH", context.debug())
        .env("DYLD_LIBRARY_PATH", context.debug())
        .env("STEPWELL_SYSTEM_LIBRARY", "1");
    program
}

/// A model whose provider does not take the key.
const WRONG_KEY: &str = r#"{"hops": [{"status": 401, "error": "Incorrect API key provided"}]}"#;

/// The first program asks the scripted model, and prints its answer, or that the key is wrong.
fn hello(context: &Context, log: &mut Log, swift: &Swift) -> anyhow::Result<()> {
    let folder = context.root.join("examples/swift/hello");
    log.run(&mut package(
        context,
        swift,
        "build",
        &folder,
        "swift-hello",
    ))?;
    let built = context.scratch().join("swift-hello/debug/Hello");
    let mut said = |script| {
        let model = mock_llm::start(context, log, script)?;
        let mut hello = swift.program(&built.to_string_lossy(), &folder);
        hello
            .arg(model.base_url())
            .env("OPENAI_API_KEY", "any")
            .env("LD_LIBRARY_PATH", context.debug())
            .env("DYLD_LIBRARY_PATH", context.debug());
        log.read(&mut hello)
    };
    for (script, end) in [
        (None, "Alice's number is 42, Bob's is 7\n"),
        (Some(WRONG_KEY), "; give another key\n\n"),
    ] {
        let said = said(script)?;
        ensure!(
            said.ends_with(end),
            "examples/swift/hello/Hello.swift said {said:?}"
        );
    }
    Ok(())
}
