use super::super::{Frame, WireError};
use super::{BinaryForm, BinaryFramer};

/// A framer for length-prefixed binary frames: each has its length as four bytes, the most significant first, and then
/// its bytes.
///
/// Source: AG-UI 1.0 (transports), `application/vnd.ag-ui.event+proto`. A frame has no name and no id.
///
/// The length must not exceed [`FrameLimits::event`](crate::wire::FrameLimits::event), which is checked before any byte of
/// the frame is held.
pub type LengthPrefixedFramer = BinaryFramer<LengthPrefix>;

/// Frames with their length before them: the form of [`LengthPrefixedFramer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LengthPrefix;

impl BinaryForm for LengthPrefix {
    const HEADER: usize = 4;

    type Lengths = ();

    fn lengths(header: &[u8], limit: usize) -> Result<(usize, ()), WireError> {
        let length = header
            .iter()
            .fold(0, |length, &byte| length << 8 | u32::from(byte));
        match usize::try_from(length) {
            Ok(content) if content <= limit => Ok((content.saturating_add(Self::HEADER), ())),
            _ => Err(WireError::FrameTooLarge { length, limit }),
        }
    }

    fn frame(bytes: &[u8], (): ()) -> Result<Frame<'_>, WireError> {
        let data = bytes.get(Self::HEADER..).unwrap_or_default();
        Ok(Frame {
            data,
            ..Frame::default()
        })
    }
}
