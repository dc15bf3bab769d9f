use super::super::encoding::json_request;
use super::super::{Encode, HttpRequest, ModelRequest};

/// Encodes its requests.
pub(in super::super) struct Encoder;

impl Encode for Encoder {
    fn encode(&self, request: &ModelRequest<'_>) -> HttpRequest {
        json_request(request, "", ("authorization", "Bearer "), "*/*", &())
    }
}
