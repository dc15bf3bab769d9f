use super::Suite;
use crate::{
    bindings::{self, Language, swift},
    context::{Context, THOROUGH},
    log::Log,
    pages,
    tools::{
        first_contact, mock_llm,
        swift::{NEWEST, OLDEST, Swift},
    },
};
use anyhow::{Context as _, ensure};
use std::{
    env, fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

pub(super) const SUITE: Suite = Suite {
    name: "swift-package",
    about: "the Swift package: tested with one compiler, compiled with another; the example's turn tested, the first programs run",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let swift = Swift::ensure(context, log, OLDEST)?;
    bindings::generate(context, log, Language::Swift)?;
    test(context, log, &swift)?;
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
    if env::var_os(THOROUGH).is_some() {
        test(context, log, &newest)?;
    }
    isolation(context, log, &newest)
}

fn test(context: &Context, log: &mut Log, swift: &Swift) -> anyhow::Result<()> {
    let program = mock_llm::build(context, log)?;
    let mut tests = package(context, swift, "test", &swift::package(context));
    log.run_crash_prone(tests.env(mock_llm::VARIABLE, program))
}

/// The package compiles, and what its guide shows. A type that is decoded on its actor alone is refused as arguments, and as
/// an answer.
fn isolation(context: &Context, log: &mut Log, swift: &Swift) -> anyhow::Result<()> {
    let package = swift::package(context);
    let modules = context.emptied("swift-modules")?;
    let swiftc = |arguments: &[&str]| {
        let mut command = swift.program("swiftc", &package);
        command
            .args(["-swift-version", "6", "-I", "Sources/StepwellFFI", "-I"])
            .arg(&modules)
            .args(["-package-name", "stepwell"])
            .args(arguments);
        command
    };
    for name in [
        "StepwellBindings",
        "Stepwell",
        "StepwellMachine",
        "FoundationModelsStandIn",
        "StepwellFoundationModels",
    ] {
        let mut module = swiftc(&["-emit-module", "-wmo", "-module-name", name]);
        module
            .arg("-emit-module-path")
            .arg(modules.join(name).with_extension("swiftmodule"));
        let files = pages::files_below(&package.join("Sources").join(name))?;
        let is_swift = |file: &PathBuf| file.extension() == Some("swift".as_ref());
        module.args(files.into_iter().filter(is_swift));
        log.run(&mut module)?;
    }
    let isolated = "Tests/Isolation/Isolated.swift";
    log.run(&mut swiftc(&[
        "-typecheck",
        isolated,
        "Tests/StepwellTests/Guide.swift",
        "Tests/StepwellTests/FoundationModels/FoundationModelsGuide.swift",
    ]))?;
    let refused = |arguments: &[&str], parts: [&str; 3], count: usize, what: &str| {
        let output = swiftc(arguments).output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        let found = text.lines().filter(|line| {
            // The compiler shows each error a second time, below its line.
            !line.starts_with(' ') && parts.iter().all(|part| line.contains(part))
        });
        ensure!(
            !output.status.success() && found.count() == count,
            "{what} should be refused {count} times:\n{text}"
        );
        Ok(())
    };
    refused(
        &["-typecheck", "-default-isolation", "MainActor", isolated],
        ["Isolated.swift", "error:", "isolated"],
        2,
        "types that are isolated to the main actor",
    )?;
    refused(
        &["-typecheck", "Tests/Isolation/Wrong.swift"],
        ["Wrong.swift", "error:", ""],
        15,
        "wrong uses of the package",
    )
}

/// Checks that the code on the package's own page parses; the guide's code is among the tests.
fn page(context: &Context, log: &mut Log, swift: &Swift) -> anyhow::Result<()> {
    let page = fs::read_to_string(context.root.join("bindings/swift/README.md"))?;
    let blocks = page.split("```swift\n").skip(1);
    let shown = blocks.filter_map(|rest| rest.split("```").next());
    let source = shown.map(|block| format!("func shown() async throws {{\n{block}}}\n"));
    let file = scratch(context, swift).join("Shown.swift");
    fs::write(&file, source.collect::<String>())?;
    let mut swiftc = swift.program("swiftc", &context.root);
    log.run(swiftc.arg("-parse").arg(file))
}

/// Returns the folder where SwiftPM builds with one compiler: the package once for its own tests and for its
/// dependents.
fn scratch(context: &Context, swift: &Swift) -> PathBuf {
    context.scratch().join(swift.build_folder())
}

/// A command of SwiftPM, for a package that is linked with the library of the dev profile. Swift 6.0's SwiftPM now and
/// then aborts or ends by a memory fault of its own while it builds, so it may run twice.
pub(crate) fn package(context: &Context, swift: &Swift, command: &str, folder: &Path) -> Command {
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

const NUMBERS: &[&str] = &["Alice's number is 42, Bob's is 7\n"];
const SPANS: &[&str] = &[
    "chat gpt-4o-mini ",
    "execute_tool get_secret_number ",
    "invoke_agent ",
];

/// The first programs, the model's script (the secret numbers if there is none), and their output.
#[rustfmt::skip]
const PROGRAMS: [(&str, Option<&str>, &[&str]); 8] = [
    ("Hello", None, NUMBERS),
    ("Ask", None, NUMBERS),
    ("Traced", None, SPANS),
    ("Trip", Some(r#"{"steps": [{"text": "{\"city\":\"Bergen\",\"days\":3}"}]}"#), &["3 days in Bergen\n"]),
    ("Look", Some(r#"{"steps": [{"text": "A shark."}]}"#), &["A shark.\n"]),
    // The first key is refused.
    ("Tokens", Some(r#"{"status": 401, "error": "Expired"}, {"steps": [{"text": "Oslo."}]}"#), &["Oslo.\n"]),
    // The call is refused, with the reason.
    ("Guard", Some(r#"{"steps": [{"tool_call": {"name": "get_secret_number", "arguments": {"name": "bob"}}}]},
        {"steps": [{"text": "Alice's is 42."}]}"#), &["it tells the number"]),
    ("Budget", Some(r#"{"steps": [{"text": "Hi."}], "usage": {"input": 100, "output": 10}}"#),
        &["Hi. It cost $2.1e-05: complete\n"]),
];

/// A model that falls silent in the middle of its answer.
const STALLS: &str = r#"{"hops": [{"steps": [{"text": "Well"}, "stall"]}]}"#;

/// The first programs ask the scripted model, and print its answer, that of the guide as it comes, or what is wrong.
fn hello(context: &Context, log: &mut Log, swift: &Swift) -> anyhow::Result<()> {
    let folder = context.root.join("examples/swift/hello");
    log.run_crash_prone(&mut package(context, swift, "build", &folder))?;
    let built = scratch(context, swift).join("debug");
    let program = |name: &str, base_url: &str| {
        let mut program = swift.program(&built.join(name).to_string_lossy(), &folder);
        if name == "Look" {
            program.arg(context.root.join("host/page/src/icon.svg"));
        }
        program
            .arg(base_url)
            .env("OPENAI_API_KEY", "any")
            .env("LD_LIBRARY_PATH", context.debug())
            .env("DYLD_LIBRARY_PATH", context.debug())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        program
    };
    for (name, hops, printed) in PROGRAMS {
        let script = hops.map(|hops| format!("{{\"hops\": [{hops}]}}"));
        let model = mock_llm::start(context, log, script.as_deref())?;
        let output = program(name, model.base_url()).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let is_printed = printed.iter().all(|part| said.contains(part));
        ensure!(is_printed, "the first program {name}: {output:?}");
    }
    // Side by side: some of them pause before they try again.
    let contacts = first_contact::start(context, log)?;
    let running = contacts
        .iter()
        .map(|it| program("Hello", it.base_url()).spawn());
    let running: Vec<_> = running.collect::<io::Result<_>>()?;
    for (program, contact) in running.into_iter().zip(&contacts) {
        contact.check(&program.wait_with_output()?)?;
    }
    // The text is shown before the connection breaks.
    let model = mock_llm::start(context, log, Some(STALLS))?;
    let mut stalled = program("Hello", model.base_url()).spawn()?;
    let mut shown = [0; 4];
    let stdout = stalled.stdout.as_mut().context("no pipe to the program")?;
    stdout.read_exact(&mut shown)?;
    drop(model);
    let ended = stalled.wait()?;
    ensure!(shown == *b"Well" && !ended.success(), "Hello, cut: {ended}");
    Ok(())
}
