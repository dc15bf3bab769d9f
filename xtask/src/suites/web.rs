use super::Suite;
use crate::{
    bindings,
    context::Context,
    installs,
    log::Log,
    packages::web,
    process,
    tools::{chromium, mock_llm, npm},
};
use anyhow::ensure;
use std::process::Command;

pub(super) const SUITE: Suite = Suite {
    name: "web",
    about: "the npm package: made, its types compared with the library and compiled, the scenario files under Node and in Chromium, and an app of it built by Vite, webpack and esbuild; installed by npm",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let tests = context.root.join("bindings/web/tests");
    npm::ensure(log, &tests)?;
    bindings::shapes::write(context, log, true)?;
    let package = web::make(context, log)?;
    let played = |log: &mut Log, command: &mut Command| -> anyhow::Result<()> {
        let output = log.output(command.current_dir(&tests))?;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            log.say(line)?;
        }
        ensure!(
            output.status.success(),
            "the package is not as it should be"
        );
        Ok(())
    };
    played(log, process::command("node").arg("node.mjs").arg(&package))?;
    let types = package.join("check.ts");
    let source = std::fs::read_to_string(tests.join("types.ts"))?;
    std::fs::write(&types, source.replace("../../../target/package/web/", "./"))?;
    let checked = log.run(
        process::command("node")
            .arg("node_modules/typescript/bin/tsc")
            .args([
                "--strict", "--noEmit", "--target", "es2022", "--module", "es2022",
            ])
            .args([
                "--moduleResolution",
                "bundler",
                "--lib",
                "es2022,esnext.disposable,dom,dom.iterable",
            ])
            .arg(&types)
            .current_dir(&tests),
    );
    std::fs::remove_file(&types)?;
    checked?;
    let browser = chromium::ensure(log)?;
    played(
        log,
        process::command("node")
            .arg("browser.mjs")
            .arg(&package)
            .arg(&browser),
    )?;
    let model = mock_llm::start(context, log, None)?;
    played(
        log,
        process::command("node")
            .arg("bundlers.mjs")
            .arg(&package)
            .arg(context.scratch().join("web-bundled"))
            .arg(&browser)
            .arg(model.base_url()),
    )?;
    installs::one(context, log, &installs::NPM, &package)
}
