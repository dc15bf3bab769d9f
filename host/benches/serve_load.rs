//! Measures what many concurrent runs cost the server itself, which `stepwell load` cannot see from outside: the memory
//! of a run, and the time that an event waits in the server.
//!
//! `cargo bench -p stepwell --bench serve_load -- --runs 500 --words 200 --speaks 10`
//!
//! Server, clients and model share the processors of one machine.

use clap::Parser;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How much is asked of the server.
#[derive(Clone, Copy, Debug, Parser)]
struct Load {
    /// Runs at once.
    #[arg(long, default_value_t = 500)]
    runs: usize,
    /// Words a second that the model says in each.
    #[arg(long, default_value_t = 200)]
    words: u32,
    /// How long it speaks, in seconds.
    #[arg(long, default_value_t = 10)]
    speaks: u32,
    /// The port of the model.
    #[arg(long, default_value_t = 24_999)]
    model_port: u16,
    /// cargo says so of itself.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let load = Load::parse();
    let server = Server::start(load);
    // One run first: what the server needs once belongs to no run.
    let one = Load {
        runs: 1,
        speaks: 1,
        ..load
    };
    assert!(server.load(one, Stdio::null()), "the first run ends");
    let before = server.resident();
    let is_over = Arc::new(AtomicBool::new(false));
    let highest = {
        let (process, is_over) = (server.child.id(), Arc::clone(&is_over));
        thread::spawn(move || highest(process, &is_over))
    };
    let is_done = server.load(load, Stdio::inherit());
    is_over.store(true, Ordering::Relaxed);
    let highest = highest.join().expect("the memory is watched");
    assert!(is_done, "the runs end");
    let per_run = highest.saturating_sub(before) / load.runs;
    println!("memory         {per_run} KiB a run ({before} KiB before, {highest} KiB at most)");
}

/// The program as a server. It ends when this is dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(load: Load) -> Self {
        let runs = load.runs.max(1).to_string();
        let model = format!("http://127.0.0.1:{}/v1", load.model_port);
        let mut child = Command::new(env!("CARGO_BIN_EXE_stepwell"))
            .args(["serve", "--listen", "127.0.0.1:0", "--max-runs", &runs])
            .args(["--provider", "openai-compatible", "--model", "time"])
            .args(["--base-url", &model])
            .env_remove("STEPWELL_SERVE_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let url = line.split_whitespace().last().unwrap_or_default();
        let url = url.to_owned();
        Self { child, url }
    }

    /// Has one turn of each run; whether all was well.
    fn load(&self, load: Load, out: Stdio) -> bool {
        let runs = load.runs.to_string();
        let status = Command::new(env!("CARGO_BIN_EXE_stepwell"))
            .args(["load", &self.url, "--runs", &runs, "--turns", &runs])
            .args(["--model", &format!("127.0.0.1:{}", load.model_port)])
            .args(["--words", &load.words.to_string()])
            .args(["--speaks", &load.speaks.to_string()])
            .env_remove("STEPWELL_SERVE_TOKEN")
            .stdout(out)
            .status();
        status.expect("the program runs").success()
    }

    fn resident(&self) -> usize {
        resident(self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a process's memory in KiB; 0 except on Linux.
fn resident(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn highest(process: u32, is_over: &AtomicBool) -> usize {
    let mut highest = 0;
    while !is_over.load(Ordering::Relaxed) {
        highest = highest.max(resident(process));
        thread::sleep(Duration::from_millis(200));
    }
    highest
}
