use super::Suite;
use crate::{bindings::swift, context::Context, log::Log, process};

pub(super) const SUITE: Suite = Suite {
    name: "swift",
    about: "the bindings: generated, their public names as listed, their C header sound; nothing is compiled as Swift",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    swift::generate(context, log)?;
    let package = swift::package(context);
    // Rust's own linker driver: it is there wherever Rust programs are built.
    log.run(
        process::command("cc")
            .args(["-std=c11", "-Wall", "-Werror", "-fsyntax-only", "-x", "c"])
            .arg(swift::header(&package)),
    )?;
    let count = swift::check_names(&package)?;
    log.say(&format!("{count} public names"))
}
