//! Whether a test does everything, or the share of it that a test run takes.

/// Whether `STEPWELL_THOROUGH` is set, as `cargo xtask prove proptests` does.
pub(crate) fn is_thorough() -> bool {
    std::env::var_os("STEPWELL_THOROUGH").is_some()
}
