//! What several suites need, and is made once in a run.

use anyhow::anyhow;
use std::sync::OnceLock;

/// A value that is made on the first request; callers that ask meanwhile wait.
pub(crate) struct Once<T>(OnceLock<Result<T, String>>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> Once<T> {
    /// Takes what there is, or makes it. What could not be made is not tried again.
    pub(crate) fn get(&self, make: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<&T> {
        let make = || make().map_err(|error| format!("{error:#}"));
        let made = self.0.get_or_init(make).as_ref();
        made.map_err(|error| anyhow!("{error}"))
    }

    /// Returns whether the value exists already.
    pub(crate) fn is_made(&self) -> bool {
        matches!(self.0.get(), Some(Ok(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::Once;
    use anyhow::bail;

    #[test]
    fn it_is_made_once_also_if_that_fails() {
        let well = Once::default();
        assert!(!well.is_made());
        assert_eq!(well.get(|| Ok(1)).unwrap(), &1);
        assert_eq!(well.get(|| Ok(2)).unwrap(), &1);
        assert!(well.is_made());
        let failed = Once::<()>::default();
        assert!(failed.get(|| bail!("no")).is_err());
        assert!(!failed.is_made());
        assert_eq!(failed.get(|| Ok(())).unwrap_err().to_string(), "no");
    }
}
