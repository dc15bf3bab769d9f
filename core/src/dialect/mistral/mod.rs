mod encode;

pub(super) use encode::Encoder;
