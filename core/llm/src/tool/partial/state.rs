use super::invalid::InvalidArguments;

/// The state of partial arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartialState {
    /// The value has not ended yet.
    #[default]
    Open,
    /// The text so far is a complete value. Any more text than white space makes it invalid.
    Complete,
    /// The text is not JSON. Nothing after the mistake is read, and the value before it stays.
    Invalid(InvalidArguments),
}
