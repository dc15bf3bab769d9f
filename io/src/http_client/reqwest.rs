//! The app's own client.

use super::error::SendError;
use super::{HttpClient, Kind, Response};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use http::{HeaderMap, Method};
use http_body_util::BodyExt;
use reqwest::{Body, Client, Error};
use std::error::Error as _;

impl From<Client> for HttpClient {
    fn from(client: Client) -> Self {
        Self(Kind::Reqwest(client))
    }
}

pub(super) async fn request(
    client: &Client,
    method: Method,
    url: &str,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, SendError> {
    let request = client.request(method, url).headers(headers).body(body);
    let response = request.send().await.map_err(|error| failure(&error))?;
    let response: http::Response<Body> = response.into();
    Ok(response.map(|body| {
        let pieces = body.into_data_stream();
        pieces.map_err(|error| failure(&error)).boxed()
    }))
}

/// Its own text holds the address, which may hold a key; what caused it does not.
fn failure(error: &Error) -> SendError {
    let what = match error {
        _ if error.is_timeout() => "timed out",
        _ if error.is_connect() => "could not connect",
        _ if error.is_builder() => "the request is malformed",
        _ if error.is_body() || error.is_decode() => "the body broke off",
        _ => "the request failed",
    };
    SendError::with_causes(what, error.source())
}
