//! A registry on loopback: the files of folders, and for all else the way to the registry that has it.

use crate::process;
use anyhow::Context as _;
use serde_json::json;
use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, Stdio},
};

/// Python's own server: whatever tests the packages has Python.
const PROGRAM: &str = include_str!("registry.py");

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
    server: Child,
}

impl Registry {
    /// Starts it at this port if that is free, else at any.
    pub(super) fn start(port: u16, shares: Vec<Share>) -> anyhow::Result<Self> {
        let mut server = process::command("python3")
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("no registry on loopback: cannot start python3")?;
        let shares = shares.into_iter().map(|share| {
            json!({"begins": share.begins, "folders": share.folders, "beyond": share.beyond})
        });
        let said = json!({"port": port, "shares": shares.collect::<Vec<_>>()});
        writeln!(server.stdin.as_ref().context("no pipe to it")?, "{said}")?;
        let mut port = String::new();
        BufReader::new(server.stdout.take().context("no pipe from it")?).read_line(&mut port)?;
        let port: u16 = port.trim().parse().context("the registry says no port")?;
        Ok(Self {
            address: format!("http://127.0.0.1:{port}"),
            server,
        })
    }

    /// Its address, without a slash at the end.
    pub(super) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // It ends with its standard input.
        drop(self.server.stdin.take());
        let _ = self.server.wait();
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
        assert!(ours.starts_with("HTTP/1.0 200"), "{ours}");
        assert!(ours.to_lowercase().contains("application/json"), "{ours}");
        assert!(ours.ends_with("{}"), "{ours}");
        let other = asked(&registry, "/npm/other");
        assert!(other.starts_with("HTTP/1.0 302"), "{other}");
        assert!(other.contains("https://registry.example/other"), "{other}");
        for path in ["/other", "/npm/../Cargo.toml"] {
            let nothing = asked(&registry, path);
            assert!(nothing.starts_with("HTTP/1.0 404"), "{nothing}");
        }
        // One that asks nothing holds up nobody.
        let address = registry.address().trim_start_matches("http://");
        let silent: Vec<_> = (0..8)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        assert!(asked(&registry, "/npm/ours").ends_with("{}"));
        drop(silent);
        drop(registry);
        fs::remove_dir_all(folder).unwrap();
    }
}
