use std::sync::Arc;
use stepwell_core::ThreadId;
use stepwell_core::registry::ThreadKey;

/// The maximum length of a user's name. A subject of OpenID Connect has at most 255 ASCII characters.
const MAX_NAME_BYTES: usize = 255;

/// The user of a request. A thread belongs to one user; for others it does not exist.
///
/// A client with the server's one token is the unnamed user, as every client is if no token is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct User(Arc<str>);

/// A name that no user can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a user's name has 1 to {MAX_NAME_BYTES} bytes and no control characters")]
pub(crate) struct BadName;

impl User {
    /// Creates a user with a name.
    ///
    /// # Errors
    /// The name is empty, too long, or has control characters.
    pub(crate) fn named(name: &str) -> Result<Self, BadName> {
        // The empty name is that of the unnamed user.
        if !(1..=MAX_NAME_BYTES).contains(&name.len()) || name.chars().any(char::is_control) {
            return Err(BadName);
        }
        Ok(Self(name.into()))
    }

    /// Returns whether the user is one of several.
    pub(crate) fn is_named(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns the room of the user's threads. That of the unnamed user is the one that all threads had before there were
    /// users.
    pub(crate) fn room(&self) -> &str {
        &self.0
    }

    /// Returns the key of the user's thread with this id.
    pub(crate) fn thread(&self, thread: impl Into<ThreadId>) -> ThreadKey {
        ThreadKey::new("", self.room(), thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_separate_threads() {
        let (alice, bob) = (User::named("alice").unwrap(), User::named("bob").unwrap());
        assert_ne!(alice.thread("t"), bob.thread("t"));
        assert_ne!(alice.thread("t"), User::default().thread("t"));
        assert_eq!(User::default().thread("t"), ThreadKey::from("t"));
    }

    #[test]
    fn no_name_is_that_of_the_user_without_one() {
        for name in ["", "a\nb", "\0", &"x".repeat(256)] {
            assert_eq!(User::named(name), Err(BadName), "{name:?}");
        }
        assert!(User::named(&"x".repeat(255)).is_ok_and(|user| user.is_named()));
    }
}
