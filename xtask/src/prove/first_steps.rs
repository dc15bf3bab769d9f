use super::Step;
use crate::{
    pages::{
        self, GETTING_STARTED,
        steps::{self, Place},
    },
    process,
};
use anyhow::{Context as _, bail, ensure};
use std::{fs, path::Path, time::Duration};

pub(super) const STEP: Step = Step {
    name: "first-steps",
    about: "the commands of README and of each page where a user begins, in a fresh clone, with an empty home: what each took",
    run: |context, log, options| {
        // Not within the repository: cargo would take a new project for a part of it.
        let scratch = Place::outside("all")?;
        let checkout = scratch.join("checkout");
        // What is committed, and nothing that was built.
        log.run(
            process::command("git")
                .args(["clone", "--quiet"])
                .arg(&context.root)
                .arg(&checkout),
        )?;
        let only = options.only.as_deref().unwrap_or_default();
        let (mut said, mut failed) = (Vec::new(), Vec::new());
        for path in GETTING_STARTED.iter().filter(|path| path.contains(only)) {
            let page = pages::read(context, Path::new(path))?;
            let mut place = Place::new(&scratch.join("place"), &checkout)?;
            let (mut count, mut whole) = (0, Duration::ZERO);
            for step in steps::of_page(&page, &[]) {
                match place.take(log, &step).context(*path) {
                    Ok(Some(done)) => {
                        count += 1;
                        whole += done.took;
                        let seconds = done.took.as_secs_f64();
                        log.say(&format!("{path}: {seconds:8.1} s  {}", done.command))?;
                    }
                    Ok(None) => {}
                    Err(error) => {
                        log.say(&format!("{error:#}"))?;
                        failed.push(*path);
                        break;
                    }
                }
            }
            said.push(format!(
                "{path}: {count} commands, {:.0} s",
                whole.as_secs_f64()
            ));
        }
        ensure!(!said.is_empty(), "no page has `{only}` in its path");
        if !failed.is_empty() {
            bail!(
                "not as the page says: {}; see {}",
                failed.join(", "),
                scratch.display()
            );
        }
        fs::remove_dir_all(scratch)?;
        Ok(said.join("; "))
    },
};
