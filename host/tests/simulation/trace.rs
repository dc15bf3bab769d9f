//! What happened under a seed, to be read where it fails.

use std::fmt::Write;
use std::sync::Mutex;
use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Trace {
    begin: Instant,
    lines: Mutex<Vec<(u64, String)>>,
}

impl Trace {
    pub(super) fn new() -> Self {
        Self {
            begin: Instant::now(),
            lines: Mutex::default(),
        }
    }

    /// Milliseconds since the beginning, of the time that the simulation lets pass.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn note(&self, line: String) {
        let now = self.now();
        self.lines.lock().unwrap().push((now, line));
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (at, line) in &*self.lines.lock().unwrap() {
            let _ = writeln!(text, "{:>9.3}  {line}", *at as f64 / 1000.0);
        }
        text
    }
}
