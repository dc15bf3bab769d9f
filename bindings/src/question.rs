//! The questions of a running tool to the user, and the answers.

use crate::json_value::JsonValue;
use serde::{Deserialize, Serialize};
use stepwell_mirror::mirror;

mirror! {
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::Question)]
    pub struct Question;

    #[derive(Clone, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
    #[serde(tag = "type", rename_all = "camelCase")]
    #[mirror(stepwell_core::run::UserAnswer)]
    pub enum UserAnswer;
}
