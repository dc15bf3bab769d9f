use super::used_up::is_used_up;
use super::wait;
use serde_json::Value;
use std::time::Duration;

/// The maximum number of bytes of a body in an error message.
const EXCERPT: usize = 600;

/// An error, as the provider reports it.
#[derive(Debug)]
pub(super) struct Report {
    /// The error message.
    pub(super) message: String,
    /// The code or type that names the error best.
    pub(super) code: Option<String>,
    /// All codes, types, statuses and reasons in the body, in lower case.
    pub(super) terms: Vec<String>,
    /// The retry delay that a field asks for.
    wait: Option<Duration>,
}

impl Report {
    pub(super) fn new(message: String, code: Option<String>) -> Self {
        let terms = code.iter().map(|code| code.to_lowercase()).collect();
        Self {
            message,
            code,
            terms,
            wait: None,
        }
    }

    pub(super) fn read(body: &[u8]) -> Self {
        let value = serde_json::from_slice::<serde_json::Value>(body).ok();
        if let Some(value) = &value {
            log_unread_output(value);
        }
        Self::of(value.as_ref(), body)
    }

    /// Creates a report from a body, whose JSON is `value`.
    pub(super) fn of(value: Option<&Value>, body: &[u8]) -> Self {
        let described = value.and_then(describe);
        let (message, code) = described.unwrap_or_else(|| (excerpt(body), None));
        let mut report = Self::new(message, code);
        if let Some(body) = value {
            report.collect(body);
        }
        // An exhausted balance is more specific than any other code.
        let used_up = |term: &&String| is_used_up(Some(term), "");
        if let Some(term) = report.terms.iter().find(used_up) {
            report.code = Some(term.clone());
        }
        report
    }

    /// Adds the name of the error, as it stands outside of the body: it is the code that names the error best.
    pub(super) fn name(&mut self, name: &str) {
        let name = short_name(name);
        if !name.is_empty() {
            self.terms.push(name.to_lowercase());
            self.code = Some(name.to_owned());
        }
    }

    /// Returns the retry delay that a field or the message asks for.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.wait.or_else(|| wait::in_words(&self.message))
    }

    fn collect(&mut self, body: &Value) {
        let body = first(body);
        let error = inner(body);
        for object in [body, error] {
            for field in ["code", "type", "status", "reason"] {
                self.term(object.get(field));
            }
            let name = object.get(AWS_TYPE).and_then(Value::as_str);
            self.terms
                .extend(name.map(|name| short_name(name).to_lowercase()));
        }
        // OpenRouter: why a request was moderated, the wait, the upstream's own error.
        let metadata = &error["metadata"];
        if metadata["reasons"].is_array() && !metadata["flagged_input"].is_null() {
            self.terms.push("moderation".to_owned());
        }
        self.term(metadata.get("error_type"));
        if let Some(upstream) = upstream(error) {
            let upstream = inner(&upstream);
            for field in ["code", "type", "status"] {
                self.term(upstream.get(field));
            }
        }
        // Azure's reason lies deeper.
        self.term(error.pointer("/innererror/code"));
        // Google's `ErrorInfo` and `RetryInfo`.
        for detail in error["details"].as_array().into_iter().flatten() {
            self.term(detail.get("reason"));
            let delay = detail.get("retryDelay").and_then(Value::as_str);
            self.wait = self.wait.or_else(|| wait::read(delay?));
        }
        for object in [error, metadata] {
            for field in ["retry_after", "retry_after_seconds", "retryAfter"] {
                let seconds = object.get(field).and_then(Value::as_f64);
                self.wait = self.wait.or_else(|| wait::seconds(seconds?));
            }
        }
    }

    fn term(&mut self, value: Option<&Value>) {
        match value {
            Some(Value::String(term)) => self.terms.push(term.to_lowercase()),
            Some(Value::Number(number)) => self.terms.push(number.to_string()),
            _ => {}
        }
    }
}

/// The field with the name of an error of AWS.
const AWS_TYPE: &str = "__type";

