//! The Maven package, from a repository that has ours and sends Maven to Central for all others.

use super::{
    Install,
    registry::{Registry, Share},
};
use crate::{packages::kotlin, tools::mock_llm};
use anyhow::Context as _;
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
        let page = fs::read_to_string(trial.context.root.join("docs/kotlin.md"))?;
        let dependency = page
            .split_once("```xml\n")
            .and_then(|(_, rest)| rest.split_once("```"))
            .context("docs/kotlin.md shows no dependency")?
            .0;
        trial.write(
            "pom.xml",
            &PROJECT.replace("<!-- dependency -->", dependency),
        )?;
        trial.paste("kotlin/Hello.kt", "src/main/kotlin/Hello.kt")?;
        // Maven finds its home by Java's, not by the variable.
        trial.set(
            "MAVEN_OPTS",
            format!("-Duser.home={}", trial.home().display()),
        );
        let maven = "mvn --batch-mode --no-transfer-progress --quiet";
        // It gets what it is to compile with.
        trial.build(&format!("{maven} compile"))?;
        trial.run(&format!(
            "{maven} exec:java -Dexec.args={}",
            model.base_url()
        ))
    },
};

/// A Kotlin project as a user has one.
const PROJECT: &str = include_str!("pom.xml");
