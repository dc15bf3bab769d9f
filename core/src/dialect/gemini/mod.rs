mod decode;
mod encode;

pub(super) use decode::Decoder;
pub(super) use encode::Encoder;
