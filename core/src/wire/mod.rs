//! Placeholder until the framers are in.
use serde::{Deserialize, Serialize};
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    pub event: &'a [u8],
    pub data: &'a [u8],
    pub id: &'a [u8],
}
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameLimits {
    pub line: usize,
    pub event: usize,
}
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("wire")]
pub enum WireError {}
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Framer {
    Sse(SseFramer),
}
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SseFramer;
#[allow(missing_docs)]
impl SseFramer {
    pub fn new(_: FrameLimits) -> Self {
        Self
    }
}
#[allow(missing_docs)]
impl Framer {
    pub fn receive<E: From<WireError>>(
        &mut self,
        _: &[u8],
        _: impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        Ok(())
    }
    pub fn finish<E: From<WireError>>(
        &mut self,
        _: impl FnMut(Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        Ok(())
    }
}
