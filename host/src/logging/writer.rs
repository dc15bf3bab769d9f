//! Writes the log in a thread of its own: a full pipe or a stopped terminal must not stop the server.

use std::io::{self, Write};
use std::sync::{Arc, OnceLock};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};

/// The maximum number of lines that wait to be written. Further lines are dropped and counted.
const MAX_WAITING_LINES: usize = 1_024;

/// Starts the thread. Dropping the guard writes the waiting lines, for at most a second.
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
    // Nothing is written before the writer is returned.
    let _ = dropped.set(writer.error_counter());
    (writer, guard)
}

/// Logs how many lines are missing once lines can be written again.
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
            // The line goes through the queue, and so has the format of the log. It counts all lost lines since the
            // start, and so is true if repeated.
            tracing::warn!(
                target: "stepwell",
                lines,
                "lines of the log were dropped since the start: standard error was not read"
            );
            // Otherwise this line may have been dropped too, and the next one tries again.
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
