//! Edits of uniffi's own module that turn texts and numbers into Python's own values: any JSON, durations in seconds,
//! points in time as `datetime`. uniffi has settings for that, but maturin passes none.

use anyhow::Context as _;

/// A type of the library that crosses as another.
struct Value {
    name: &'static str,
    /// The type that crosses the FFI: uniffi's name of its converter, and Python's type.
    crosses: (&'static str, &'static str),
    /// Python's own type.
    ty: &'static str,
    /// Functions that convert a value, `lifted` and `lowered` among them.
    functions: &'static str,
    lifted: &'static str,
    lowered: &'static str,
}

const VALUES: [Value; 3] = [
    Value {
        name: "JsonValue",
        crosses: ("String", "str"),
        ty: "typing.Any",
        functions: r#"
def _json_text(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
"#,
        lifted: "json.loads",
        lowered: "_json_text",
    },
    Value {
        name: "Duration",
        crosses: ("UInt64", "int"),
        ty: "float",
        functions: r#"
def _seconds(milliseconds):
    return milliseconds / 1000

def _whole_milliseconds(seconds):
    return round(seconds * 1000)
"#,
        lifted: "_seconds",
        lowered: "_whole_milliseconds",
    },
    // Converted as whole milliseconds both ways, so that a value returns unchanged.
    Value {
        name: "Timestamp",
        crosses: ("UInt64", "int"),
        ty: "datetime.datetime",
        functions: r#"
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_LAST = (datetime.datetime.max.replace(tzinfo=datetime.timezone.utc) - _EPOCH) // _MILLISECOND

def _point_in_time(milliseconds):
    return _EPOCH + min(milliseconds, _LAST) * _MILLISECOND

def _since_epoch(at):
    if at.tzinfo is None:
        raise ValueError("a time without a time zone may be any: take `datetime.now(timezone.utc)`")
    return (at - _EPOCH) // _MILLISECOND
"#,
        lifted: "_point_in_time",
        lowered: "_since_epoch",
    },
];

/// Returns the module with the converters of these values.
///
/// # Errors
/// A converter is not as uniffi writes it.
pub(super) fn with_values(module: &str) -> anyhow::Result<String> {
    let mut text = module.replacen("\nimport os\n", "\nimport json\nimport os\n", 1);
    for value in &VALUES {
        let name = value.name;
        let (converter, crosses) = value.crosses;
        let is_missing =
            || format!("uniffi's module has no converter of `{name}`, or another one than it had");
        let head = format!("\nclass _UniffiFfiConverterType{name}:\n");
        let end = format!("\n{name} = {crosses}\n");
        let start = text.find(&head).with_context(is_missing)?;
        let stop = text[start..].find(&end).with_context(is_missing)? + start;
        let Value {
            ty,
            functions,
            lifted,
            lowered,
            ..
        } = value;
        let of = format!("_UniffiFfiConverter{converter}");
        let own = format!(
            "{functions}{head}    @staticmethod\n    def write(value, buf):\n        {of}.write({lowered}(value), buf)\n\n\
             \x20   @staticmethod\n    def read(buf):\n        return {lifted}({of}.read(buf))\n\n\
             \x20   @staticmethod\n    def lift(value):\n        return {lifted}({of}.lift(value))\n\n\
             \x20   @staticmethod\n    def check_lower(value):\n        {of}.check_lower({lowered}(value))\n\n\
             \x20   @staticmethod\n    def lower(value):\n        return {of}.lower({lowered}(value))\n\n\n{name} = {ty}\n"
        );
        text.replace_range(start..stop + end.len(), &own);
    }
    Ok(with_times(&text))
}

/// Converts the defaults of durations, which uniffi writes as the number that crosses the FFI.
fn with_times(module: &str) -> String {
    let mut text = String::with_capacity(module.len());
    let mut rest = module;
    while let Some(at) = rest.find("Duration") {
        let after = rest[at..].trim_start_matches("Duration");
        let after = after.strip_prefix(']').unwrap_or(after);
        let number = after.strip_prefix(" = ").unwrap_or_default();
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, next) = number.split_at(digits);
        match digits.parse::<u64>() {
            Ok(milliseconds) => {
                text.push_str(&rest[..rest.len() - number.len()]);
                text.push_str(&format!("{:?}", milliseconds as f64 / 1000.0));
                rest = next;
            }
            Err(_) => {
                text.push_str(&rest[..rest.len() - after.len()]);
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::{with_times, with_values};

    #[test]
    fn a_times_default_is_in_seconds() {
        let of =
            |ty: &str| format!("self, *, delay:{ty} = 500, jitter:float = 0.2, attempts:int = 500");
        let expected = of("Duration").replacen("500", "0.5", 1);
        assert_eq!(with_times(&of("Duration")), expected);
        let optional = "typing.Optional[Duration]";
        assert_eq!(
            with_times(&of(optional)),
            expected.replace("Duration", optional)
        );
        assert_eq!(with_times("Duration = float\n"), "Duration = float\n");
        assert_eq!(with_times(&of("int")), of("int"));
    }

    #[test]
    fn what_is_not_as_uniffi_writes_it_is_refused() {
        let converter = |name: &str, ty: &str| {
            format!("\nclass _UniffiFfiConverterType{name}:\n    pass\n\n{name} = {ty}\n")
        };
        let module = converter("JsonValue", "str")
            + &converter("Duration", "int")
            + &converter("Timestamp", "int");
        let text = with_values(&module).expect("it is as uniffi writes it");
        assert!(text.contains("\nTimestamp = datetime.datetime\n"), "{text}");
        assert!(with_values(&module.replace("Duration = int", "Duration = str")).is_err());
    }
}
