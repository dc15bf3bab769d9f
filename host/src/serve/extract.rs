//! Extractors for a request's path, query and user. Their refusals are JSON, as all refusals are.

use super::refusal::{Code, Refusal};
use crate::access::User;
use axum::extract::{self, FromRequestParts};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

/// The parts of a path.
#[derive(Debug)]
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        match extract::Path::from_request_parts(parts, state).await {
            Ok(extract::Path(value)) => Ok(Self(value)),
            Err(error) => {
                let message = format!("the path cannot be read: {}", error.body_text());
                Err(Refusal::new(Code::InvalidPath, message))
            }
        }
    }
}

/// The query of a request.
#[derive(Debug)]
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        match extract::Query::from_request_parts(parts, state).await {
            Ok(extract::Query(value)) => Ok(Self(value)),
            Err(error) => {
                let message = format!("the query cannot be read: {}", error.body_text());
                Err(Refusal::new(Code::InvalidQuery, message))
            }
        }
    }
}

/// The user who sent the request, as [`authorization`](super::authorization) has noted.
#[derive(Debug)]
pub(super) struct Asker(pub(super) User);

impl<S: Send + Sync> FromRequestParts<S> for Asker {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        // A path without authorization has no user: to treat its clients as the unnamed user would admit everyone.
        parts.extensions.get().cloned().map(Self).ok_or_else(|| {
            tracing::error!(target: "stepwell", "a request came by that no token was asked of");
            let message = "the server does not know who asks: see its log";
            Refusal::new(Code::InternalError, message)
        })
    }
}
