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
        let text = std::fs::read_to_string(log.path())?;
        let tests: u64 = text.lines().filter_map(passed).sum();
        Ok(format!(
            "{tests} tests passed, the properties with {} cases each",
            options.cases
        ))
    },
};

/// How many tests passed, from cargo's `test result: ok. 12 passed; …`.
pub(super) fn passed(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("test result: ok. ")?;
    rest.split_once(" passed")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::passed;

    #[test]
    fn reads_what_passed() {
        assert_eq!(
            passed("test result: ok. 12 passed; 0 failed; 0 ignored"),
            Some(12)
        );
        assert_eq!(passed("test result: FAILED. 12 passed; 1 failed"), None);
        assert_eq!(passed("running 3 tests"), None);
    }
}
