//! What an app gets of a turn: its updates, and a result of the app's type.

pub(crate) mod message;
pub(crate) mod output;
pub(crate) mod result;
pub(crate) mod update;
