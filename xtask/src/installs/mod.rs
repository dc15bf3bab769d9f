//! Each package as a new user gets it: by the line of the documentation, from a registry on loopback that has what would be
//! published, in a home folder with nothing in it; and the first program run with it.

mod cargo;
mod maven;
mod npm;
mod pip;
mod registry;
mod swift;
mod trial;

use crate::{context::Context, log::Log, tools::Unavailable};
use anyhow::ensure;
use std::{
    fs,
    path::{Path, PathBuf},
};
use trial::{Times, Trial};

/// What the first programs' model says in the end.
const ANSWER: &str = "Alice's number is 42, Bob's is 7";

/// A way to get a package.
pub(crate) struct Install {
    pub(crate) name: &'static str,
    /// What the documentation says to do, and where.
    line: &'static str,
    page: &'static str,
    /// Makes what would be published.
    make: fn(&Context, &mut Log) -> anyhow::Result<PathBuf>,
    /// Does what the line says where the package is, and what else it takes until the first program has run.
    run: fn(&mut Trial<'_>, &Path) -> anyhow::Result<()>,
}

pub(crate) use cargo::{LIBRARY as CARGO, PROGRAM};
pub(crate) use maven::INSTALL as MAVEN;
pub(crate) use npm::INSTALL as NPM;
pub(crate) use pip::INSTALL as PIP;
pub(crate) use swift::INSTALL as SWIFT;

const ALL: &[Install] = &[CARGO, PROGRAM, PIP, NPM, MAVEN, SWIFT];

/// Makes every package, or only that of a name, and tries it. What is said ends with a table of what each took. One that
/// fails does not stop the next.
pub(crate) fn all(context: &Context, log: &mut Log, only: Option<&str>) -> anyhow::Result<String> {
    let wanted = |install: &&Install| only.is_none_or(|name| install.name == name);
    let mut table = vec![Times::HEADINGS.to_owned()];
    let mut failed = Vec::new();
    for install in ALL.iter().filter(wanted) {
        let tried =
            (install.make)(context, log).and_then(|package| times(context, log, install, &package));
        match tried {
            Ok(times) => table.push(times.row(install)),
            Err(error) => {
                if let Some(Unavailable(reason)) = error.downcast_ref() {
                    log.say(&format!("{} is left out: {reason}", install.name))?;
                } else {
                    log.write(&format!("error: {error:#}"))?;
                    failed.push(format!("{}: {error}", install.name));
                }
            }
        }
    }
    for row in &table {
        log.say(row)?;
    }
    ensure!(failed.is_empty(), "{}", failed.join("; "));
    ensure!(table.len() > 1, "nothing was installed");
    Ok(format!("{} first programs ran", table.len() - 1))
}

/// Tries a package that has been made, and says what that took.
pub(crate) fn one(
    context: &Context,
    log: &mut Log,
    install: &Install,
    package: &Path,
) -> anyhow::Result<()> {
    let times = times(context, log, install, package)?;
    log.say(Times::HEADINGS)?;
    log.say(&times.row(install))
}

fn times(
    context: &Context,
    log: &mut Log,
    install: &Install,
    package: &Path,
) -> anyhow::Result<Times> {
    let Install { line, page, .. } = install;
    let text = fs::read_to_string(context.root.join(page))?;
    ensure!(text.contains(line), "`{line}` does not stand in {page}");
    let mut trial = Trial::new(context, log, install)?;
    (install.run)(&mut trial, package)?;
    trial.end()
}
