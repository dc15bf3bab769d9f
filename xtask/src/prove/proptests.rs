use super::Step;
use crate::process;

pub(super) const STEP: Step = Step {
    name: "proptests",
    about: "every crate's property tests with --cases cases each, and every history for every provider, in release with the debug assertions on",
    run: |context, log, options| {
        log.run_unbounded(
            process::cargo()
                .args(["test", "--release", "--workspace"])
                .args(["--exclude", "xtask", "--lib", "--tests"])
                .current_dir(&context.root)
                .env("PROPTEST_CASES", options.cases.to_string())
                // I13, which takes a share of them in a test run.
                .env("STEPWELL_ALL_HISTORIES", "1")
                .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
                // Kept apart, so that a release build made for use is not one with assertions.
                .env("CARGO_TARGET_DIR", context.target.join("prove")),
        )?;
        let tests = log.tests_passed()?;
        Ok(format!(
            "{tests} tests passed, the properties with {} cases each",
            options.cases
        ))
    },
};
