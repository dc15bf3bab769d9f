//! The commands of the pages where a user begins, in a fresh clone with an empty home.

use super::{Options, Proved};
use crate::{
    context::Context,
    log::Log,
    pages::{GETTING_STARTED, steps::Trial},
    process,
};
use anyhow::ensure;
use std::fs;

pub(super) fn run(context: &Context, log: &mut Log, options: &Options) -> Proved {
    // The committed files, and nothing that was built. Not within the repository: cargo would take the folder for a
    // part of it.
    let checkout = std::env::temp_dir().join(format!("stepwell-clone-{}", std::process::id()));
    log.run(
        process::command("git")
            .args(["clone", "--quiet"])
            .args([&context.root, &checkout]),
    )?;
    let only = options.only.as_deref().unwrap_or_default();
    let (mut done, mut failed) = (0, Vec::new());
    for page in GETTING_STARTED.iter().filter(|page| page.contains(only)) {
        match Trial::new(page, &checkout).run(context, log) {
            Ok(took) => {
                done += 1;
                log.say(&format!("{page}:\n{took}"))?;
            }
            Err(error) => failed.push(format!("{error:#}")),
        }
    }
    fs::remove_dir_all(checkout)?;
    ensure!(
        failed.is_empty(),
        "not as the page says: {}",
        failed.join("; ")
    );
    ensure!(done > 0, "no page has `{only}` in its path");
    Ok(())
}
