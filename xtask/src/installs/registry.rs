//! A registry on loopback: the files of folders, and for all else the way to the registry that has it.

use anyhow::{Context as _, anyhow};
use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
};
use tiny_http::{Header, Request, Response, Server};

/// A part of a registry's addresses.
pub(super) struct Share {
    /// What they begin with: `/crates/`.
    pub(super) begins: &'static str,
    /// Where their files are looked for, one folder after the other.
    pub(super) folders: Vec<PathBuf>,
    /// The address of a registry that has the others.
    pub(super) beyond: &'static str,
}

/// A registry, for as long as it is kept.
pub(super) struct Registry {
    address: String,
    server: Arc<Server>,
    serving: Option<JoinHandle<()>>,
}

impl Registry {
    /// Starts it at this port if that is free, else at any.
    pub(super) fn start(port: u16, shares: Vec<Share>) -> anyhow::Result<Self> {
        let server = Server::http(("127.0.0.1", port))
            .or_else(|_| Server::http(("127.0.0.1", 0)))
            .map_err(|error| anyhow!("no registry on loopback: {error}"))?;
        let address = server.server_addr().to_ip().context("it has no address")?;
        let server = Arc::new(server);
        let serving = thread::spawn({
            let server = Arc::clone(&server);
            move || {
                for request in server.incoming_requests() {
                    // A client that has gone wants no answer.
                    let _ = answer(request, &shares);
                }
            }
        });
        Ok(Self {
            address: format!("http://{address}"),
            server,
            serving: Some(serving),
        })
    }

    /// Its address, without a slash at the end.
    pub(super) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

fn answer(request: Request, shares: &[Share]) -> std::io::Result<()> {
    let path = request.url().split('?').next().unwrap_or_default();
    let share = shares.iter().find_map(|share| {
        let rest = path.strip_prefix(share.begins)?;
        Some((share, rest))
    });
    let Some((share, rest)) = share.filter(|(_, rest)| !rest.contains("..")) else {
        return request.respond(Response::empty(404));
    };
    let file = share
        .folders
        .iter()
        .find_map(|folder| file(&folder.join(rest)));
    if let Some(path) = file {
        let response = Response::from_file(File::open(&path)?);
        let kind = Header::from_bytes("content-type", kind(&path));
        return request.respond(match kind {
            Ok(kind) => response.with_header(kind),
            Err(()) => response,
        });
    }
    let beyond = format!("{}{rest}", share.beyond);
    match Header::from_bytes("location", beyond) {
        Ok(location) => request.respond(Response::empty(302).with_header(location)),
        Err(()) => request.respond(Response::empty(400)),
    }
}

/// The file at a path, or what stands for the folder there.
fn file(path: &Path) -> Option<PathBuf> {
    let index = ["index.html", "index.json"].map(|name| path.join(name));
    [path.to_owned()]
        .into_iter()
        .chain(index)
        .find(|path| path.is_file())
}

fn kind(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::{Registry, Share};
    use std::{
        fs,
        io::{Read, Write},
        net::TcpStream,
    };

    fn asked(registry: &Registry, path: &str) -> String {
        let address = registry.address().trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn what_there_is_is_served_and_all_else_is_beyond() {
        let folder = std::env::temp_dir().join(format!("stepwell-registry-{}", std::process::id()));
        fs::create_dir_all(folder.join("ours")).unwrap();
        fs::write(folder.join("ours/index.json"), "{}").unwrap();
        let share = Share {
            begins: "/npm/",
            folders: vec![folder.clone()],
            beyond: "https://registry.example/",
        };
        let registry = Registry::start(0, vec![share]).unwrap();

        let ours = asked(&registry, "/npm/ours?x=1");
        assert!(ours.starts_with("HTTP/1.1 200"), "{ours}");
        assert!(ours.to_lowercase().contains("application/json"), "{ours}");
        assert!(ours.ends_with("{}"), "{ours}");
        let other = asked(&registry, "/npm/other");
        assert!(other.starts_with("HTTP/1.1 302"), "{other}");
        assert!(other.contains("https://registry.example/other"), "{other}");
        for path in ["/other", "/npm/../Cargo.toml"] {
            let nothing = asked(&registry, path);
            assert!(nothing.starts_with("HTTP/1.1 404"), "{nothing}");
        }
        drop(registry);
        fs::remove_dir_all(folder).unwrap();
    }
}
