//! A log that is read late, or not at all.

use crate::server::*;
use crate::stream::*;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// A pipe holds some 64 KiB, and the program's queue 1,024 lines: these runs write more, some twelve lines each.
const RUNS: usize = 250;

#[tokio::test]
async fn a_standard_error_that_is_not_read_stops_no_run() {
    let mut server = Server::start_logged(&[], "trace", Stdio::piped());
    for run in 0..RUNS {
        let events = events(server.run(&asks(&format!("r{run}"), "hello")).await).await;
        assert_eq!(kinds(&events).last(), Some(&"RUN_FINISHED"), "{run}");
    }
    // Once the log is read it reports the lost lines, and continues.
    let stderr = server.stderr();
    let reading = tokio::task::spawn_blocking(move || {
        let lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let mut lines = lines.skip_while(|line| !line.contains("lines of the log were dropped"));
        lines.next()
    });
    for run in 0..20 {
        events(server.run(&asks(&format!("more{run}"), "hello")).await).await;
    }
    server.terminate();
    let said = reading.await.expect("it is read").expect("the count");
    assert!(said.contains("lines="), "{said}");
}
