use super::Suite;
use crate::{bindings::swift, context::Context, log::Log, process};
use anyhow::ensure;

pub(super) const SUITE: Suite = Suite {
    name: "swift",
    about: "the bindings: generated, their public names as listed, their C header sound; nothing is compiled as Swift",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    swift::generate(context, log)?;
    let package = swift::package(context);
    // `cc` is there wherever Rust programs are linked; where it is gcc, it lacks clang's nullability.
    log.run(
        process::command("cc")
            .args([
                "-std=c11",
                "-fsyntax-only",
                "-D_Nonnull=",
                "-D_Nullable=",
                "-x",
                "c",
            ])
            .arg(swift::header(&package)),
    )?;
    let count = swift::check_names(&package)?;
    ensure!(count > 0, "the library exports nothing");
    log.say(&format!("{count} public names"))
}
