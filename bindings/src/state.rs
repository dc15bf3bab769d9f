use serde::Serialize;
use stepwell_mirror::mirror;

mirror! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_core::run::StateKind)]
    pub enum StateKind {
        /// A call broke off inside Stepwell: restore the last snapshot.
        + Broken,
    }
}
