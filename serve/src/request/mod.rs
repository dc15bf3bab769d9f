//! What clients ask for, as it is read.

pub(crate) mod client_tools;
pub(crate) mod input;
pub(crate) mod refused;
mod stop;
pub(crate) mod trust;
mod understand;

pub use input::{check_content_type, read_input};
pub use refused::{Refused, RefusedReason};
pub use stop::StopRequest;
pub use trust::ClientTrust;
pub use understand::understand;
