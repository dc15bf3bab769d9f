//! The site: Sphinx makes it of the pages, and takes a link or an anchor that leads nowhere for an error.

use crate::{context::Context, log::Log, packages::copied, process, tools::venv::Venv};
use anyhow::Context as _;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// `cargo xtask docs`: the site with what draws its diagrams.
pub(crate) fn command(context: &Context) -> anyhow::Result<()> {
    let mut log = Log::create(&context.scratch(), "site")?;
    let made = build(context, &mut log).and_then(|site| {
        mermaid(context, &mut log, &site)?;
        Ok(site)
    });
    match &made {
        Ok(site) => println!("made {}", site.join("index.html").display()),
        Err(_) => eprintln!("{}", log.tail(60)?),
    }
    made.map(drop)
}

/// Builds the site in `target/site`, after a look at the code of its pages.
pub(crate) fn build(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let blocks = super::check(context)?;
    log.say(&format!("{blocks} blocks of code"))?;
    let docs = context.root.join("docs");
    let venv = Venv::ensure(context, log, "venv-docs", &docs.join("requirements.txt"))?;
    let site = context.target.join("site");
    if site.exists() {
        fs::remove_dir_all(&site)?;
    }
    let mut sphinx = venv.python();
    sphinx.args([
        "-m",
        "sphinx",
        "--fail-on-warning",
        "--fresh-env",
        "--quiet",
    ]);
    sphinx
        .arg("--doctree-dir")
        .arg(context.scratch().join("doctrees"));
    log.run(sphinx.arg(&docs).arg(&site))?;
    Ok(site)
}

/// Copies Mermaid from npm, of the version in `conf.py`: its module and the parts that it loads when it needs them.
fn mermaid(context: &Context, log: &mut Log, site: &Path) -> anyhow::Result<()> {
    let settings = fs::read_to_string(context.root.join("docs/conf.py"))?;
    let version = settings
        .lines()
        .find_map(|line| line.strip_prefix("mermaid_version = "));
    let version = version.context("docs/conf.py does not say which mermaid")?;
    let folder = context.scratch().join("mermaid");
    fs::create_dir_all(&folder)?;
    let package = format!("mermaid@{}", version.trim_matches('"'));
    log.run(
        process::command("npm")
            .args(["install", "--prefix"])
            .arg(&folder)
            .arg(package),
    )?;
    let from = folder.join("node_modules/mermaid/dist");
    for part in ["mermaid.esm.min.mjs", "chunks/mermaid.esm.min"] {
        copied(&from.join(part), &site.join("_static/mermaid").join(part))?;
    }
    // Maps to sources that are not there are half of it.
    for file in super::files_below(&site.join("_static/mermaid"))? {
        if file.extension().is_some_and(|end| end == "map") {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}
