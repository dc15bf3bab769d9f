use super::Step;
use crate::tools::venv::Venv;
use anyhow::bail;
use std::fs;

pub(super) const STEP: Step = Step {
    name: "prices",
    about: "the core's table of prices beside the newest data of genai-prices",
    run: |context, log, _| {
        let folder = context.root.join("tests/prices");
        // The newest, not the version that the table was made from: what has changed since is what is looked for.
        let requirements = context.scratch().join("prices.txt");
        fs::write(&requirements, "genai-prices\n")?;
        let venv = match Venv::ensure(context, log, "venv-prices", &requirements) {
            Ok(venv) => venv,
            Err(error) => {
                log.say(&format!("genai-prices cannot be had: {error:#}"))?;
                return Ok(
                    "SKIPPED: genai-prices cannot be had, so no price was compared".to_owned(),
                );
            }
        };
        venv.install(context, log, |uv| uv.args(["--upgrade", "genai-prices"]))?;
        let table = context.root.join("core/src/provider/prices/table.rs");
        let output = venv
            .python()
            .arg(folder.join("prices.py"))
            .arg(table)
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        log.write(&said)?;
        let last = said.lines().last().unwrap_or_default().to_owned();
        if !output.status.success() {
            let differences = said.lines().count().saturating_sub(1);
            bail!(
                "{differences} prices differ ({last}); `tests/prices/prices.py TABLE --write` takes the new ones over"
            );
        }
        Ok(last)
    },
};
