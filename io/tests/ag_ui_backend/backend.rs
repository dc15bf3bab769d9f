//! The backends' processes, one each for all tests.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use stepwell_io::{Agent, AgentBuilder, provider};

/// The Python that has the backends' packages.
const PYTHON: &str = "STEPWELL_AG_UI_PYTHON";

/// The backends that were started, and their addresses. Each ends when its standard input does, with these tests.
static STARTED: Mutex<BTreeMap<&str, (Child, String)>> = Mutex::new(BTreeMap::new());

pub(crate) struct Backend {
    pub(crate) url: String,
}

impl Backend {
    /// The backend of this name, started if it is not.
    pub(crate) fn of(name: &'static str) -> Self {
        let mut started = STARTED.lock().unwrap_or_else(|lock| lock.into_inner());
        let (_, url) = started.entry(name).or_insert_with(|| start(name));
        Self { url: url.clone() }
    }

    pub(crate) fn agent(&self) -> AgentBuilder {
        let provider = provider::find("ag-ui").expect("it is in the table");
        let url = format!("{}/", self.url);
        let endpoint = provider.endpoint(None, "", Some(&url), None);
        Agent::builder(endpoint.expect("an address is all it needs"))
    }
}

fn start(name: &str) -> (Child, String) {
    let python = std::env::var(PYTHON).expect("the suite names the Python");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/ag-ui-backend");
    let mut process = Command::new(python)
        .arg(format!("{folder}/{name}_backend.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the backend starts");
    let stdout = process.stdout.take().expect("a pipe");
    let mut url = String::new();
    let read = BufReader::new(stdout).read_line(&mut url);
    read.expect("it tells its address");
    (process, url.trim().to_owned())
}
