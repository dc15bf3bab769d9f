use super::Suite;
use crate::{
    context::Context,
    log::Log,
    process,
    tools::{chromium, mock_llm, npm},
};
use anyhow::{Context as _, ensure};
use std::{fs, path::Path};

pub(super) const SUITE: Suite = Suite {
    name: "page",
    about: "the web page of `stepwell serve`: its types, its checked-in build, and Playwright with axe in Chromium",
    run,
};

/// The bytes that the page loaded at start before it had an inspector: they may grow by three tenths.
const START_BYTES: u64 = 169_348;

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let project = context.root.join("host/page");
    npm::ensure(log, &project)?;
    let node = |script: &str| {
        let mut node = npm::script(&project, script);
        node.env("NO_COLOR", "1");
        node
    };
    for types in [".", "tests"] {
        log.run(node("node_modules/typescript/bin/tsc").args(["-p", types]))?;
    }
    let output = context.emptied("page")?;
    let built = output.join("dist");
    log.run(node("build.mjs").arg(&built))?;
    let mut diff = process::command("diff");
    log.run(diff.arg("-rq").arg(project.join("dist")).arg(&built))
        .context("host/page/dist is not what its source makes: run `npm run build` in host/page")?;
    let start = start_bytes(&built)?;
    log.say(&format!("the page loads {start} bytes at start"))?;
    ensure!(
        start > 0 && start * 10 <= START_BYTES * 13,
        "it may be 1.3 times the {START_BYTES} that it had"
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

/// The bytes of the scripts and styles that the index names: what is loaded before anything is opened.
fn start_bytes(built: &Path) -> anyhow::Result<u64> {
    let index = fs::read_to_string(built.join("index.html"))?;
    let named = index
        .split('"')
        .filter_map(|text| text.strip_prefix("page/"));
    let files = named.map(|name| name.split('?').next().unwrap_or(name));
    let loaded = files.filter(|name| name.ends_with(".js") || name.ends_with(".css"));
    let sizes = loaded.map(|name| Ok(fs::metadata(built.join(name))?.len()));
    sizes.sum()
}
