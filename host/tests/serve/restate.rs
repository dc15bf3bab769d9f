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

/// The variable with the program's path.
const PROGRAM: &str = "STEPWELL_RESTATE_SERVER";

/// Restate's servers, with data of their own. They end when this is dropped.
pub(crate) struct Restate {
    program: PathBuf,
    folder: PathBuf,
    nodes: Vec<Node>,
    pub(crate) ingress: String,
    pub(crate) admin: String,
}

/// One server of a cluster, which may have no other.
struct Node {
    /// With what it has stored.
    folder: PathBuf,
    child: Child,
    /// The ports for turns, and for the registration of hosts.
    ports: [u16; 2],
}

/// Returns a free port, below those that a system gives out by itself: no connection takes it in between. Each call
/// returns another port. Ports below 28000 are for the tests of io and for xtask.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Programs that begin together have numbers next to each other.
    let first = std::process::id() % 125 * 32;
    loop {
        let number = (first + u32::from(NEXT.fetch_add(1, Ordering::Relaxed))) % 4_000;
        let port = 28_000 + number as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Restate {
    /// Starts one; none if there is no program.
    pub(crate) async fn start(name: &str) -> Option<Self> {
        Self::start_nodes(name, 1).await
    }

    /// Starts this number of nodes as one cluster, which works while most of them live. It has no object store for
    /// snapshots: a node keeps its data.
    pub(crate) async fn start_nodes(name: &str, count: usize) -> Option<Self> {
        let Some(program) = std::env::var_os(PROGRAM).map(PathBuf::from) else {
            eprintln!("SKIPPED: set {PROGRAM} to Restate's program");
            return None;
        };
        for _ in 0..4 {
            match Self::start_once(&program, name, count).await {
                Ok(servers) => return Some(servers),
                // Another program may have taken one of its ports.
                Err(ended) => eprintln!("Restate ended as it began: {ended}"),
            }
        }
        panic!("Restate does not start")
    }

    /// Starts the nodes on ports that are free now.
    ///
    /// # Errors
    /// A node has ended: its last words.
    async fn start_once(program: &Path, name: &str, count: usize) -> Result<Self, String> {
        let name = format!("restate-{name}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        let addresses: Vec<_> = (0..count)
            .map(|_| format!("127.0.0.1:{}", free_port()))
            .collect();
        let mut nodes = Vec::new();
        for number in 0..count {
            let folder = folder.join(format!("node-{number}"));
            std::fs::create_dir_all(&folder).expect("a folder");
            let ports = [free_port(), free_port()];
            let config = config(&folder, number, &addresses, ports);
            std::fs::write(folder.join("restate.toml"), config).expect("a file");
            let child = spawn(program, &folder);
            nodes.push(Node {
                folder,
                child,
                ports,
            });
        }
        let mut urls = Vec::new();
        for which in 0..2 {
            let ports: Vec<_> = nodes.iter().map(|node| node.ports[which]).collect();
            urls.push(match ports[..] {
                [port] => format!("http://127.0.0.1:{port}"),
                _ => Switch::to(&ports).await.url,
            });
        }
        let [ingress, admin] = urls.try_into().expect("two");
        let mut servers = Self {
            program: program.to_owned(),
            folder,
            nodes,
            ingress,
            admin,
        };
        for node in 0..count {
            servers.is_up(node).await?;
        }
        Ok(servers)
    }

    /// Returns the number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Waits until a node answers.
    ///
    /// # Errors
    /// The node has ended.
    async fn is_up(&mut self, node: usize) -> Result<(), String> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::new();
        let node = &mut self.nodes[node];
        for url in [
            format!("http://127.0.0.1:{}/restate/health", node.ports[0]),
            format!("http://127.0.0.1:{}/health", node.ports[1]),
        ] {
            let answers = || async {
                let answer = client.get(&url).send().await;
                answer.is_ok_and(|answer| answer.status().is_success())
            };
            while !answers().await {
                if let Some(ended) = node.child.try_wait().expect("its status") {
                    return Err(format!("{ended}: see {}", node.folder.display()));
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Ok(())
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

    /// Kills the only one, and starts it again on what it had stored.
    pub(crate) async fn kill_and_start(&mut self) {
        self.kill(0);
        self.start_again(0).await;
    }

    pub(crate) fn kill(&mut self, node: usize) {
        let child = &mut self.nodes[node].child;
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }

    /// Starts one that was killed on what it had stored.
    pub(crate) async fn start_again(&mut self, node: usize) {
        let child = spawn(&self.program, &self.nodes[node].folder);
        self.nodes[node].child = child;
        self.is_up(node).await.expect("it starts again");
    }
}

/// Returns the configuration of a node: loopback alone, no telemetry, and a host that does not answer is soon given up.
fn config(folder: &Path, number: usize, addresses: &[String], ports: [u16; 2]) -> String {
    let [ingress, admin] = ports;
    let address = &addresses[number];
    // Of three, two have each part of the data.
    let replication = addresses.len() / 2 + 1;
    let others: Vec<_> = addresses
        .iter()
        .map(|address| format!("\"http://{address}\""))
        .collect();
    let is_first = number == 0;
    format!(
        "node-name = \"node-{number}\"\ncluster-name = \"tests\"\nbase-dir = \"{}\"\nlisten-mode = \"tcp\"\n\
         bind-address = \"{address}\"\nadvertised-address = \"http://{address}\"\nauto-provision = {is_first}\n\
         default-replication = {replication}\ndisable-telemetry = true\ndefault-num-partitions = 4\n\
         rocksdb-total-memory-size = \"512 MiB\"\n[metadata-client]\naddresses = [{}]\n\
         [admin]\nbind-address = \"127.0.0.1:{admin}\"\n[ingress]\nbind-address = \"127.0.0.1:{ingress}\"\n\
         [worker.invoker]\nhttp2-keep-alive-interval = \"1s\"\nhttp2-keep-alive-timeout = \"1s\"\n",
        folder.join("data").display(),
        others.join(", ")
    )
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
        for node in &mut self.nodes {
            let _ = node.child.kill();
            let _ = node.child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A load balancer for Restate's calls to the hosts: a connection goes to one of them that accepts it.
#[derive(Clone)]
pub(crate) struct Switch {
    pub(crate) url: String,
    /// The ports of the hosts that new connections go to, in turn.
    to: Arc<watch::Sender<Vec<u16>>>,
    /// The port of a host that is cut off in both directions, in silence.
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
    // The end is not passed on either.
    let swallows = async {
        let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = silent.wait_for(|silent| *silent != port) => {}
        () = swallows => {}
    }
}
