use super::Suite;
use crate::{bindings, context::Context, log::Log, process, tools::venv::Venv};
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};

pub(super) const SUITE: Suite = Suite {
    name: "flutter",
    about: "the Dart sources pass a checker of ours, are up to date, and send what is known to the library; no Dart is compiled",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let plugin = context.root.join("bindings/flutter");
    let venv = Venv::ensure(
        context,
        log,
        "venv-flutter",
        &plugin.join("tool/requirements.txt"),
    )?;
    context.build(log)?;
    bindings::shapes::write(context, log, true)?;
    // A C compiler reads the header as the library has it.
    log.run(
        process::command("cc")
            .args(["-std=c11", "-Wall", "-Werror", "-fsyntax-only", "-x", "c"])
            .arg(context.root.join("bindings/c/include/stepwell.h")),
    )?;
    // The checker finds what it should, before it is asked.
    log.run(venv.python().arg(plugin.join("tool/dart_rules_test.py")))?;
    let library = format!("{DLL_PREFIX}stepwell_c{DLL_SUFFIX}");
    let said = log.read(
        venv.python()
            .arg(plugin.join("tool/check.py"))
            .arg(context.debug().join(library))
            .arg(&plugin)
            .arg(context.root.join("examples/flutter")),
    )?;
    log.say(said.trim())
}
