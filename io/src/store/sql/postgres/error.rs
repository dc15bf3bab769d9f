//! The errors of the driver, as those of a store.

use crate::store::StoreError;

/// Error codes: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
pub(super) fn failed(error: sqlx::Error) -> StoreError {
    let message = error.to_string();
    match error {
        sqlx::Error::Database(database) => refused(&database.code().unwrap_or_default(), message),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::Protocol(_) => StoreError::Unavailable { message },
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
            StoreError::Damaged { message }
        }
        _ => StoreError::Other { message },
    }
}

fn refused(code: &str, message: String) -> StoreError {
    let class = code.get(..2).unwrap_or_default();
    match (class, code) {
        // No connection, a server that goes down or is not up yet, a disk that fails, no connection left; a
        // deadlock, a lock that was waited for too long, a session that was idle in a transaction, a transaction of
        // another process that came between.
        ("08" | "40" | "57" | "58", _) | (_, "23505" | "25P03" | "53300" | "55P03") => {
            StoreError::Unavailable { message }
        }
        ("53", _) => StoreError::Full { message },
        (_, "25006" | "42501") => StoreError::ReadOnly { message },
        // The values cannot be stored, or the user or the database is not known.
        ("22" | "28" | "3D", _) => StoreError::Refused { message },
        (_, "XX001" | "XX002") => StoreError::Damaged { message },
        _ => StoreError::Other { message },
    }
}
