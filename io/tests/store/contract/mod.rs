//! The rules of `Store`.

mod events;
mod limits;
mod owners;
mod threads;
mod turns;

pub(crate) use events::*;
pub(crate) use limits::*;
pub(crate) use owners::*;
pub(crate) use threads::*;
pub(crate) use turns::*;

use std::sync::Arc;
use stepwell_io::store::Store;

type AnyStore = Arc<dyn Store>;
