//! The program, serving.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// One life of the program. Clones are the same.
#[derive(Clone)]
pub(crate) struct Host {
    child: Arc<Mutex<Child>>,
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: Arc<str>,
}

impl Host {
    /// Starts it; it has recovered what was left when it answers.
    pub(crate) async fn start(store: &str, model: &str, tools: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stepwell"));
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--store", store])
            .args(["--provider", "openai-compatible", "--model", "m"])
            .args(["--base-url", model, "--mcp-config", tools])
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
        }
    }

    /// Kills it at once.
    pub(crate) fn kill(&self) {
        self.child.lock().unwrap().kill().unwrap();
    }

    /// Waits until it is gone: nobody else but a kill ends it.
    pub(crate) fn wait(&self) {
        let ended = self.child.lock().unwrap().wait().unwrap();
        assert_eq!(ended.code(), None, "the host stopped by itself: {ended}");
    }
}
