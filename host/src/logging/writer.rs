//! Writes the log in a thread of its own: a full pipe or a stopped terminal must not stop the server.

use std::io::{self, Write};
use std::sync::{Arc, OnceLock};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};

/// The most lines that wait to be written. What comes after them is dropped and counted.
const MAX_WAITING_LINES: usize = 1_024;

/// Starts the thread. What waits is written when the guard is dropped, if that takes no longer than a second.
pub(super) fn start() -> (NonBlocking, WorkerGuard) {
    let dropped = Arc::new(OnceLock::new());
    let stderr = Counting {
        inner: io::stderr(),
        dropped: Arc::clone(&dropped),
        reported: 0,
    };
    let (writer, guard) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(MAX_WAITING_LINES)
        .thread_name("log")
        .finish(stderr);
    // Nothing is written before the writer is handed on.
    let _ = dropped.set(writer.error_counter());
    (writer, guard)
}

/// Says how many lines are missing once lines can be written again.
struct Counting<W> {
    inner: W,
    dropped: Arc<OnceLock<ErrorCounter>>,
    reported: usize,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(line)?;
        let dropped = || self.dropped.get().map_or(0, ErrorCounter::dropped_lines);
        let lines = dropped();
        if lines > self.reported {
            // Through the queue, and so in the format of the log. It is all since the start: said twice it is still true.
            tracing::warn!(
                target: "stepwell",
                lines,
                "lines of the log were dropped since the start: standard error was not read"
            );
            // Else this line may be one of those that found no room, and the next one tries again.
            if dropped() == lines {
                self.reported = lines;
            }
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
