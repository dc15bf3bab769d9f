//! The methods of an agent on the turns in its store.

mod load;
pub(crate) mod recover;
mod resend;
