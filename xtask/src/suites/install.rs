use super::Suite;
use crate::{
    context::Context,
    log::Log,
    packages::crates::{self, CRATES},
    process,
};
use anyhow::{Context as _, ensure};
use cargo_metadata::MetadataCommand;
use std::{collections::BTreeSet, fs, path::Path};

pub(super) const SUITE: Suite = Suite {
    name: "install",
    about: "the crates are packed, with every file that the programs are compiled from; `prove installs` tries them as a user does",
    run,
};

/// The programs that are built from all crates. Cargo writes next to each from which files it is compiled.
const PROGRAMS: [&str; 3] = ["stepwell", "stepwell-demo", "mock-llm"];

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    crates::pack(context, log, &["--no-verify"])?;
    let mut workspace = MetadataCommand::new();
    workspace.manifest_path(context.root.join("Cargo.toml"));
    let workspace = workspace.no_deps().exec()?;
    let mut packed = BTreeSet::new();
    for name in CRATES {
        let mut packages = workspace.packages.iter();
        let package = packages.find(|package| package.name == name);
        let manifest = &package.context("there is no such crate")?.manifest_path;
        let folder = manifest.parent().context("it is in no folder")?;
        let mut list = process::cargo();
        list.args(["package", "--list", "--allow-dirty", "--package", name]);
        let files = log.read(list.current_dir(&context.root))?;
        packed.extend(files.lines().map(|file| folder.join(file).into_string()));
    }
    context.build(log)?;
    let mut count = 0;
    for program in PROGRAMS {
        let sources = fs::read_to_string(context.debug().join(program).with_extension("d"))?;
        let (_, sources) = sources.split_once(": ").context("it names no files")?;
        // The workspace's own manifest and settings are part of each crate's manifest, or of no crate.
        let own = ["Cargo.toml", "clippy.toml"].map(|name| context.root.join(name));
        for file in sources.split_whitespace() {
            let is_packed = packed.contains(file) || own.iter().any(|own| own == Path::new(file));
            ensure!(is_packed, "{file} is in no package");
            count += 1;
        }
    }
    log.say(&format!("{count} of {} files are compiled", packed.len()))
}
