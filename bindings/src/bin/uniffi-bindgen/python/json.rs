//! JSON in uniffi's own module: any value, where uniffi has its text. A setting of uniffi's would do it, but whoever builds
//! the wheel gives uniffi none.

use anyhow::Context as _;

const BEGINNING: &str = "\nclass _UniffiFfiConverterTypeJsonValue:\n";

const END: &str = "\nJsonValue = str\n";

const VALUES: &str = r#"
def _json_text(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

class _UniffiFfiConverterTypeJsonValue:
    @staticmethod
    def write(value, buf):
        _UniffiFfiConverterString.write(_json_text(value), buf)

    @staticmethod
    def read(buf):
        return json.loads(_UniffiFfiConverterString.read(buf))

    @staticmethod
    def lift(value):
        return json.loads(_UniffiFfiConverterString.lift(value))

    @staticmethod
    def check_lower(value):
        _UniffiFfiConverterString.check_lower(_json_text(value))

    @staticmethod
    def lower(value):
        return _UniffiFfiConverterString.lower(_json_text(value))


JsonValue = typing.Any
"#;

/// The module with values for JSON.
///
/// # Errors
/// It is not as uniffi writes it.
pub(super) fn with_values(module: &str) -> anyhow::Result<String> {
    let is_missing =
        || "uniffi's module has no converter of `JsonValue`, or another one than it had";
    let start = module.find(BEGINNING).with_context(is_missing)?;
    let end = module[start..].find(END).with_context(is_missing)? + start;
    let rest = &module[end + END.len()..];
    let before = module[..start].replacen("\nimport os\n", "\nimport json\nimport os\n", 1);
    Ok(format!("{before}{VALUES}{rest}"))
}
