use super::{Decode, DecodeError, Encode, HopIds, HttpRequest, ModelRequest, Sink};
use crate::wire::Frame;
use serde::{Deserialize, Serialize};

/// Decodes Chat Completions streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decoder {
    ids: HopIds,
}

impl Decoder {
    pub(super) fn new(ids: HopIds) -> Self {
        Self { ids }
    }
}

impl Decode for Decoder {
    fn frame(&mut self, _frame: Frame<'_>, _sink: &mut dyn Sink) -> Result<(), DecodeError> {
        Ok(())
    }

    fn end(&mut self, _sink: &mut dyn Sink) -> Result<(), DecodeError> {
        Ok(())
    }
}

pub(super) struct Encoder;

impl Encode for Encoder {
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest {
        HttpRequest {
            method: "POST",
            url: request.endpoint.base_url.clone(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }
}
