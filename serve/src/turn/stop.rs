//! Why a run is stopped before its end.

/// Why a run is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The client has gone away.
    ClientLeft,
    /// Another run has taken its thread, or the server stops.
    Cancelled,
    /// The time of the turn is over.
    OutOfTime,
    /// Its store was full or out of reach for too long.
    StoreAway,
}
