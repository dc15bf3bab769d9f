//! What a turn waits for.

use crate::json_value::JsonValue;
use crate::time::Timestamp;
use serde::Serialize;
use stepwell_mirror::mirror;

mirror! {
    /// Something that a turn waits for: the user's decision on a call, the answer to a running tool's question, or the
    /// result of a deferred call.
    #[derive(Clone, Debug, PartialEq, Serialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::Pending)]
    pub struct Pending {
        /// The arguments of the call: a JSON text that fits the tool's schema.
        arguments,
        /// The JSON Schema of the answer, if one is asked for: of the arguments that may replace the model's, or of the
        /// answer to the question.
        schema,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::PendingKind)]
    pub enum PendingKind;
}
