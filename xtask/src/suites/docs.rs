use super::Suite;
use crate::{context::Context, linter::Compiled, log::Log};
use anyhow::bail;
use cargo_metadata::TargetKind;

pub(super) const SUITE: Suite = Suite {
    name: "docs",
    about: "the API documentation builds, warnings denied",
    run,
};

/// Every library and program, as `cargo doc --workspace --no-deps` has them, from what the one build has compiled.
fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    context.build(log)?;
    let mut failed = Vec::new();
    for package in &context.workspace.packages {
        let library = package
            .targets
            .iter()
            .find(|target| is_library(&target.kind));
        let programs = package.targets.iter().filter(|target| {
            // Of a library and a program of the same name cargo documents the library.
            target.is_bin() && library.is_none_or(|library| library.name != target.name)
        });
        for target in library.into_iter().chain(programs) {
            let compiled = Compiled::load(context, &target.name, target.is_bin())?;
            let mut rustdoc = compiled.rustdoc(context)?;
            if log.run(rustdoc.args(["-D", "warnings"])).is_err() {
                failed.push(target.name.clone());
            }
        }
    }
    if !failed.is_empty() {
        bail!("the documentation has faults: {}", failed.join(", "));
    }
    Ok(())
}

fn is_library(kinds: &[TargetKind]) -> bool {
    let library = [TargetKind::Lib, TargetKind::CDyLib, TargetKind::RLib];
    kinds.iter().any(|kind| library.contains(kind))
}
