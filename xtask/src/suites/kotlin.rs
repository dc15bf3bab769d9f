use super::Suite;
use crate::{
    bindings, context::Context, installs, log::Log, packages::kotlin as package, process,
    tools::mock_llm,
};
use anyhow::{Context as _, ensure};
use std::{env, fs, path::Path};

pub(super) const SUITE: Suite = Suite {
    name: "kotlin",
    about: "the bindings: generated, compiled and tested on the JVM, packed, and used as a user does",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    package::ensure_tools(log)?;
    let sources = bindings::kotlin::SOURCES.lock();
    bindings::kotlin::generate(context, log)?;
    let program = mock_llm::build(context, log)?;
    let library = context.debug().join(format!(
        "{}stepwell_ffi{}",
        env::consts::DLL_PREFIX,
        env::consts::DLL_SUFFIX
    ));
    let repository = package::deploy(context, log, &library, |maven| {
        maven
            .arg(format!(
                "-Dstepwell.library.directory={}",
                context.debug().display()
            ))
            .env(mock_llm::VARIABLE, &program);
    })?;
    context.made.kotlin_classes.get(|| Ok(()))?;
    drop(sources);
    what_is_published(context, log, &repository)?;
    // The benchmark takes the package, as its page says.
    log.build(
        process::command("mvn")
            .args(["--batch-mode", "--no-transfer-progress", "-q", "compile"])
            .arg(format!("-Dpackages=file://{}", repository.display()))
            .arg(format!("-Dstepwell.version={}", context.version()?))
            .arg("-f")
            .arg(context.root.join("bindings/kotlin/bench/pom.xml")),
    )?;
    installs::one(context, log, &installs::MAVEN, &repository)
}

/// Looks into what was made.
fn what_is_published(context: &Context, log: &mut Log, repository: &Path) -> anyhow::Result<()> {
    let version = context.version()?;
    let folder = repository
        .join("dev/stepwell/stepwell-kotlin")
        .join(&version);
    let file = |end: &str| folder.join(format!("stepwell-kotlin-{version}{end}"));
    let library = format!(
        "{}stepwell_ffi{}",
        env::consts::DLL_PREFIX,
        env::consts::DLL_SUFFIX
    );
    for (end, wanted) in [
        (
            ".jar",
            &[
                library.as_str(),
                "META-INF/LICENSE-MIT",
                "dev/stepwell/Agent.class",
            ][..],
        ),
        (
            "-sources.jar",
            &[
                "dev/stepwell/AgentBuilder.kt",
                "dev/stepwell/stepwell_ffi.kt",
            ],
        ),
    ] {
        let listed = log.read(process::command("jar").arg("tf").arg(file(end)))?;
        for name in wanted {
            ensure!(
                listed.lines().any(|line| line.ends_with(name)),
                "there is no {name} in {}",
                file(end).display()
            );
        }
    }
    let pom = fs::read_to_string(file(".pom")).context("no POM was published")?;
    for wanted in ["<name>MIT</name>", "<artifactId>jna</artifactId>", "<scm>"] {
        ensure!(
            pom.contains(wanted),
            "there is no {wanted} in the published POM"
        );
    }
    Ok(())
}