/// Returns the name of an error of AWS without its namespace before it and its address after it:
/// `com.amazon.coral.service#AccessDeniedException`, `ValidationException:http://…`.
fn short_name(name: &str) -> &str {
    let name = name.split(':').next().unwrap_or(name);
    name.rsplit('#').next().unwrap_or(name).trim()
}

/// Returns the message and the code or type of an error object, in any of the providers' forms.
pub(crate) fn describe(body: &Value) -> Option<(String, Option<String>)> {
    let body = first(body);
    let error = inner(body);
    let message = match error {
        Value::String(text) => text.clone(),
        _ => words(
            // The capital one is of AWS.
            ["message", "Message", "detail", "title"]
                .iter()
                .find_map(|field| error.get(*field).filter(|value| !value.is_null()))?,
        ),
    };
    let code = ["code", "type", "status"].iter().find_map(|field| {
        let value = error.get(field).or_else(|| body.get(field))?;
        (!value.is_null()).then(|| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        })
    });
    let code = code.or_else(|| {
        let name = error.get(AWS_TYPE)?.as_str()?;
        Some(short_name(name).to_owned())
    });
    let message = match error["metadata"]["raw"].as_str() {
        Some(raw) => {
            let said = upstream(error).and_then(|upstream| Some(describe(&upstream)?.0));
            let said = said.unwrap_or_else(|| excerpt(raw.as_bytes()));
            format!("{message}: {said}")
        }
        None => message,
    };
    Some((message, code))
}

/// Returns the error object, which Google sends in an array.
fn first(body: &Value) -> &Value {
    match body {
        Value::Array(all) => all.first().unwrap_or(body),
        body => body,
    }
}

fn inner(body: &Value) -> &Value {
    body.get("error")
        .filter(|error| !error.is_null())
        .unwrap_or(body)
}

/// Returns the answer of the provider behind a gateway (OpenRouter's `metadata.raw`), if it is JSON. Only one gateway
/// deep: an upstream's own `metadata` is left out.
fn upstream(error: &Value) -> Option<Value> {
    let mut upstream: Value = serde_json::from_str(error["metadata"]["raw"].as_str()?).ok()?;
    for object in [Some("/error/metadata"), Some("/metadata")] {
        if let Some(metadata) = object.and_then(|pointer| upstream.pointer_mut(pointer)) {
            metadata.take();
        }
    }
    upstream.is_object().then_some(upstream)
}

/// Returns a text unchanged. Of a list of validation errors it returns each entry's place and message; of any other
/// JSON its text.
fn words(value: &Value) -> String {
    let listed = value.get("detail").unwrap_or(value);
    let entries = listed.as_array().and_then(|entries| {
        let said: Option<Vec<_>> = entries.iter().map(entry).collect();
        said.filter(|said| !said.is_empty())
    });
    match (value.as_str(), entries) {
        (Some(text), _) => text.to_owned(),
        (None, Some(entries)) => entries.join("; "),
        (None, None) => value.to_string(),
    }
}

/// Formats one entry of a validation error: `{"loc":["body","model"],"msg":"Field required"}`.
fn entry(entry: &Value) -> Option<String> {
    let words = entry.get("msg")?.as_str()?;
    let place = entry.get("loc").and_then(Value::as_array);
    let place = place.into_iter().flatten().map(|step| {
        step.as_str()
            .map_or_else(|| step.to_string(), str::to_owned)
    });
    let place = place.collect::<Vec<_>>().join(".");
    Some(if place.is_empty() {
        words.to_owned()
    } else {
        format!("{place}: {words}")
    })
}

/// Logs the model's output that the provider could not parse. It is logged at debug level only, because it is the
/// model's text.
pub(super) fn log_unread_output(body: &Value) {
    let error = body.get("error").unwrap_or(body);
    if let Some(output) = error.get("failed_generation") {
        let output = match output.as_str() {
            Some(text) => excerpt(text.as_bytes()),
            None => excerpt(output.to_string().as_bytes()),
        };
        tracing::debug!(target: "stepwell", failed_generation = output, "the provider could not read what the model wrote");
    }
}

/// Returns the beginning of a body as one line.
pub fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(EXCERPT)]);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        "(an empty body)".to_owned()
    } else {
        line
    }
}
