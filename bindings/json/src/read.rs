use crate::refused::Refused;
use serde::de::DeserializeOwned;

/// Reads what an app gives as JSON. `what` is what an error calls it.
///
/// # Errors
///
/// It is not what it should be. The error names the field.
pub(crate) fn read<T: DeserializeOwned>(what: &str, json: &str) -> Result<T, Refused> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path();
        if path.iter().next().is_none() {
            return Refused::argument(what, error.into_inner());
        }
        let field = format!("`{path}` of {what}");
        Refused::argument(&field, error.into_inner())
    })?;
    reader
        .end()
        .map_err(|error| Refused::argument(what, error))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::read;
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
}
