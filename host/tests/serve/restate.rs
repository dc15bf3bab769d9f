//! Restate's own server, from its program, and the way from it to the hosts, which the test cuts and turns.
#![cfg(feature = "restate")]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;

/// Where the tests find the program.
const PROGRAM: &str = "STEPWELL_RESTATE_SERVER";

/// Restate's server, with data of its own. It ends when this is dropped.
pub(crate) struct Restate {
    program: PathBuf,
    folder: PathBuf,
    child: Child,
    pub(crate) ingress: String,
    pub(crate) admin: String,
}

/// A port that nobody has, below those that a system gives out by itself: no connection takes it in between. Each is another.
/// Those below 28000 are for the tests of io and for xtask.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id() % 4_000;
    loop {
        let number = (first + u32::from(NEXT.fetch_add(1, Ordering::Relaxed))) % 4_000;
        let port = 28_000 + number as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Restate {
    /// Starts it; none if there is no program.
    pub(crate) async fn start(name: &str) -> Option<Self> {
        let Some(program) = std::env::var_os(PROGRAM) else {
            eprintln!("SKIPPED: set {PROGRAM} to Restate's program");
            return None;
        };
        let name = format!("restate-{name}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let [node, admin, ingress] = [free_port(), free_port(), free_port()];
        // Loopback alone, nothing is told to its makers, and a host that does not answer is soon given up.
        let config = format!(
            "node-name = \"one\"\ncluster-name = \"tests\"\nbase-dir = \"{}\"\nlisten-mode = \"tcp\"\n\
             bind-address = \"127.0.0.1:{node}\"\nadvertised-address = \"http://127.0.0.1:{node}\"\n\
             disable-telemetry = true\ndefault-num-partitions = 4\nrocksdb-total-memory-size = \"512 MiB\"\n\
             [admin]\nbind-address = \"127.0.0.1:{admin}\"\n[ingress]\nbind-address = \"127.0.0.1:{ingress}\"\n\
             [worker.invoker]\nhttp2-keep-alive-interval = \"1s\"\nhttp2-keep-alive-timeout = \"1s\"\n",
            folder.join("data").display()
        );
        std::fs::write(folder.join("restate.toml"), config).expect("a file");
        let program = PathBuf::from(program);
        let mut server = Self {
            child: spawn(&program, &folder),
            program,
            folder,
            ingress: format!("http://127.0.0.1:{ingress}"),
            admin: format!("http://127.0.0.1:{admin}"),
        };
        server.is_up().await;
        Some(server)
    }

    /// Waits until it answers.
    async fn is_up(&mut self) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::new();
        for url in [
            format!("{}/restate/health", self.ingress),
            format!("{}/health", self.admin),
        ] {
            let answers = || async {
                let answer = client.get(&url).send().await;
                answer.is_ok_and(|answer| answer.status().is_success())
            };
            while !answers().await {
                let ended = self.child.try_wait().expect("its status");
                assert!(ended.is_none(), "{ended:?}: see {}", self.folder.display());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }

    /// Waits until it knows a host.
    pub(crate) async fn knows_a_host(&self) {
        let url = format!("{}/services/StepwellThread", self.admin);
        while !reqwest::get(&url)
            .await
            .is_ok_and(|it| it.status().is_success())
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Kills it, and starts it again on what it had stored.
    pub(crate) async fn kill_and_start(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
        self.child = spawn(&self.program, &self.folder);
        self.is_up().await;
    }
}

fn spawn(program: &Path, folder: &Path) -> Child {
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"))
        .expect("a log");
    Command::new(program)
        .arg("--config-file")
        .arg(folder.join("restate.toml"))
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a log"))
        .stderr(log)
        .spawn()
        .expect("Restate starts")
}

impl Drop for Restate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Stands for what spreads Restate's calls over the hosts: a connection goes to one of them that takes it.
#[derive(Clone)]
pub(crate) struct Switch {
    pub(crate) url: String,
    /// The ports of the hosts that new connections go to, in turn.
    to: Arc<watch::Sender<Vec<u16>>>,
    /// The port of a host that nothing reaches any more, and that reaches nobody: neither is told.
    silent: Arc<watch::Sender<u16>>,
}

impl Switch {
    pub(crate) async fn to(ports: &[u16]) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let switch = Self {
            url,
            to: Arc::new(watch::Sender::new(ports.to_vec())),
            silent: Arc::default(),
        };
        let (to, silent) = (switch.to.subscribe(), switch.silent.subscribe());
        tokio::spawn(async move {
            let mut first = 0;
            while let Ok((from, _)) = listener.accept().await {
                first += 1;
                let mut ports = to.borrow().clone();
                let count = ports.len();
                ports.rotate_left(first % count);
                let mut taken = None;
                for port in ports {
                    let host = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
                    if let Ok(host) = host {
                        taken = Some((host, port));
                        break;
                    }
                }
                let Some((host, port)) = taken else { continue };
                for stream in [&from, &host] {
                    stream.set_nodelay(true).expect("a connection");
                }
                let (from_restate, to_restate) = from.into_split();
                let (from_host, to_host) = host.into_split();
                tokio::spawn(pump(from_restate, to_host, port, silent.clone()));
                tokio::spawn(pump(from_host, to_restate, port, silent.clone()));
            }
        });
        switch
    }

    /// New connections go to this host.
    pub(crate) fn turn_to(&self, port: u16) {
        self.to.send_replace(vec![port]);
    }

    /// Swallows what goes to this host, and what comes from it.
    pub(crate) fn swallow(&self, port: u16) {
        self.silent.send_replace(port);
    }

    /// Swallows nothing more. Connections of which something was swallowed end.
    pub(crate) fn mend(&self) {
        self.silent.send_replace(0);
    }
}

async fn pump(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    port: u16,
    mut silent: watch::Receiver<u16>,
) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if *silent.borrow() == port {
            break;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
    // The end is not told either.
    let swallows = async {
        let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = silent.wait_for(|silent| *silent != port) => {}
        () = swallows => {}
    }
}
