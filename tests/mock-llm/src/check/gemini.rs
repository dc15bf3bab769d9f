//! Source: <https://ai.google.dev/api/generate-content>, and its pages on function calling and thought signatures.

use super::at::{At, Breaches};
use super::schemas;
use std::collections::BTreeSet;

const FIELDS: [&str; 9] = [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "safetySettings",
    "generationConfig",
    "cachedContent",
    "model",
    "labels",
];

/// The fields that a part may have next to its content.
const BESIDE: [&str; 4] = [
    "thought",
    "thoughtSignature",
    "videoMetadata",
    "mediaResolution",
];

pub(super) fn check(body: &At<'_>, model: &str, breaches: &mut Breaches) {
    known(body, &FIELDS, breaches);
    let contents = body.get("contents");
    breaches.filled(&contents);
    let contents = contents.items();
    turns(&contents, breaches);
    if let (Some(first), Some(last)) = (contents.first(), contents.last()) {
        breaches.tidy(
            first.get("role").text() == "user",
            first,
            "the first is the user's",
        );
        breaches.tidy(
            last.get("role").text() == "user",
            last,
            "the last is the user's",
        );
    }
    signatures(&contents, is_third(model), breaches);
    let system = body.get("systemInstruction");
    if !system.is_absent() {
        breaches.filled(&system.get("parts"));
        for part in system.get("parts").items() {
            let text = part.get("text");
            breaches.unless(!text.text().is_empty(), &text, "is text");
        }
    }
    tools(body, is_third(model), breaches);
}

/// Checks that calls come after a message of the user or results of tools, and are answered at once, all of them, in
/// one content.
fn turns(contents: &[At<'_>], breaches: &mut Breaches) {
    let mut before = "";
    let mut open: Vec<At<'_>> = Vec::new();
    for content in contents {
        known(content, &["role", "parts"], breaches);
        let role = content.get("role");
        if role.is_absent() {
            breaches.tidy(false, &role, "is there");
        } else {
            breaches.one_of(&role, &["user", "model", "function"]);
        }
        let alternates = role.text() != before;
        breaches.tidy(alternates, &role, "neither side speaks twice");
        let parts = content.get("parts");
        breaches.filled(&parts);
        let parts = parts.items();
        for part in &parts {
            self::part(part, role.text(), breaches);
        }
        responses(content, &parts, &open, breaches);
        open = parts
            .iter()
            .filter(|part| part.has("functionCall"))
            .map(|part| part.get("functionCall"))
            .collect();
        let follows = open.is_empty() || !matches!(before, "" | "model");
        breaches.unless(follows, content, "calls come behind the user or a response");
        before = role.text();
    }
    if let Some(last) = contents.last() {
        breaches.unless(
            open.is_empty(),
            last,
            "is not the last: its calls have no responses",
        );
    }
}

/// The service knows every field, and refuses others.
pub(super) fn known(at: &At<'_>, fields: &[&str], breaches: &mut Breaches) {
    let names = at.value.as_object().into_iter().flatten();
    for (name, _) in names.filter(|(name, _)| !fields.contains(&name.as_str())) {
        breaches.add(&at.get(name), "is not a field");
    }
}

const KINDS: [&str; 9] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];

fn part(part: &At<'_>, role: &str, breaches: &mut Breaches) {
    known(part, &[&KINDS[..], &BESIDE[..]].concat(), breaches);
    let kinds = KINDS.iter().filter(|kind| part.has(kind)).count();
    breaches.unless(kinds == 1, part, "holds one thing");
    if part.has("text") {
        let text = part.get("text");
        // A signature may be on a part without text.
        let says = !text.text().is_empty() || part.has("thoughtSignature");
        breaches.unless(text.is_text(), &text, "is text");
        breaches.tidy(says, &text, "is text that is not empty");
    }
    let signature = part.get("thoughtSignature");
    if !signature.is_absent() {
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte);
        let is_bytes = !signature.text().is_empty() && signature.text().bytes().all(is_base64);
        breaches.unless(
            is_bytes && role == "model",
            &signature,
            "is a model's, in base64",
        );
    }
    if part.has("functionCall") {
        let call = part.get("functionCall");
        breaches.unless(role == "model", &call, "is a model's");
        name(&call.get("name"), breaches);
        let arguments = call.get("args");
        let is_object = arguments.is_absent() || arguments.value.is_object();
        breaches.unless(is_object, &arguments, "is an object");
    }
    if part.has("functionResponse") {
        let response = part.get("functionResponse");
        breaches.unless(role == "user", &response, "is a user's");
        name(&response.get("name"), breaches);
        let of = response.get("response");
        breaches.unless(of.value.is_object(), &of, "is an object");
    }
    let data = part.get("inlineData");
    if !data.is_absent() {
        let is_whole = data.get("mimeType").is_text() && data.get("data").is_text();
        breaches.unless(is_whole, &data, "has a media type and data");
    }
    let file = part.get("fileData");
    if !file.is_absent() {
        let uri = file.get("fileUri");
        breaches.unless(uri.is_text(), &uri, "is an address");
    }
}

