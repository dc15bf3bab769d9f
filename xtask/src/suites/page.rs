use super::Suite;
use crate::{
    context::Context,
    log::Log,
    process,
    tools::{Unavailable, chromium, mock_llm, npm},
};
use anyhow::{Context as _, ensure};
use std::{collections::BTreeSet, fs, path::Path};

pub(super) const SUITE: Suite = Suite {
    name: "page",
    about: "the web page of `stepwell serve`: its types, its checked-in build, and Playwright with axe in Chromium",
    run,
};

/// What Playwright and the page's packages run on.
const OLDEST_NODE: u32 = 20;

/// What the page loads at start had so many bytes before it had an inspector: it may grow by three tenths.
const START_BYTES: u64 = 169_348;

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let project = context.root.join("host/page");
    npm::ensure(log, &project)?;
    check_node(log)?;
    let node = |script: &str| {
        let mut command = process::command("node");
        command
            .arg(project.join(script))
            .current_dir(&project)
            .env("NO_COLOR", "1");
        command
    };
    for types in [".", "tests"] {
        log.run(node("node_modules/typescript/bin/tsc").args(["-p", types]))?;
    }

    let output = context.scratch().join("page");
    if output.exists() {
        fs::remove_dir_all(&output)?;
    }
    let built = output.join("dist");
    log.run(node("build.mjs").arg(&built))?;
    check_build(&project.join("dist"), &built)?;
    let start = start_bytes(&built)?;
    log.say(&format!("the page loads {start} bytes at start"))?;
    ensure!(
        start * 10 <= START_BYTES * 13,
        "the page loads {start} bytes at start, more than 1.3 times the {START_BYTES} that it had"
    );

    let chromium = chromium::ensure(log)?;
    let model = mock_llm::build(context, log)?;
    let program = context.program(log, "stepwell")?;
    log.run(
        node("node_modules/@playwright/test/cli.js")
            .arg("test")
            .env("STEPWELL_PROGRAM", program)
            .env(mock_llm::VARIABLE, model)
            .env("STEPWELL_CHROMIUM", chromium)
            .env("STEPWELL_PAGE_OUTPUT", &output),
    )?;
    let states = fs::read_to_string(output.join("states"));
    let states = states.context("no state of the page was looked at")?;
    log.say(&format!("{} states looked at", states.lines().count()))
}

fn check_node(log: &mut Log) -> anyhow::Result<()> {
    let version = log.read(process::command("node").arg("--version"))?;
    let version = version.trim();
    let major = version.trim_start_matches('v').split('.').next();
    let major: Option<u32> = major.and_then(|major| major.parse().ok());
    if major.is_some_and(|major| major >= OLDEST_NODE) {
        return Ok(());
    }
    let reason = format!("Node is {version}, and Playwright needs {OLDEST_NODE} or later");
    Err(Unavailable(reason).into())
}

/// The build that is checked in is that of the source.
fn check_build(known: &Path, built: &Path) -> anyhow::Result<()> {
    let (known_names, built_names) = (names(known)?, names(built)?);
    ensure!(
        known_names == built_names,
        "host/page/dist has {known_names:?}, and its source makes {built_names:?}: run `npm run build` in host/page"
    );
    for name in built_names {
        let read = |folder: &Path| {
            let path = folder.join(&name);
            fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        ensure!(
            read(known)? == read(built)?,
            "host/page/dist/{name} is not what its source makes: run `npm run build` in host/page"
        );
    }
    Ok(())
}

fn names(folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect()
}

/// The bytes of the scripts and styles that the index names: what is loaded before anything is opened.
fn start_bytes(built: &Path) -> anyhow::Result<u64> {
    let index = fs::read_to_string(built.join("index.html"))?;
    let named = index
        .split('"')
        .filter_map(|text| text.strip_prefix("page/"));
    let files = named.map(|name| name.split('?').next().unwrap_or(name));
    let mut bytes = 0;
    for name in files.filter(|name| name.ends_with(".js") || name.ends_with(".css")) {
        bytes += fs::metadata(built.join(name))?.len();
    }
    ensure!(bytes > 0, "the index of the page names no script");
    Ok(bytes)
}
