//! Requests held to the rules of their provider, which the scripted provider has too.

use stepwell_core::dialect::{Dialect, HttpRequest};
use stepwell_mock_llm::check::{Breach, Rules};

/// Whether `provider` accepts the request, as far as it can be said without asking it.
///
/// # Errors
/// Every rule that the request breaks.
pub(crate) fn request(
    dialect: Dialect,
    provider: &str,
    request: &HttpRequest,
) -> Result<(), Vec<Breach>> {
    let rules = Rules::new(crate::mock(dialect)).provider(provider).tidy();
    rules.check_http(
        request.method,
        &request.url,
        &request.headers,
        &request.body,
    )
}
