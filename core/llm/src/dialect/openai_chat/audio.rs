//! Audio that the model makes: its transcript comes as text, its samples in chunks. The samples are shown as one file
//! when they are complete, since raw samples cannot be played without knowing their format.
//!
//! A stream has them as `pcm16` alone: 16 bits, one channel, 24 kHz (<https://platform.openai.com/docs/guides/audio>).

use super::super::{AnswerLimit, DecodeError};
use super::chunk::Piece;
use crate::event::{ContentPart, from_base64};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most bytes of samples: a quarter of an hour, and more than an answer may have by default.
const MOST_HELD: usize = 48 * 1024 * 1024;

const RATE: u32 = 24_000;
const BYTES_A_SAMPLE: u32 = 2;

/// The samples that have come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Audio(Vec<u8>);

impl Audio {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that there is room for these chunks too.
    pub(super) fn check(&self, pieces: &[Piece<'_>]) -> Result<(), DecodeError> {
        let more = pieces.iter().map(|piece| match piece {
            Piece::Audio(data) => data.len(),
            _ => 0,
        });
        if self.0.len() + more.sum::<usize>() > MOST_HELD {
            return Err(AnswerLimit::held(MOST_HELD).into());
        }
        Ok(())
    }

    /// Takes a chunk in base64. Returns whether it is valid.
    pub(super) fn add(&mut self, data: &str) -> bool {
        let samples = from_base64(data);
        let is_base64 = samples.is_some();
        self.0.extend(samples.unwrap_or_default());
        is_base64
    }

    /// Takes all samples as a WAV file.
    pub(super) fn take(&mut self) -> ContentPart {
        let samples = std::mem::take(&mut self.0);
        // The size is less than MOST_HELD.
        let size = samples.len() as u32;
        let mut file = Vec::with_capacity(samples.len() + 44);
        file.extend(b"RIFF");
        file.extend((36 + size).to_le_bytes());
        file.extend(b"WAVEfmt ");
        file.extend(16_u32.to_le_bytes());
        // Samples as they are, one channel.
        file.extend([1, 0, 1, 0]);
        file.extend(RATE.to_le_bytes());
        file.extend((RATE * BYTES_A_SAMPLE).to_le_bytes());
        file.extend([BYTES_A_SAMPLE as u8, 0, 16, 0]);
        file.extend(b"data");
        file.extend(size.to_le_bytes());
        file.extend(samples);
        ContentPart::from_base64(&STANDARD.encode(file), "audio/wav")
    }
}

impl Serialize for Audio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        STANDARD.encode(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Audio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let samples = from_base64(&text);
        let samples = samples.ok_or_else(|| serde::de::Error::custom("samples are in base64"))?;
        Ok(Self(samples))
    }
}
