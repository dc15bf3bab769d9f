//! A connection to a PostgreSQL server that the test cuts and restores.

use std::path::PathBuf;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

/// The fate of the bytes on the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Whole,
    /// Connections are ended, and none is taken.
    Ended,
    /// Nothing arrives, and neither end is notified.
    Silent,
}

/// A socket in a folder of its own, which leads to the server's socket.
pub(crate) struct Line {
    folder: PathBuf,
    pub(crate) url: String,
    state: watch::Sender<State>,
}

impl Line {
    /// To the server of this address, which names the folder of its socket.
    pub(crate) fn to(url: &str, name: &str) -> Self {
        let (before, target) = url.split_once("host=").expect("a socket's folder");
        let server = PathBuf::from(target).join(".s.PGSQL.5432");
        let folder = std::env::temp_dir().join(format!("stepwell-line-{name}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).expect("a socket");
        let url = format!("{before}host={}", folder.display());
        let (state, changes) = watch::channel(State::Whole);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *changes.borrow() == State::Ended {
                    continue;
                }
                let server = UnixStream::connect(&server).await.expect("the server");
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let pumps = [(from_client, to_server), (from_server, to_client)];
                for (from, to) in pumps {
                    tokio::spawn(pump(from, to, changes.clone()));
                }
            }
        });
        Self { folder, url, state }
    }

    pub(crate) fn set(&self, state: State) {
        self.state.send_replace(state);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Hands on what comes, until either end is closed or the line is.
async fn pump(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut state: watch::Receiver<State>,
) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let read = tokio::select! {
            read = from.read(&mut bytes) => read,
            ended = state.wait_for(|state| *state == State::Ended) => return drop(ended),
        };
        let Ok(count @ 1..) = read else { return };
        let is_whole = state.wait_for(|state| *state != State::Silent).await;
        if is_whole.map_or(true, |state| *state == State::Ended) {
            return;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
