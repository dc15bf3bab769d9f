use std::sync::Arc;
use stepwell_core::ThreadId;
use stepwell_core::registry::ThreadKey;

/// The longest name of a user, in bytes. A subject of OpenID Connect has 255 characters of ASCII at most.
const LONGEST_NAME: usize = 255;

/// Who asks. A thread belongs to one user, and to others it is not there.
///
/// Whoever bears the server's one token, and everybody where there is none, is the user without a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct User(Arc<str>);

/// Why a name cannot be a user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a user's name has 1 to {LONGEST_NAME} bytes and no control characters")]
pub(crate) struct BadName;

impl User {
    /// A user who goes by a name.
    ///
    /// # Errors
    /// It is empty, too long, or has control characters.
    pub(crate) fn named(name: &str) -> Result<Self, BadName> {
        // An empty name would be that of the user without one.
        if !(1..=LONGEST_NAME).contains(&name.len()) || name.chars().any(char::is_control) {
            return Err(BadName);
        }
        Ok(Self(name.into()))
    }

    /// Whether it is one of several.
    pub(crate) fn is_named(&self) -> bool {
        !self.0.is_empty()
    }

    /// Where the user's threads are kept: a room of their own. That of the user without a name is the one in which
    /// every thread was before there were users.
    pub(crate) fn room(&self) -> &str {
        &self.0
    }

    /// The user's thread of this id.
    pub(crate) fn thread(&self, thread: impl Into<ThreadId>) -> ThreadKey {
        ThreadKey::new("", self.room(), thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_one_is_none_of_another() {
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
