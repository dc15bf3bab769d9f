//! The site: Sphinx makes it of the pages, and takes a link or an anchor that leads nowhere for an error.

use super::{check, recording, reference};
use crate::{context::Context, log::Log, tools::venv::Venv};
use anyhow::ensure;
use std::{fs, path::PathBuf};

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
