//! How many cases a property is tried with.

use proptest::prelude::ProptestConfig;

/// `share` cases in a test run; `PROPTEST_CASES`, which `cargo xtask prove proptests` sets, instead of them.
pub(crate) fn cases(share: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig {
        cases: asked.and_then(|cases| cases.parse().ok()).unwrap_or(share),
        max_shrink_iters: 4_000,
        ..ProptestConfig::default()
    }
}
