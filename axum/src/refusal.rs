use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use stepwell_io::serve::Refused;

/// A request that begins no run, as an answer: its status, and `{"error": {"code": …, "message": …}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub Refused);

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        Self(refused)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = self.0.reason.status();
        let mut response = (status, Json(self.0.to_json())).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, 1.into());
        }
        response
    }
}
