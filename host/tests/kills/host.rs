//! The program, serving.

use crate::wire::Provider;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// What a host is started with.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) store: String,
    pub(crate) model: String,
    /// A file with the server of the tools.
    pub(crate) tools: String,
    /// The flags of each place's own.
    pub(crate) flags: Vec<Vec<String>>,
}

/// One life of the program. Clones are the same.
#[derive(Clone)]
pub(crate) struct Host {
    child: Arc<Mutex<Child>>,
    is_killed: Arc<AtomicBool>,
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: Arc<str>,
}

impl Host {
    /// Starts it at its place before this provider; it has recovered what was left when it answers.
    pub(crate) async fn start(setup: &Setup, place: usize, provider: Provider) -> Self {
        let provider = match provider {
            Provider::Chat => "openai-compatible",
            Provider::Messages => "anthropic",
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_stepwell"));
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--store", &setup.store])
            .args(["--provider", provider, "--model", "m"])
            .args(["--base-url", &setup.model, "--mcp-config", &setup.tools])
            .args(["--ask-before", "effects__ask"])
            .args(&setup.flags[place])
            // A turn whose host died between its end and the telling of it is told when its log is silent.
            .args(["--keep-alive", "1"])
            .env("XDG_CONFIG_HOME", env!("CARGO_TARGET_TMPDIR"));
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("STEPWELL_") || text.to_ascii_lowercase().ends_with("_proxy") {
                command.env_remove(&name);
            }
        }
        let mut child = command
            .env("ANTHROPIC_API_KEY", "key")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
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
            url: url.into(),
            child: Arc::new(Mutex::new(child)),
            is_killed: Arc::default(),
        }
    }

    /// Kills it at once.
    pub(crate) fn kill(&self) {
        self.is_killed.store(true, Ordering::SeqCst);
        self.child.lock().unwrap().kill().unwrap();
    }

    /// Waits until it is gone: nobody else but a kill ends it.
    pub(crate) fn wait(&self) {
        let ended = self.child.lock().unwrap().wait().unwrap();
        assert_eq!(ended.code(), None, "the host stopped by itself: {ended}");
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::SeqCst)
    }
}

/// The hosts on one store, each at its place. Clones are the same.
#[derive(Clone)]
pub(crate) struct Hosts(Arc<watch::Sender<Vec<Host>>>);

impl Hosts {
    pub(crate) fn new(hosts: Vec<Host>) -> Self {
        Self(Arc::new(watch::Sender::new(hosts)))
    }

    pub(crate) fn at(&self, place: usize) -> Host {
        self.0.borrow()[place].clone()
    }

    /// The place has another host.
    pub(crate) fn put(&self, place: usize, host: Host) {
        self.0.send_modify(|hosts| hosts[place] = host);
    }

    pub(crate) fn up(&self) -> Vec<Host> {
        let hosts = self.0.borrow();
        let up = hosts.iter().filter(|host| !host.is_killed());
        up.cloned().collect()
    }

    /// One that is up, as soon as there is one.
    pub(crate) async fn any(&self, number: u64) -> Host {
        let mut changes = self.0.subscribe();
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
