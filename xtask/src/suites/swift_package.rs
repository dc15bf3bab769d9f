use super::Suite;
use crate::{
    bindings::swift,
    context::Context,
    log::Log,
    tools::{
        first_contact, mock_llm,
        swift::{NEWEST, OLDEST, Swift},
    },
};
use anyhow::{Context as _, ensure};
use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

pub(super) const SUITE: Suite = Suite {
    name: "swift-package",
    about: "the Swift package: compiled and tested with two compilers; the example's turn tested, the first programs run",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let swift = Swift::ensure(context, log, OLDEST)?;
    swift::generate(context, log)?;
    let program = mock_llm::build(context, log)?;
    let test = |log: &mut Log, swift: &Swift| {
        log.run_crash_prone(
            package(context, swift, "test", &swift::package(context))
                .env(mock_llm::VARIABLE, &program),
        )
    };
    test(log, &swift)?;
    hello(context, log, &swift)?;
    let chat = context.root.join("examples/ios");
    let contacts = first_contact::start(context, log)?;
    log.run_crash_prone(
        package(context, &swift, "test", &chat)
            .env(first_contact::VARIABLE, first_contact::told(&contacts)),
    )?;
    drop(contacts);
    // The app's own sources need Apple's frameworks: what is looked at here is their form.
    log.run(swift.program("swiftc", &chat).args(["-parse"]).args([
        "Sources/Chat/ChatApp.swift",
        "Sources/Chat/ChatView.swift",
        "Sources/ChatTurn/BackgroundTransport.swift",
    ]))?;
    page(context, log, &swift)?;
    if let Swift::AtHand = swift {
        return Ok(());
    }
    let newest = Swift::ensure(context, log, NEWEST)?;
    let (major, minor) = newest.version()?;
    ensure!(
        (major, minor) >= (6, 2),
        "the newest Swift is {major}.{minor}: it should know isolated conformances"
    );
    test(log, &newest)?;
    isolation(context, log, &newest)
}

/// A type that is decoded on its actor alone is refused as arguments, and as an answer.
fn isolation(context: &Context, log: &mut Log, swift: &Swift) -> anyhow::Result<()> {
    let package = swift::package(context);
    let check = |arguments: &[&str]| {
        let mut command = swift.program("swiftc", &package);
        command
            .args(["-typecheck", "-swift-version", "6"])
            .args(arguments)
            .arg("-I")
            .arg(scratch(context, swift).join("debug/Modules"))
            .arg("-I")
            .arg(package.join("Sources/StepwellFFI"))
            .arg("Tests/Isolation/Isolated.swift");
        command
    };
    log.run(&mut check(&[]))?;
    let output = check(&["-default-isolation", "MainActor"]).output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let refused = text
        .lines()
        .filter(|line| line.contains("Isolated.swift") && line.contains("error:"));
    ensure!(
        !output.status.success() && refused.filter(|line| line.contains("isolated")).count() == 2,
        "types that are isolated to the main actor should be refused twice:\n{text}"
    );
    Ok(())
}

/// What the package's own page shows parses; what the guide shows is among the tests.
fn page(context: &Context, log: &mut Log, swift: &Swift) -> anyhow::Result<()> {
    let mut source = String::new();
    let page = fs::read_to_string(context.root.join("bindings/swift/README.md"))?;
    let blocks = page.split("```swift\n").skip(1);
    for block in blocks.filter_map(|rest| rest.split("```").next()) {
        source += &format!("func shown() async throws {{\n{block}}}\n");
    }
    let file = scratch(context, swift).join("Shown.swift");
    fs::write(&file, source)?;
    log.run(
        swift
            .program("swiftc", &context.root)
            .arg("-parse")
            .arg(file),
    )
}

/// Where SwiftPM builds with one compiler: the package once for its own tests and for what depends on it.
fn scratch(context: &Context, swift: &Swift) -> PathBuf {
    context.scratch().join(swift.build_folder())
}

/// A command of SwiftPM, for a package that is linked with the library of the dev profile. Swift 6.0's SwiftPM now and
/// then aborts or ends by a memory fault of its own while it builds, so it may run twice.
fn package(context: &Context, swift: &Swift, command: &str, folder: &Path) -> Command {
    let mut program = swift.program("swift", folder);
    program.arg(command);
    if command == "test" {
        // All at once they take each other's time, and some of what they do has a limit.
        program.arg("--no-parallel");
    }
    program
        .arg("--scratch-path")
        .arg(scratch(context, swift))
        .args(swift.flags())
        .args(["-Xlinker", &format!("-L{}", context.debug().display())])
        .env("LD_LIBRARY_PATH", context.debug())
        .env("DYLD_LIBRARY_PATH", context.debug())
        .env("STEPWELL_SYSTEM_LIBRARY", "1");
    program
}

