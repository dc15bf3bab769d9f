use super::Suite;
use crate::{
    bindings,
    context::Context,
    log::Log,
    process,
    tools::{apt, mock_llm},
};

pub(super) const SUITE: Suite = Suite {
    name: "kotlin",
    about: "the bindings: generated, compiled and tested on the JVM",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    apt::ensure(log, &["java", "mvn"], &["default-jdk-headless", "maven"])?;
    bindings::kotlin::generate(context, log)?;
    let mut maven = process::command("mvn");
    maven
        .args(["--batch-mode", "--no-transfer-progress", "test"])
        .arg(format!(
            "-Dstepwell.library.directory={}",
            context.debug().display()
        ))
        .current_dir(context.root.join("bindings/kotlin"));
    let program = mock_llm::build(context, log)?;
    maven.env(mock_llm::VARIABLE, program);
    log.run(&mut maven)
}
