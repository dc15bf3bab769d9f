//! What an agent does with the turns in its store.

mod load;
pub(crate) mod recover;
mod resend;
