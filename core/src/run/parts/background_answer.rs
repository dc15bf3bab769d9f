use serde::{Deserialize, Serialize};

/// The answer that the provider makes in the background, until it is finished or left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BackgroundAnswer {
    /// The provider's id of the answer.
    pub(crate) id: String,
    /// The hop of the answer.
    pub(crate) hop: u32,
    /// The number of the model that makes the answer.
    pub(crate) model: u32,
}
