//! The site: Sphinx makes it of the pages, and takes a link or an anchor that leads nowhere for an error.

use super::{check, recording, reference};
use crate::{
    context::Context,
    faults::copy::files_below,
    log::Log,
    packages, process,
    tools::{apt, venv::Venv},
};
use anyhow::{Context as _, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// `cargo xtask docs`: the site, with the languages' references beside its pages, and after README's pictures are
/// made anew, if that is wanted.
pub(crate) fn command(
    context: &Context,
    with_reference: bool,
    records: bool,
) -> anyhow::Result<()> {
    let mut log = Log::create(&context.scratch(), "site")?;
    let recorded = if records {
        recording::make(context, &mut log)
    } else {
        Ok(())
    };
    let made = recorded.and_then(|()| build(context, &mut log));
    let made = made.and_then(|site| {
        mermaid(context, &mut log, &site)?;
        if with_reference {
            reference::build(context, &mut log, &site)?;
        }
        Ok(site)
    });
    match made {
        Ok(site) => {
            println!("made {}", site.join("index.html").display());
            Ok(())
        }
        Err(error) => {
            eprintln!("{}", log.tail(60)?);
            Err(error)
        }
    }
}

/// Builds the site in `target/site`, after looking at the code of its pages.
pub(crate) fn build(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let pages = super::all(context)?;
    let faults = check::faults(context, &pages)?;
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    let docs = context.root.join("docs");
    let venv = Venv::ensure(context, log, "venv-docs", &docs.join("requirements.txt"))?;
    let site = context.target.join("site");
    if site.exists() {
        fs::remove_dir_all(&site)?;
    }
    log.run(
        venv.python()
            .args(["-m", "sphinx", "--builder", "html", "--nitpicky"])
            .args(["--fail-on-warning", "--fresh-env", "--quiet"])
            .arg("--doctree-dir")
            .arg(context.scratch().join("doctrees"))
            .arg(&docs)
            .arg(&site),
    )?;
    let blocks: usize = pages.iter().map(|page| page.blocks.len()).sum();
    log.say(&format!(
        "{} pages with {blocks} blocks of code",
        pages.len()
    ))?;
    Ok(site)
}

/// What draws the diagrams, from npm: its module and the parts that it loads when it needs them.
fn mermaid(context: &Context, log: &mut Log, site: &Path) -> anyhow::Result<()> {
    apt::ensure(log, &["npm", "tar"], &["npm", "tar"])?;
    let settings = fs::read_to_string(context.root.join("docs/conf.py"))?;
    let version = settings.lines().find_map(|line| {
        let value = line.strip_prefix("mermaid_version = \"")?;
        value.strip_suffix('"')
    });
    let version = version.context("docs/conf.py does not say which mermaid")?;
    let folder = context.scratch().join("mermaid");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    log.set_up(
        process::command("npm")
            .args(["pack", "--silent", &format!("mermaid@{version}")])
            .current_dir(&folder),
    )?;
    log.set_up(
        process::command("tar")
            .args(["-xzf", &format!("mermaid-{version}.tgz"), "package/dist"])
            .current_dir(&folder),
    )?;
    let (from, to) = (
        folder.join("package/dist"),
        site.join("_static").join("mermaid"),
    );
    for part in ["mermaid.esm.min.mjs", "chunks/mermaid.esm.min"] {
        packages::copied(&from.join(part), &to.join(part))?;
    }
    // Maps to sources that are not there are half of it.
    for file in files_below(&to)? {
        if file.extension().is_some_and(|end| end == "map") {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}
