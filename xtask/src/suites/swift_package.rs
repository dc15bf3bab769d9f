use super::Suite;
use crate::{
    bindings::swift,
    context::Context,
    log::Log,
    process,
    tools::{Unavailable, mock_llm},
};

pub(super) const SUITE: Suite = Suite {
    name: "swift-package",
    about: "the Swift package: compiled and tested by SwiftPM",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    if !process::exists("swiftc") {
        return Err(Unavailable("there is no swiftc here".to_owned()).into());
    }
    swift::generate(context, log)?;
    let mut swift = process::command("swift");
    swift
        .args(["test", "--scratch-path"])
        .arg(context.scratch().join("swift"))
        .args(["-Xlinker", &format!("-L{}", context.debug().display())])
        .env("LD_LIBRARY_PATH", context.debug())
        .env("DYLD_LIBRARY_PATH", context.debug())
        .current_dir(swift::package(context));
    let program = mock_llm::build(context, log)?;
    swift.env(mock_llm::VARIABLE, program);
    log.run(&mut swift)
}
