//! The tokens of several users: a file with a line for each, `NAME sha256:HASH_PREFIX`.
//!
//! A token is 256 random bits. It cannot be guessed, so the file needs no slow hash, as passwords do.

use super::user::{BadName, User};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt::Write;
use subtle::{ConditionallySelectable, ConstantTimeEq};

/// The prefix of tokens, so that a leaked one is recognised.
const PREFIX: &str = "stepwell_";

/// The prefix of hashes.
const HASH_PREFIX: &str = "sha256:";

/// The size of a token and of its hash.
const BYTES: usize = 32;

/// The users of a file, by the hashes of their tokens.
#[derive(Debug, Default)]
pub(crate) struct Tokens(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    hash: [u8; BYTES],
    user: User,
}

/// A line that cannot be read. The error does not repeat it: it may be a token.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub(crate) struct BadLine {
    line: usize,
    reason: Reason,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Reason {
    #[error("a line is a name and a hash, as `stepwell token NAME` prints it")]
    Form,
    #[error("a hash is `{HASH_PREFIX}` and 64 digits of base 16; `stepwell token NAME` makes one")]
    Hash,
    #[error(transparent)]
    Name(#[from] BadName),
    #[error("the token is of another user already")]
    Shared,
}

impl Tokens {
    /// Parses a file. Empty lines and lines that begin with `#` are skipped. A user may have several tokens.
    ///
    /// # Errors
    /// A line is something else.
    pub(crate) fn parse(text: &str) -> Result<Self, BadLine> {
        let mut entries: Vec<Entry> = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let entry = entry(text).map_err(|reason| BadLine { line, reason })?;
            let mut others = entries.iter();
            if others.any(|other| other.hash == entry.hash && other.user != entry.user) {
                let reason = Reason::Shared;
                return Err(BadLine { line, reason });
            }
            entries.push(entry);
        }
        Ok(Self(entries))
    }

    /// Returns the user of a token, in constant time for all tokens of the file.
    pub(crate) fn user(&self, token: &[u8]) -> Option<User> {
        let hash = hash(token);
        let mut found = u64::MAX;
        for (at, entry) in (0_u64..).zip(&self.0) {
            found.conditional_assign(&at, entry.hash.ct_eq(&hash));
        }
        let entry = self.0.get(usize::try_from(found).ok()?)?;
        Some(entry.user.clone())
    }
}

fn entry(text: &str) -> Result<Entry, Reason> {
    let mut words = text.split_whitespace();
    let (Some(name), Some(hash), None) = (words.next(), words.next(), words.next()) else {
        return Err(Reason::Form);
    };
    let hash = hash
        .strip_prefix(HASH_PREFIX)
        .and_then(unhex)
        .ok_or(Reason::Hash)?;
    let user = User::named(name)?;
    Ok(Entry { hash, user })
}

fn hash(token: &[u8]) -> [u8; BYTES] {
    let mut hash = [0; BYTES];
    hash.copy_from_slice(digest(&SHA256, token).as_ref());
    hash
}

fn unhex(text: &str) -> Option<[u8; BYTES]> {
    let text = text.as_bytes();
    if text.len() != 2 * BYTES {
        return None;
    }
    let digit = |byte: u8| {
        let digit = char::from(byte).to_digit(16)?;
        u8::try_from(digit).ok()
    };
    let mut bytes = [0; BYTES];
    for (byte, digits) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(digits[0])? << 4 | digit(digits[1])?;
    }
    Some(bytes)
}

/// A new token, and its line in the file.
pub(crate) struct NewToken {
    /// The token for the user. It is stored nowhere.
    pub(crate) token: String,
    /// For the file.
    pub(crate) line: String,
}

/// Why there is no token for a name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoToken {
    #[error(transparent)]
    Name(#[from] BadName),
    /// The name could not be read back from the file.
    #[error("a name in the file has no spaces, and does not begin with `#`")]
    Spaces,
    #[error("the system has no random numbers")]
    Random,
}

impl NewToken {
    /// Creates a token for the user of this name.
    ///
    /// # Errors
    /// The name is not valid in the file, or the system has no random numbers.
    pub(crate) fn of(name: &str) -> Result<Self, NoToken> {
        User::named(name)?;
        if name.starts_with('#') || name.contains(char::is_whitespace) {
            return Err(NoToken::Spaces);
        }
        let mut random = [0; BYTES];
        let filled = SystemRandom::new().fill(&mut random);
        filled.map_err(|_| NoToken::Random)?;
        let token = format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(random));
        let mut line = format!("{name} {HASH_PREFIX}");
        for byte in hash(token.as_bytes()) {
            let _ = write!(line, "{byte:02x}");
        }
        Ok(Self { token, line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of `abc` (FIPS 180-4).
    const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn name(tokens: &Tokens, token: &str) -> Option<String> {
        let user = tokens.user(token.as_bytes())?;
        Some(user.room().to_owned())
    }

    #[test]
    fn token_belongs_to_its_user() {
        let [alice, second, bob] =
            ["alice", "alice", "bob"].map(|name| NewToken::of(name).unwrap());
        let file = format!(
            "# Who may come in.\n\n{}\r\n  {}\n{}\ncarol\t{}\n",
            alice.line,
            bob.line,
            second.line,
            ABC.to_uppercase().replace("SHA256", "sha256")
        );
        let tokens = Tokens::parse(&file).unwrap();
        for (token, expected) in [
            (&*alice.token, Some("alice")),
            (&second.token, Some("alice")),
            (&bob.token, Some("bob")),
            ("abc", Some("carol")),
            ("abd", None),
            ("", None),
            (&alice.line, None),
            (&alice.token[..alice.token.len() - 1], None),
        ] {
            assert_eq!(name(&tokens, token).as_deref(), expected);
        }
        assert_eq!(Tokens::default().user(b"abc"), None);
    }

    #[test]
    fn new_token_is_unique_and_not_in_its_line() {
        let [one, other] = [NewToken::of("a").unwrap(), NewToken::of("a").unwrap()];
        assert_ne!(one.token, other.token);
        assert_eq!(one.token.len(), PREFIX.len() + 43, "256 bits");
        assert!(!one.line.contains(&one.token));
        for name in ["", "two words", "#a", "a\tb"] {
            assert!(NewToken::of(name).is_err(), "{name}");
        }
    }

    #[test]
    fn wrong_line_is_refused_without_repeating_it() {
        for (line, reason) in [
            ("s3cret".to_owned(), Reason::Form),
            ("a b s3cret".to_owned(), Reason::Form),
            ("alice s3cret".to_owned(), Reason::Hash),
            (format!("alice {}", &ABC[..70]), Reason::Hash),
            (format!("alice {}x", &ABC[..70]), Reason::Hash),
            (format!("bob {ABC}"), Reason::Shared),
            (format!("{} {ABC}", "x".repeat(256)), Reason::Name(BadName)),
        ] {
            let file = format!("# first\nalice {ABC}\n{line}\n");
            let error = Tokens::parse(&file).unwrap_err();
            assert_eq!(error, BadLine { line: 3, reason }, "{line}");
            assert!(!error.to_string().contains("s3cret"));
        }
    }
}
