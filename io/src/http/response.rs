use super::error::SendError;
use bytes::Bytes;
use futures::stream::BoxStream;

/// An answer with any status. Its body is still to come.
pub(crate) type Response = http::Response<Body>;

/// The body of an answer, as a stream. Dropping it cancels the rest.
pub(crate) type Body = BoxStream<'static, Result<Bytes, SendError>>;
