//! A `reqwest::Client` of the app's.

use super::client::HttpClient;
use super::error::SendError;
use bytes::Bytes;
use futures::TryStreamExt;
use http_body_util::BodyExt;
use reqwest::{Body, Client, Error, Request};
use std::error::Error as _;

impl From<Client> for HttpClient {
    fn from(client: Client) -> Self {
        Self::from_fn(move |request: http::Request<Bytes>| {
            let client = client.clone();
            async move {
                let request = Request::try_from(request).map_err(|error| failure(&error))?;
                let response = client.execute(request).await;
                let response: http::Response<Body> =
                    response.map_err(|error| failure(&error))?.into();
                Ok(response.map(|body| body.into_data_stream().map_err(|error| failure(&error))))
            }
        })
    }
}

/// Converts an error of reqwest. Its text holds the address, which may hold a key; the texts of its causes do not.
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
