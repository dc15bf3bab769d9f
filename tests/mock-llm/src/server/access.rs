//! Who may ask: the keys that the script knows, as Amazon Bedrock checks them.
//!
//! Source: <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>.

use std::fmt::Write as _;

use ring::{digest, hmac};

use crate::RecordedRequest;
use crate::dialect::Refusal;

/// The algorithm of the signatures.
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// The keys that the script knows. Without any, every request may come in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    /// The key that is sent as it is.
    pub(crate) bearer: Option<String>,
    /// The credentials that requests are signed with.
    pub(crate) signed: Option<SigningKey>,
}

/// The credentials of an identity in AWS.
#[derive(Clone, Debug)]
pub(crate) struct SigningKey {
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) session_token: Option<String>,
}

impl Access {
    /// Checks the key or the signature of a request; `path` is the one that the client has sent.
    pub(crate) fn check(&self, request: &RecordedRequest, path: &str) -> Result<(), Refusal> {
        if self.bearer.is_none() && self.signed.is_none() {
            return Ok(());
        }
        let header = request.header("authorization").unwrap_or_default();
        if let Some(key) = header.strip_prefix("Bearer ") {
            return match self.bearer.as_deref() == Some(key) {
                true => Ok(()),
                false => Err(refusal(
                    "AccessDeniedException",
                    "Authentication failed: Please make sure your API Key is valid.",
                )),
            };
        }
        let Some(fields) = header.strip_prefix(ALGORITHM) else {
            return Err(refusal(
                "MissingAuthenticationTokenException",
                "Missing Authentication Token",
            ));
        };
        match &self.signed {
            Some(key) => key.check(request, path, fields),
            None => Err(unknown_key()),
        }
    }
}

fn refusal(code: &'static str, message: &str) -> Refusal {
    Refusal {
        code: Some(code),
        ..Refusal::new(403, message)
    }
}

fn unknown_key() -> Refusal {
    refusal(
        "UnrecognizedClientException",
        "The security token included in the request is invalid.",
    )
}

impl SigningKey {
    /// Checks a signature. `fields` are those of the header, after the algorithm.
    fn check(&self, request: &RecordedRequest, path: &str, fields: &str) -> Result<(), Refusal> {
        let field = |name: &str| {
            let mut fields = fields.split(',').map(str::trim);
            let value = fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
            value.unwrap_or_default()
        };
        let credential: Vec<_> = field("Credential").split('/').collect();
        let [id, date, region, "bedrock", "aws4_request"] = credential.as_slice() else {
            return Err(refusal(
                "IncompleteSignatureException",
                "The scope of the credential is not that of the service.",
            ));
        };
        let is_known = *id == self.id
            && request.header("x-amz-security-token") == self.session_token.as_deref();
        if !is_known {
            return Err(unknown_key());
        }
        let names: Vec<_> = field("SignedHeaders").split(';').collect();
        let time = request.header("x-amz-date").unwrap_or_default();
        let needed = ["host", "x-amz-date"]
            .iter()
            .all(|name| names.contains(name));
        let signs_token = self.session_token.is_none() || names.contains(&"x-amz-security-token");
        let canonical = canonical_request(request, path, &names);
        let scope = format!("{date}/{region}/bedrock/aws4_request");
        let text = format!(
            "{ALGORITHM}\n{time}\n{scope}\n{}",
            hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref())
        );
        let start = format!("AWS4{}", self.secret).into_bytes();
        let parts = [date, region, "bedrock", "aws4_request", text.as_str()];
        let signature = parts.iter().fold(start, |key, part| {
            let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
            hmac::sign(&key, part.as_bytes()).as_ref().to_vec()
        });
        if needed && signs_token && time.starts_with(*date) && hex(&signature) == field("Signature")
        {
            return Ok(());
        }
        Err(refusal(
            "InvalidSignatureException",
            "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access \
             Key and signing method. Consult the service documentation for details.",
        ))
    }
}

/// Returns the request in the form that is signed. Its path is encoded once more.
fn canonical_request(request: &RecordedRequest, path: &str, names: &[&str]) -> String {
    let mut encoded = String::new();
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            // A string takes all.
            byte => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    let mut headers = String::new();
    for name in names {
        let value = request.header(name).unwrap_or_default();
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(headers, "{name}:{value}");
    }
    let body = hex(digest::digest(&digest::SHA256, &request.bytes).as_ref());
    format!(
        "{}\n{encoded}\n{}\n{headers}\n{}\n{body}",
        request.method,
        request.query,
        names.join(";")
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
