use super::tokens::{BadLine, Tokens};
use super::user::User;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// The time after which the file is checked for changes.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A file of tokens that is read again when it has changed: a removed token gives no access any more, and the server
/// keeps running.
#[derive(Debug)]
pub(crate) struct TokenFile {
    path: PathBuf,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    tokens: Arc<Tokens>,
    version: Option<Version>,
    looked: Instant,
}

/// The version of the file: its modification time and its length.
type Version = (SystemTime, u64);

/// Why a file of tokens cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenFileError {
    #[error("{}: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("{}, {error}", path.display())]
    Line { path: PathBuf, error: BadLine },
}

impl TokenFile {
    /// Reads the file.
    ///
    /// # Errors
    /// The file cannot be read, or a line is wrong.
    pub(crate) fn open(path: &Path) -> Result<Self, TokenFileError> {
        let version = version(path);
        let tokens = Arc::new(read(path)?);
        Ok(Self {
            path: path.to_path_buf(),
            seen: Mutex::new(Seen {
                tokens,
                version,
                looked: Instant::now(),
            }),
        })
    }

    /// Returns the user of a token.
    pub(crate) fn user(&self, token: &[u8]) -> Option<User> {
        self.current().user(token)
    }

    /// Returns the current tokens. They stay as they were if the file can no longer be read.
    fn current(&self) -> Arc<Tokens> {
        // A panic under the lock leaves nothing half-done.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.looked.elapsed() >= CHECK_INTERVAL {
            seen.looked = Instant::now();
            let version = version(&self.path);
            if version != seen.version {
                seen.version = version;
                match read(&self.path) {
                    Ok(tokens) => seen.tokens = Arc::new(tokens),
                    Err(error) => {
                        tracing::error!(target: "stepwell", %error, "the file of tokens has changed, and cannot be used: those before hold");
                    }
                }
            }
        }
        Arc::clone(&seen.tokens)
    }
}

fn version(path: &Path) -> Option<Version> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn read(path: &Path) -> Result<Tokens, TokenFileError> {
    let text = fs::read_to_string(path).map_err(|error| TokenFileError::Read {
        path: path.to_path_buf(),
        error,
    })?;
    Tokens::parse(&text).map_err(|error| TokenFileError::Line {
        path: path.to_path_buf(),
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tokens::NewToken;
    use super::*;

    /// A file that is removed when the test ends.
    struct File(PathBuf);

    impl File {
        fn new(name: &str) -> Self {
            let name = format!("stepwell-tokens-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn changed_file_is_read_again() {
        let file = File::new("changes");
        let [one, two] = ["one", "two"].map(|name| NewToken::of(name).unwrap());
        fs::write(&file.0, &one.line).unwrap();
        let tokens = TokenFile::open(&file.0).unwrap();
        let knows = |token: &NewToken| tokens.user(token.token.as_bytes()).is_some();
        assert!(knows(&one) && !knows(&two));
        fs::write(&file.0, format!("# Two now.\n{}\n", two.line)).unwrap();
        assert!(knows(&one), "it is not looked at for each request");
        tokio::time::advance(CHECK_INTERVAL).await;
        assert!(!knows(&one) && knows(&two));
        fs::write(&file.0, "nonsense").unwrap();
        tokio::time::advance(CHECK_INTERVAL).await;
        assert!(knows(&two), "what cannot be read changes nothing");
        fs::remove_file(&file.0).unwrap();
        tokio::time::advance(CHECK_INTERVAL).await;
        assert!(knows(&two));
        fs::write(&file.0, "# Nobody.").unwrap();
        tokio::time::advance(CHECK_INTERVAL).await;
        assert!(!knows(&two));
    }

    #[test]
    fn unusable_file_is_refused() {
        let file = File::new("wrong");
        let error = TokenFile::open(&file.0).unwrap_err().to_string();
        assert!(error.contains("stepwell-tokens-wrong"), "{error}");
        fs::write(&file.0, "\n\ns3cret").unwrap();
        let error = TokenFile::open(&file.0).unwrap_err().to_string();
        assert!(error.contains(", line 3: "), "{error}");
    }
}
