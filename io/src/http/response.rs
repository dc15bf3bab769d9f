use super::error::SendError;
use bytes::Bytes;
use futures::stream::BoxStream;

/// An answer, whatever its status. Its body is still to come.
pub(crate) type Response = http::Response<Body>;

/// An answer's body, as it comes. Dropping it gives the rest up.
pub(crate) type Body = BoxStream<'static, Result<Bytes, SendError>>;
