use crate::request::refused::Refused;
use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

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
        answer(&self.0, Json(self.0.to_json()))
    }
}

/// A request of a chat that begins no run, as an answer: its status, and the message as text, since the AI SDK shows the
/// body of such an answer to the user as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatRefusal(pub Refused);

impl From<Refused> for ChatRefusal {
    fn from(refused: Refused) -> Self {
        Self(refused)
    }
}

impl IntoResponse for ChatRefusal {
    fn into_response(self) -> Response {
        answer(&self.0, self.0.message.clone())
    }
}

fn answer(refused: &Refused, body: impl IntoResponse) -> Response {
    let status = refused.reason.status();
    let mut response = (status, body).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, 1.into());
    }
    response
}