/// A model that falls silent in the middle of its answer.
const STALLS: &str = r#"{"hops": [{"steps": [{"text": "Well"}, "stall"]}]}"#;

/// A model that refuses the first key.
const EXPIRED: &str =
    r#"{"hops": [{"status": 401, "error": "Expired"}, {"steps": [{"text": "Oslo."}]}]}"#;

/// A model that asks for a call that is refused, and tells what it should not.
const GUARDED: &str = r#"{"hops": [{"steps": [{"tool_call": {"name": "get_secret_number", "arguments": {"name": "bob"}}}]}, {"steps": [{"text": "Alice's is 42."}]}]}"#;

/// A model that is shown a picture.
const SEEN: &str = r#"{"hops": [{"steps": [{"text": "A shark."}]}]}"#;

/// A model that counts its tokens.
const PRICED: &str =
    r#"{"hops": [{"steps": [{"text": "Hi."}], "usage": {"input": 100, "output": 10}}]}"#;

/// The first programs ask the scripted model, and print its answer, that of the guide as it comes, or what is wrong.
fn hello(context: &Context, log: &mut Log, swift: &Swift) -> anyhow::Result<()> {
    let folder = context.root.join("examples/swift/hello");
    log.run_crash_prone(&mut package(context, swift, "build", &folder))?;
    let built = scratch(context, swift).join("debug");
    let start_with = |name: &str, arguments: &[&str]| {
        swift
            .program(&built.join(name).to_string_lossy(), &folder)
            .args(arguments)
            .env("OPENAI_API_KEY", "any")
            .env("LD_LIBRARY_PATH", context.debug())
            .env("DYLD_LIBRARY_PATH", context.debug())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    };
    let start_one = |name: &str, base_url: &str| start_with(name, &[base_url]);
    let start = |base_url: &str| start_one("Hello", base_url);
    let model = mock_llm::start(context, log, None)?;
    for name in ["Hello", "Ask"] {
        let output = start_one(name, model.base_url())?.wait_with_output()?;
        ensure!(
            output
                .stdout
                .ends_with(b"Alice's number is 42, Bob's is 7\n"),
            "the first program {name}: {output:?}"
        );
    }
    let trip = r#"{"hops":[{"steps":[{"text":"{\"city\":\"Bergen\",\"days\":3}"}]}]}"#;
    let model = mock_llm::start(context, log, Some(trip))?;
    let output = start_one("Trip", model.base_url())?.wait_with_output()?;
    ensure!(
        output.stdout == b"3 days in Bergen\n",
        "the typed answer: {output:?}"
    );
    let model = mock_llm::start(context, log, Some(SEEN))?;
    let picture = context.root.join("host/page/src/icon.svg");
    let output =
        start_with("Look", &[&picture.to_string_lossy(), model.base_url()])?.wait_with_output()?;
    ensure!(
        output.stdout == b"A shark.\n",
        "the question about a picture: {output:?}"
    );
    let model = mock_llm::start(context, log, Some(EXPIRED))?;
    let output = start_one("Tokens", model.base_url())?.wait_with_output()?;
    ensure!(
        output.stdout == b"Oslo.\n",
        "the program with a token: {output:?}"
    );
    let model = mock_llm::start(context, log, Some(GUARDED))?;
    let output = start_one("Guard", model.base_url())?.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(
        said.contains("it tells the number"),
        "the program with a guard: {output:?}"
    );
    let model = mock_llm::start(context, log, Some(PRICED))?;
    let output = start_one("Budget", model.base_url())?.wait_with_output()?;
    ensure!(
        output.stdout == b"Hi. It cost $2.1e-05: success\n",
        "the program with a budget: {output:?}"
    );
    let model = mock_llm::start(context, log, None)?;
    let output = start_one("Traced", model.base_url())?.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let spans = [
        "chat gpt-4o-mini ",
        "execute_tool get_secret_number ",
        "invoke_agent ",
    ];
    ensure!(
        spans
            .iter()
            .all(|span| said.lines().any(|line| line.starts_with(span))),
        "the program with traces: {output:?}"
    );
    // Side by side: some of them pause before they try again.
    let contacts = first_contact::start(context, log)?;
    let running: Vec<_> = contacts
        .iter()
        .map(|contact| start(contact.base_url()))
        .collect::<io::Result<_>>()?;
    for (program, contact) in running.into_iter().zip(&contacts) {
        contact.check(&program.wait_with_output()?)?;
    }
    // What was said is shown before the connection breaks.
    let model = mock_llm::start(context, log, Some(STALLS))?;
    let mut program = start(model.base_url())?;
    let mut stdout = program.stdout.take().context("no pipe to the program")?;
    let mut shown = [0; 4];
    stdout.read_exact(&mut shown)?;
    drop(model);
    let ended = program.wait()?;
    ensure!(
        shown == *b"Well" && !ended.success(),
        "examples/swift/hello/Hello.swift: {ended}"
    );
    Ok(())
}
