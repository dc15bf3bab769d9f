//! The connections that all agents of a process share.

use super::error::HttpClientError;
use super::pool::Pool;
use crate::base::lock;
use std::sync::{Arc, Mutex};
use tokio::runtime::{Handle, Id};

/// The most runtimes whose connections are kept: a program has one, and a test suite one for each test.
const MAX_RUNTIMES: usize = 16;

/// The pools by their runtime, the last used at the end: a connection belongs to the runtime that opened it.
static POOLS: Mutex<Vec<(Id, Arc<Pool>)>> = Mutex::new(Vec::new());

/// Returns the pool of the current runtime. The first call in a process reads the system's certificates.
pub(super) fn pool() -> Result<Arc<Pool>, HttpClientError> {
    let runtime = Handle::current().id();
    let mut pools = lock(&POOLS);
    if let Some(at) = pools.iter().position(|(id, _)| *id == runtime) {
        let last = pools.len() - 1;
        pools[at..].rotate_left(1);
        return Ok(Arc::clone(&pools[last].1));
    }
    let pool = Arc::new(Pool::new()?);
    if pools.len() == MAX_RUNTIMES {
        pools.remove(0);
    }
    pools.push((runtime, Arc::clone(&pool)));
    Ok(pool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Builder;

    #[test]
    fn each_runtime_has_its_own_connections() {
        let runtime = || Builder::new_current_thread().build().unwrap();
        let first = runtime();
        let pool_in_first = first.block_on(async { pool().unwrap() });
        let again = first.block_on(async { pool().unwrap() });
        assert!(Arc::ptr_eq(&pool_in_first, &again));
        for _ in 0..2 * MAX_RUNTIMES {
            let other = runtime().block_on(async { pool().unwrap() });
            assert!(!Arc::ptr_eq(&pool_in_first, &other));
        }
        assert!(lock(&POOLS).len() <= MAX_RUNTIMES);
    }
}
