use super::super::{Encode, HttpRequest, ModelRequest};
pub(in super::super) struct Encoder;

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
