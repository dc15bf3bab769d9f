//! The language that the library is used from.

use crate::error::StepwellError;
use std::sync::OnceLock;
use stepwell_io::HttpClient;
use stepwell_io::http::HttpClientError;

static LANGUAGE: OnceLock<String> = OnceLock::new();

/// Sets what the requests of agents name in `User-Agent`, as `stepwell/VERSION (LANGUAGE)`. For a language's own
/// package, to be called once before the first agent.
#[uniffi::export]
pub fn set_language(language: String) {
    // The first language that was set stays.
    let _ = LANGUAGE.set(language);
}

/// Creates the HTTP client of an agent.
pub(crate) fn http_client() -> Result<HttpClient, StepwellError> {
    let client = match LANGUAGE.get() {
        Some(language) => HttpClient::for_language(language),
        None => HttpClient::new(),
    };
    client.map_err(|error: HttpClientError| StepwellError::Unavailable {
        reason: error.to_string(),
        advice: "look at the system's certificates and proxies".to_owned(),
    })
}
