use super::super::answer::Answer;
use super::super::{Decode, DecodeError, HopIds, Sink};
use crate::wire::Frame;
use serde::{Deserialize, Serialize};

/// Decodes its streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decoder {
    answer: Answer,
}

impl Decoder {
    pub(in super::super) fn new(ids: HopIds) -> Self {
        Self {
            answer: Answer::new(ids),
        }
    }
}

impl Decode for Decoder {
    fn frame(&mut self, _frame: Frame<'_>, _sink: &mut dyn Sink) -> Result<(), DecodeError> {
        Ok(())
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError> {
        Ok(self.answer.finish(sink)?)
    }
}
