//! The signature of requests to Amazon Bedrock: AWS Signature Version 4.

use crate::app::aws::{AwsCredentialSource, AwsCredentials};
use crate::base::catch_panic;
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use http::Uri;
use std::env;
use std::sync::Arc;
use std::time::SystemTime;
use stepwell_core::dialect::HttpRequest;

/// The name of the service that requests are signed for.
const SERVICE: &str = "bedrock";

/// The media type of Bedrock's streams, which no other provider's requests ask for.
const EVENT_STREAM: &str = "application/vnd.amazon.eventstream";

/// The reason why a request cannot be signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SignatureError {
    #[error(
        "there are no AWS credentials: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the agent its `aws_credentials`"
    )]
    NoCredentials,
    #[error("the app gave no AWS credentials: {0}")]
    Source(String),
    #[error(
        "the address names no region of AWS: set AWS_REGION, or the region of the `aws_credentials`"
    )]
    NoRegion,
    #[error("the request cannot be signed: {0}")]
    Request(String),
}

/// Signs a request to Bedrock that has no key. Any other request is returned as it is.
pub(super) async fn signed(
    request: HttpRequest,
    source: Option<Arc<dyn AwsCredentialSource>>,
) -> Result<HttpRequest, SignatureError> {
    if !is_unsigned(&request) {
        return Ok(request);
    }
    let credentials = match source {
        Some(source) => catch_panic(async move { source.credentials().await })
            .await
            .map_err(SignatureError::Source)?
            .map_err(SignatureError::Source)?,
        None => AwsCredentials::from_environment().ok_or(SignatureError::NoCredentials)?,
    };
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let region = region(&request.url)
        .or_else(|| credentials.region.clone())
        .or_else(|| variable("AWS_REGION"))
        .or_else(|| variable("AWS_DEFAULT_REGION"))
        .ok_or(SignatureError::NoRegion)?;
    sign_at(request, &credentials, &region, SystemTime::now())
}

/// Returns whether the request is one to Bedrock without a key.
fn is_unsigned(request: &HttpRequest) -> bool {
    let mut headers = request.headers.iter();
    headers.any(|(name, value)| name == "accept" && value == EVENT_STREAM)
        && !request
            .headers
            .iter()
            .any(|(name, _)| name == "authorization")
}

/// Returns the region in the host of an address of AWS: `bedrock-runtime.REGION.amazonaws.com`.
fn region(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    let host = uri.host()?;
    if !host.contains(".amazonaws.com") {
        return None;
    }
    let mut labels = host.split('.');
    labels.find(|label| label.starts_with("bedrock-runtime"))?;
    labels.next().map(str::to_owned)
}

/// Adds the headers of the signature as of this time.
fn sign_at(
    mut request: HttpRequest,
    credentials: &AwsCredentials,
    region: &str,
    now: SystemTime,
) -> Result<HttpRequest, SignatureError> {
    // The library's errors name what is wrong with the request or the parameters, never the credentials.
    let refused = |error: &dyn std::error::Error| SignatureError::Request(error.to_string());
    let token = credentials.session_token.as_ref();
    let identity = Credentials::new(
        &credentials.access_key_id,
        credentials.secret_access_key.expose(),
        token.map(|token| token.expose().to_owned()),
        None,
        "stepwell",
    )
    .into();
    let parameters = SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(SERVICE)
        .time(now)
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| refused(&error))?
        .into();
    // Of the headers only the one that says what the body is: a proxy may change the others.
    let headers = request.headers.iter();
    let headers = headers.filter(|(name, _)| name == "content-type");
    let headers = headers.map(|(name, value)| (name.as_str(), value.as_str()));
    let body = SignableBody::Bytes(&request.body);
    let signable = SignableRequest::new(request.method, request.url.as_str(), headers, body)
        .map_err(|error| refused(&error))?;
    let (instructions, _) = sign(signable, &parameters)
        .map_err(|error| refused(&error))?
        .into_parts();
    let added = instructions.headers();
    let added = added.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let added: Vec<_> = added.collect();
    request.headers.extend(added);
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::time::Duration;

    /// Requests with the headers that botocore signs them with: see `tests/request-types/signatures.py`.
    const SIGNED: &str = include_str!("signature/botocore.json");

    fn request(case: &Value) -> HttpRequest {
        let text = |field: &str| case[field].as_str().expect("a text").to_owned();
        HttpRequest {
            method: "POST",
            url: text("url"),
            headers: vec![
                ("content-type".to_owned(), "application/json".to_owned()),
                ("accept".to_owned(), EVENT_STREAM.to_owned()),
            ],
            body: text("body").into_bytes(),
        }
    }

    fn credentials(case: &Value) -> AwsCredentials {
        let text = |field: &str| case[field].as_str().map(str::to_owned);
        let own = AwsCredentials::new(
            text("access_key_id").expect("an id"),
            text("secret_access_key").expect("a key"),
        );
        match text("session_token") {
            Some(token) => own.with_session_token(token),
            None => own,
        }
    }

    #[test]
    fn signs_as_botocore_does() {
        let cases: Vec<Value> = serde_json::from_str(SIGNED).expect("JSON");
        assert!(cases.len() > 3, "{}", cases.len());
        for case in &cases {
            let now = SystemTime::UNIX_EPOCH
                + Duration::from_secs(case["time"].as_u64().expect("seconds"));
            let request = request(case);
            let region = region(&request.url).expect("an address of AWS");
            let signed = sign_at(request, &credentials(case), &region, now).expect("signed");
            for (name, value) in case["headers"].as_object().expect("headers") {
                let found = signed.headers.iter().find(|(own, _)| own == name);
                let found = found.map(|(_, value)| value.as_str());
                assert_eq!(found, value.as_str(), "{name} of {}", case["url"]);
            }
        }
    }

    #[test]
    fn the_host_names_the_region() {
        for (url, expected) in [
            (
                "https://bedrock-runtime.eu-central-1.amazonaws.com/model/m/converse-stream",
                Some("eu-central-1"),
            ),
            (
                "https://bedrock-runtime-fips.us-east-1.amazonaws.com",
                Some("us-east-1"),
            ),
            (
                "https://vpce-1.bedrock-runtime.us-west-2.vpce.amazonaws.com",
                Some("us-west-2"),
            ),
            ("http://127.0.0.1:1/bedrock", None),
            ("https://bedrock-runtime.evil.example", None),
        ] {
            assert_eq!(region(url).as_deref(), expected, "{url}");
        }
    }

    #[tokio::test]
    async fn other_requests_are_not_signed() {
        let with = |headers: &[(&str, &str)]| HttpRequest {
            method: "POST",
            url: "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse-stream"
                .to_owned(),
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            body: b"{}".to_vec(),
        };
        let source =
            || Some(Arc::new(AwsCredentials::new("AKID", "s")) as Arc<dyn AwsCredentialSource>);
        let stream = ("accept", EVENT_STREAM);
        for headers in [
            &[("accept", "text/event-stream")][..],
            &[stream, ("authorization", "Bearer k")],
        ] {
            let request = with(headers);
            assert_eq!(signed(request.clone(), source()).await, Ok(request));
        }
        let own = signed(with(&[stream]), source()).await.expect("signed");
        assert!(own.headers.iter().any(|(name, _)| name == "authorization"));
        let failing = || async { Err::<AwsCredentials, _>("the vault is shut") };
        let refused = signed(with(&[stream]), Some(Arc::new(failing))).await;
        let error = refused.expect_err("an error").to_string();
        assert_eq!(error, "the app gave no AWS credentials: the vault is shut");
    }
}
