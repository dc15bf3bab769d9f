//! Calls the core from the outside, so that the linker keeps it.

use stepwell_core::{CallKey, Timestamp};
use std::time::Duration;

/// Takes its input from the host, so that nothing can be computed at compile time.
#[unsafe(no_mangle)]
pub extern "C" fn check(now: u64, hop: u32, index: u32) -> u64 {
    let later = Timestamp(now).after(Duration::from_secs(1));
    let key = CallKey { hop, index }.to_string();
    later.0.wrapping_add(key.len() as u64)
}
