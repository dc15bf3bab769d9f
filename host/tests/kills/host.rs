//! The program, serving.

use crate::client::STUCK;
use crate::program::without_settings;
use crate::wire::Provider;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// The number of starts after which a host counts as one that never comes up.
const STARTS: usize = 20;

/// The settings with which a host is started.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// The program, as this build has it or an earlier one.
    pub(crate) program: PathBuf,
    pub(crate) model: String,
    /// A file with the server of the tools.
    pub(crate) tools: String,
    /// The file that the hosts' logs go to.
    pub(crate) log: PathBuf,
    /// The flags of each place's own.
    pub(crate) flags: Vec<Vec<String>>,
}

/// One process of the program. Clones are the same.
#[derive(Clone)]
pub(crate) struct Host {
    process: Arc<Process>,
    /// Whether the host was asked to end, or is killed.
    is_over: Arc<AtomicBool>,
    /// The name of its connections to PostgreSQL.
    pub(crate) name: Arc<str>,
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: Arc<str>,
}

/// A process that ends with the test.
struct Process(Mutex<Child>);

impl Drop for Process {
    fn drop(&mut self) {
        let child = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The process may have ended before.
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Host {
    /// Starts it at its place before this provider; it has recovered what was left when it answers. One that does not come
    /// up, since the store's answer is late on a busy machine, is started again, as a supervisor does.
    pub(crate) async fn start(
        setup: &Setup,
        place: usize,
        name: &str,
        store: &str,
        provider: Provider,
    ) -> Self {
        for _ in 0..STARTS {
            let host = Self::spawn(setup, place, name, store, provider).await;
            if host.comes_up().await {
                return host;
            }
        }
        panic!("the host does not come up: see {}", setup.log.display());
    }

    /// Returns whether the host answers, and has not ended.
    async fn comes_up(&self) -> bool {
        let client = reqwest::Client::new();
        let answers = async {
            let ready = format!("{}/ready", self.url);
            client.get(ready).send().await.is_ok()
        };
        tokio::select! {
            answers = answers => answers,
            _ = self.ended() => false,
        }
    }

    /// Waits for the end of the process.
    async fn ended(&self) -> ExitStatus {
        loop {
            if let Some(ended) = self.child().try_wait().unwrap() {
                return ended;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn spawn(
        setup: &Setup,
        place: usize,
        name: &str,
        store: &str,
        provider: Provider,
    ) -> Self {
        let provider = match provider {
            Provider::Chat => "openai-compatible",
            Provider::Messages => "anthropic",
        };
        let mut command = Command::new(&setup.program);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--store", store])
            .args(["--provider", provider, "--model", "m"])
            .args(["--base-url", &setup.model, "--mcp-config", &setup.tools])
            .args(["--ask-before", "effects__ask"])
            .args(&setup.flags[place])
            // A host that dies between a turn's end and the report of it leaves a silent log: the end is reported then.
            .args(["--keep-alive", "1"])
            .args(["--grace", "1"]);
        without_settings(&mut command);
        let log = File::options().create(true).append(true).open(&setup.log);
        let mut child = command
            .env("ANTHROPIC_API_KEY", "key")
            .env("STEPWELL_LOG", "info")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.unwrap())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(stdout).read_line(&mut line).map(|_| line)
        });
        let line = line.await.unwrap().unwrap();
        let url = line
            .trim()
            .strip_prefix("AG-UI agent at ")
            .and_then(|url| url.strip_suffix("/agent"));
        let url = url.unwrap_or_else(|| panic!("the host says `{line}`"));
        Self {
            process: Arc::new(Process(Mutex::new(child))),
            is_over: Arc::default(),
            name: name.into(),
            url: url.into(),
        }
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.process.0.lock().unwrap()
    }

    /// Kills it at once.
    pub(crate) fn kill(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.child().kill().unwrap();
    }

    /// Tells it to stop.
    pub(crate) fn stop(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.signal("TERM");
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child().id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits until the process has ended: only a kill ends it.
    pub(crate) fn wait_until_killed(&self) {
        let ended = self.child().wait().unwrap();
        assert_eq!(ended.code(), None, "the host stopped by itself: {ended}");
    }

    /// Waits until the process has ended as it was asked to.
    pub(crate) async fn wait_until_stopped(&self) {
        let ended = tokio::time::timeout(STUCK, self.ended()).await;
        let ended = ended.unwrap_or_else(|_| panic!("the host `{}` does not stop", self.name));
        assert!(ended.success(), "the host did not stop well: {ended}");
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

/// The hosts on one store, each at its place. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Hosts {
    at: Arc<watch::Sender<Vec<Host>>>,
    lives: Arc<AtomicU32>,
}

impl Hosts {
    /// Returns the name of the place's next host.
    pub(crate) fn name(&self, place: usize) -> String {
        let life = self.lives.fetch_add(1, Ordering::SeqCst);
        format!("place-{place}-life-{life}")
    }

    /// Adds a place.
    pub(crate) fn push(&self, host: Host) {
        self.at.send_modify(|hosts| hosts.push(host));
    }

    pub(crate) fn at(&self, place: usize) -> Host {
        self.at.borrow()[place].clone()
    }

    /// The place has another host.
    pub(crate) fn put(&self, place: usize, host: Host) {
        self.at.send_modify(|hosts| hosts[place] = host);
    }

    pub(crate) fn up(&self) -> Vec<Host> {
        let hosts = self.at.borrow();
        let up = hosts.iter().filter(|host| !host.is_over());
        up.cloned().collect()
    }

    /// Returns a host that is up, as soon as there is one.
    pub(crate) async fn any(&self, number: u64) -> Host {
        let mut changes = self.at.subscribe();
        loop {
            let up = self.up();
            if !up.is_empty() {
                let at = usize::try_from(number % up.len() as u64).unwrap();
                return up[at].clone();
            }
            changes.changed().await.unwrap();
        }
    }
}
