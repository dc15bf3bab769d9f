use crate::refused::Refused;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Reads JSON from an app. Errors call it `what`.
///
/// # Errors
///
/// The JSON is not of the expected form. The error names the field.
pub(crate) fn read<T: DeserializeOwned>(what: &str, json: &str) -> Result<T, Refused> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path();
        if path.iter().next().is_none() {
            return Refused::argument(what, without_content(error.inner()));
        }
        let field = format!("`{path}` of {what}");
        Refused::argument(&field, without_content(error.inner()))
    })?;
    reader
        .end()
        .map_err(|error| Refused::argument(what, error))?;
    Ok(value)
}

/// A longer name is not a misspelled one.
const LONGEST_NAME_BYTES: usize = 48;

/// Describes what is wrong with the JSON, without its content, which may be a user's message or a key.
fn without_content(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let text = message.split_once("string \"").and_then(|(before, rest)| {
        let (_, after) = rest.rsplit_once("\", expected ")?;
        Some(format!("{before}a string, expected {after}"))
    });
    if let Some(text) = text {
        return text;
    }
    let name = message.split_once('`').and_then(|(before, rest)| {
        let (name, after) = rest.rsplit_once("`, expected ")?;
        (name.len() > LONGEST_NAME_BYTES).then(|| format!("{before}`…`, expected {after}"))
    });
    name.unwrap_or(message)
}

/// Reads a call, an object whose field `tag` names it: as `{"NAME": {…}}`, which is serde's form of an enum. An enum
/// tagged by a field would have another copy of the code that reads each type in it.
///
/// # Errors
///
/// The JSON is not of the expected form. The error names the call.
pub(crate) fn read_call<T: DeserializeOwned>(tag: &'static str, json: &str) -> Result<T, Refused> {
    let refused = |reason: String| Refused::argument("the call", reason);
    let value: Value = serde_json::from_str(json).map_err(|error| refused(error.to_string()))?;
    let Value::Object(mut fields) = value else {
        return Err(refused("it is not an object".to_owned()));
    };
    let Some(Value::String(name)) = fields.shift_remove(tag) else {
        return Err(refused(format!("`{tag}` does not name it")));
    };
    let what = format!("the call `{name}`");
    let call = Map::from_iter([(name, Value::Object(fields))]);
    T::deserialize(Value::Object(call))
        .map_err(|error| Refused::argument(&what, without_content(&error)))
}

#[cfg(test)]
mod tests {
    use super::{Refused, read, read_call};
    use crate::call::{Question, Told};
    use stepwell_ffi::RunConfig;

    #[test]
    fn an_error_names_the_field() {
        let tools = r#"{"provider":"openai","tools":[{"name":"add"}]}"#;
        for (json, field) in [
            (r#"{"model":3}"#, "`model` of the configuration: "),
            (
                r#"{"settings":{"temprature":0}}"#,
                "`settings.temprature` of the configuration: unknown field",
            ),
            (tools, "`tools[0]` of the configuration: missing field"),
            (r#"{"model":"#, "`model` of the configuration: EOF"),
            ("[]", "the configuration: "),
            (r#"{"provider":"openai"} ?"#, "the configuration: trailing"),
        ] {
            let refused = read::<RunConfig>("the configuration", json).unwrap_err();
            assert!(refused.reason.starts_with(field), "{}", refused.reason);
        }
    }
    #[test]
    fn an_error_has_none_of_the_content() {
        let said = format!("\"The secret\", expected {}", "of all ".repeat(20));
        for json in [
            serde_json::json!({ "limits": said }),
            serde_json::json!({ "provider": "openai", "tools": [said] }),
            serde_json::json!({ "device": { "background": said } }),
        ] {
            let refused = read::<RunConfig>("the configuration", &json.to_string());
            let Refused { reason, .. } = refused.unwrap_err();
            assert!(
                !reason.contains("secret") && reason.contains("expected"),
                "{reason}"
            );
        }
        let told = serde_json::json!({ "input": "steer", "message": said }).to_string();
        let Refused { reason, .. } = read_call::<Told>("input", &told).map(|_| ()).unwrap_err();
        assert!(!reason.contains("secret"), "{reason}");
        let refused = read::<RunConfig>("it", r#"{"limit":1}"#).unwrap_err();
        assert!(refused.reason.contains("`limit`"), "{}", refused.reason);
    }

    #[test]
    fn a_call_is_named_and_an_error_names_it() {
        let told = |json| read_call::<Told>("input", json).map(|_| ());
        assert!(told(r#"{"input":"cancel"}"#).is_ok());
        assert!(told(r#"{"message":"","input":"lost","effect":"open:0:0"}"#).is_ok());
        for (json, reason) in [
            ("[]", "the call: it is not an object"),
            ("{}", "the call: `input` does not name it"),
            (r#"{"input":3}"#, "the call: `input` does not name it"),
            (
                r#"{"input":"lost"}"#,
                "the call `lost`: missing field `effect`",
            ),
            (
                r#"{"input":"cancel","a":1}"#,
                "the call `cancel`: unknown field `a`",
            ),
            (
                r#"{"input":"persisted","effect":1}"#,
                "the call `persisted`: invalid type: integer `1`",
            ),
            (
                r#"{"input":"nothing"}"#,
                "the call `nothing`: unknown variant",
            ),
        ] {
            let refused = told(json).unwrap_err();
            assert!(refused.reason.starts_with(reason), "{}", refused.reason);
        }
        assert!(read_call::<Question>("ask", r#"{"ask":"text"}"#).is_ok());
    }
}
