//! Times that engines share.

use std::time::Duration;

/// How often the store is read for a turn that may be about to begin, or another that may have begun before it.
pub(crate) const LOOKS: usize = 3;

/// How long a request to begin a turn, to stop one, or to pass a command to one waits for the store.
pub(crate) const LONGEST_REQUEST: Duration = Duration::from_secs(15);

/// How long the host of a turn that is over may take to report the end, before another host does.
pub(crate) const TELLING_TIME: Duration = Duration::from_secs(1);

/// How often a host looks for turns of hosts that have died. A host that was itself taken for dead waits as long before
/// it looks: where the store was unreachable, the other hosts return with it.
pub(crate) const LOOKED_EVERY: Duration = Duration::from_secs(2);
