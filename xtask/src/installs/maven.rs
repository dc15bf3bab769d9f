//! The Maven package, from a repository that has ours and sends Maven to Central for all others.

use super::{
    Install,
    registry::{Registry, Share},
};
use crate::{packages::kotlin, pages::steps::Step, tools::mock_llm};
use anyhow::bail;
use std::{env, fs};

pub(crate) const INSTALL: Install = Install {
    name: "maven",
    line: "<artifactId>stepwell-kotlin</artifactId>",
    page: "docs/kotlin.md",
    make: kotlin::make,
    run: |trial, repository| {
        let model = mock_llm::start(trial.context, trial.log, None)?;
        let mut folders = vec![repository.to_owned()];
        // A run of the suites has most of the others already.
        if trial.context.in_suites {
            folders.extend(env::home_dir().map(|home| home.join(".m2/repository")));
        }
        let registry = Registry::start(
            0,
            vec![Share {
                begins: "/",
                folders,
                beyond: "https://repo.maven.apache.org/maven2/",
            }],
        )?;
        let settings = trial.home().join(".m2");
        fs::create_dir_all(&settings)?;
        fs::write(
            settings.join("settings.xml"),
            format!(
                "<settings><mirrors><mirror><id>here</id><mirrorOf>central</mirrorOf><url>{}</url></mirror></mirrors></settings>\n",
                registry.address()
            ),
        )?;
        // Maven finds its home by Java's, not by the variable.
        trial.set(
            "MAVEN_OPTS",
            format!("-Duser.home={}", trial.home().display()),
        );
        trial.set("OPENAI_API_KEY", "any");
        for step in trial.steps("maven")? {
            match &step {
                Step::File { name, text } => trial.write(name, &published(text))?,
                Step::Command(_) => {
                    let command = step.command().unwrap_or_default();
                    // What makes the package, and the model, are there.
                    if let Some(goals) = command.strip_prefix("mvn -q compile ") {
                        trial.build(&format!("mvn -q compile -Dkotlin.version={OLDEST}"))?;
                        trial.build("mvn -q compile")?;
                        let goals = goals.replace(ADDRESS, model.base_url());
                        return trial.run(&format!("mvn -q {goals}"));
                    }
                }
            }
        }
        bail!("the page runs no program")
    },
};

/// The oldest Kotlin that reads the package.
const OLDEST: &str = "2.1.21";

/// The page's scripted model.
const ADDRESS: &str = "http://127.0.0.1:4000/v1";

/// The project as it is once the package is published: the page's folder as a repository goes.
fn published(file: &str) -> String {
    let (start, end) = ("<repositories>", "</repositories>");
    match (file.split_once(start), file.split_once(end)) {
        (Some((before, _)), Some((_, after))) => format!("{before}{after}"),
        _ => file.to_owned(),
    }
}