pub(super) fn name(at: &At<'_>, breaches: &mut Breaches) {
    let text = at.text();
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    let is_name = begins && text.len() <= 64 && text.bytes().all(is_allowed);
    breaches.unless(
        is_name,
        at,
        "begins with a letter, and has letters, digits and _.:-",
    );
}

/// Checks that there are as many responses as calls in the content before, of the same names in the same order.
fn responses(content: &At<'_>, parts: &[At<'_>], open: &[At<'_>], breaches: &mut Breaches) {
    let responses: Vec<_> = parts
        .iter()
        .filter(|part| part.has("functionResponse"))
        .map(|part| part.get("functionResponse"))
        .collect();
    let pairs = responses.len() == open.len()
        && responses.iter().zip(open).all(|(response, call)| {
            let id = response.get("id");
            response.get("name").value == call.get("name").value
                && (id.is_absent()
                    || call.get("id").is_absent()
                    || id.value == call.get("id").value)
        });
    breaches.unless(pairs, content, "answers the calls of the content before");
}

pub(super) fn is_third(model: &str) -> bool {
    let model = model.rsplit('/').next().unwrap_or_default();
    model.starts_with("gemini-3")
}

/// Checks that the first call of each content in the current turn has a signature, from the third generation on and
/// wherever the model gives its calls ids.
fn signatures(contents: &[At<'_>], is_third: bool, breaches: &mut Breaches) {
    let speaks = |content: &At<'_>| {
        let mut parts = content.get("parts").items().into_iter();
        content.get("role").text() == "user" && parts.any(|part| !part.has("functionResponse"))
    };
    let turn = contents.iter().rposition(speaks).map_or(0, |at| at + 1);
    for content in &contents[turn..] {
        let parts = content.get("parts").items();
        if let Some(first) = parts.iter().find(|part| part.has("functionCall")) {
            let is_signed = first.has("thoughtSignature");
            let is_asked = is_third || first.get("functionCall").has("id");
            breaches.unless(is_signed || !is_asked, first, "has a signature");
        }
    }
}

fn tools(body: &At<'_>, is_third: bool, breaches: &mut Breaches) {
    let mut names = BTreeSet::new();
    for tool in body.get("tools").items() {
        for function in tool.get("functionDeclarations").items() {
            let name = function.get("name");
            self::name(&name, breaches);
            let is_new = names.insert(name.text());
            breaches.unless(is_new, &name, "is a name of its own");
            let both = function.has("parameters") && function.has("parametersJsonSchema");
            breaches.unless(!both, &function, "has one schema");
            schemas::gemini(&function.get("parametersJsonSchema"), breaches);
        }
    }
    let has_own = |tool: &At<'_>| {
        let kinds = tool.value.as_object().into_iter().flatten();
        kinds
            .into_iter()
            .any(|(kind, _)| kind != "functionDeclarations")
    };
    breaches.unless(
        is_third || names.is_empty() || !body.get("tools").items().iter().any(has_own),
        &body.get("tools"),
        "has no functions beside tools that Gemini runs",
    );
    let config = body.get("generationConfig");
    schemas::gemini(&config.get("responseJsonSchema"), breaches);
    let has_form = config.get("responseMimeType").text() == "application/json";
    breaches.unless(
        !has_form || names.is_empty() || is_third,
        &config,
        "has no form of the answer beside tools",
    );
    let config = body.get("toolConfig").get("functionCallingConfig");
    if config.is_absent() {
        return;
    }
    let mode = config.get("mode");
    breaches.one_of(&mode, &["AUTO", "ANY", "NONE", "VALIDATED"]);
    let allowed = config.get("allowedFunctionNames");
    if !allowed.is_absent() {
        let is_forced = matches!(mode.text(), "ANY" | "VALIDATED");
        breaches.unless(is_forced, &allowed, "stands beside the mode ANY");
        for name in allowed.items() {
            breaches.unless(names.contains(name.text()), &name, "is the name of a tool");
        }
    }
}
