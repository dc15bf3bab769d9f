//! README's moving picture: a turn on the page of `stepwell serve`, with the script of `docs/recording`.

use crate::{
    context::Context,
    log::Log,
    process::{self, Background},
    tools::{chromium, npm, venv::Venv},
};
use anyhow::{Context as _, ensure};
use std::fs;

/// What README's readers load.
const MOST_BYTES: u64 = 300_000;

/// Records it into `docs/recording/page.webp`.
pub(super) fn make(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let sources = context.root.join("docs/recording");
    npm::ensure(log, &context.root.join("host/page"))?;
    let chromium = chromium::ensure(log)?;
    log.build(
        process::cargo()
            .args(["build", "--package", "stepwell"])
            .current_dir(&context.root),
    )?;
    let mut serve = process::command(context.debug().join("stepwell"));
    serve
        .args(["serve", "--listen", "127.0.0.1:0", "--script"])
        .arg(sources.join("script.json"));
    let (_server, said) = Background::start(&mut serve, "web page at ")?;
    let address = said.split("web page at ").nth(1);
    let address = address.context("the server does not say where its page is")?;

    let pictures = context.scratch().join("recording");
    if pictures.exists() {
        fs::remove_dir_all(&pictures)?;
    }
    fs::create_dir_all(&pictures)?;
    log.run(
        process::command("node")
            .arg(sources.join("record.mjs"))
            .arg(address.trim())
            .arg(&pictures)
            .env("STEPWELL_CHROMIUM", chromium),
    )?;
    let requirements = sources.join("requirements.txt");
    let venv = Venv::ensure(context, log, "venv-recording", &requirements)?;
    let file = sources.join("page.webp");
    let mut assemble = venv.python();
    assemble.arg(sources.join("assemble.py")).arg(&pictures);
    let said = log.read(assemble.arg(&file))?;
    log.say(said.trim())?;
    let size = fs::metadata(&file)?.len();
    ensure!(
        size < MOST_BYTES,
        "it has {size} bytes, too many for a README"
    );
    Ok(())
}
