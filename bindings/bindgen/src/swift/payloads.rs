//! Edits of the Swift that uniffi writes: the values of an enum's case get a type of their own, so that a new value
//! breaks no pattern of an app, and the defaults of times become times.

use anyhow::{Context as _, ensure};
use heck::{ToLowerCamelCase as _, ToUpperCamelCase as _};

/// Enums that the app makes: their cases keep their values.
const MADE_BY_APPS: [&str; 6] = [
    "CompactionWay",
    "Decision",
    "ResponseFormat",
    "Resumption",
    "ToolChoice",
    "UserAnswer",
];

/// A value of a case.
struct Value<'a> {
    /// The comment before the value.
    doc: &'a str,
    name: &'a str,
    ty: &'a str,
}

/// Returns the generated source with a payload type for each case that has values.
///
/// # Errors
/// The source is not as uniffi writes it.
pub(super) fn with_payloads(generated: &str) -> anyhow::Result<String> {
    let mut text = with_times(generated);
    let marker = "\npublic enum ";
    let enums: Vec<String> = text
        .match_indices(marker)
        .filter_map(|(at, _)| {
            let line = text[at + marker.len()..].lines().next()?;
            let (name, conforms) = line.split_once(": ")?;
            conforms.starts_with("Equatable").then(|| name.to_owned())
        })
        .collect();
    for name in enums {
        if !MADE_BY_APPS.contains(&&name[..]) {
            rewrite(&mut text, &name).with_context(|| format!("the Swift enum `{name}`"))?;
        }
    }
    Ok(text)
}

/// Converts the defaults of times, which uniffi writes as the number that crosses the FFI.
fn with_times(generated: &str) -> String {
    let mut text = String::with_capacity(generated.len());
    let mut rest = generated;
    while let Some(at) = rest.find(" = UInt64(") {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let number = from.trim_start_matches(" = UInt64(");
        if before.ends_with("Duration") || before.ends_with("Duration?") {
            text.push_str(" = .milliseconds(");
        } else {
            text.push_str(" = UInt64(");
        }
        rest = number;
    }
    text.push_str(rest);
    text
}

fn rewrite(text: &mut String, name: &str) -> anyhow::Result<()> {
    let (start, end) = block(text, &format!("\npublic enum {name}: "))?;
    let mut body = text[start..end].to_owned();
    let named: Vec<_> = body
        .lines()
        .filter_map(|line| line.strip_prefix("    case ")?.strip_suffix('('))
        .map(|case| case.to_upper_camel_case())
        .collect();
    let mut payloads = String::new();
    let mut cases = Vec::new();
    let mut from = 0;
    while let Some(at) = body[from..].find("\n    case ") {
        let at = from + at + "\n    case ".len();
        from = at;
        let line = body[at..].lines().next().unwrap_or_default();
        let Some(case) = line.strip_suffix('(') else {
            continue;
        };
        let case = case.to_owned();
        let close = body[at..].find("\n    )").context("a case has no end")? + at;
        let payload = case.to_upper_camel_case();
        let values = values(&body[at + line.len() + 1..close])?;
        payloads.push_str(&declaration(&payload, &values, &named));
        cases.push((
            case.clone(),
            values.iter().map(|value| value.name.to_owned()).collect(),
        ));
        body.replace_range(at..close + "\n    )".len(), &format!("{case}({payload})"));
    }
    if cases.is_empty() {
        return Ok(());
    }
    body.push_str(&payloads);
    text.replace_range(start..end, &body);
    convert(text, name, &cases)
}

/// The part of the source that begins with `head`, up to the brace that closes it.
fn block(text: &str, head: &str) -> anyhow::Result<(usize, usize)> {
    let start = text
        .find(head)
        .with_context(|| format!("there is no `{}`", head.trim()))?;
    let end = text[start + 1..].find("\n}").context("it has no end")?;
    Ok((start, start + 1 + end))
}

fn values(inner: &str) -> anyhow::Result<Vec<Value<'_>>> {
    let mut values = Vec::new();
    let mut rest = inner;
    while let Some(at) = rest.find("*/") {
        let (doc, from) = rest.split_at(at + 2);
        let line = from.lines().next().unwrap_or_default();
        let (name, ty) = line
            .trim_end()
            .trim_end_matches(',')
            .split_once(": ")
            .with_context(|| format!("`{line}` is no value"))?;
        values.push(Value {
            doc: doc.trim_matches('\n'),
            name,
            ty,
        });
        rest = &from[line.len()..];
    }
    ensure!(
        !values.is_empty() && rest.trim().is_empty(),
        "its values are not as expected: `{}`",
        rest.trim()
    );
    Ok(values)
}

/// The declaration of the type of a case's values; `named` are all such types of the enum, which hide other types of
/// their names.
fn declaration(payload: &str, values: &[Value<'_>], named: &[String]) -> String {
    let ty = |ty: &str| match ty.trim_matches(['[', ']', '?']) {
        hidden if named.iter().any(|name| name == hidden) => {
            ty.replace(hidden, &format!("StepwellBindings.{hidden}"))
        }
        _ => ty.to_owned(),
    };
    let mut text = format!(
        "\n    /// What `{}` holds.\n    public struct {payload}: Equatable, Hashable, Sendable {{\n",
        payload.to_lower_camel_case()
    );
    for Value {
        doc,
        name,
        ty: plain,
    } in values
    {
        let ty = ty(plain);
        text.push_str(&format!("{doc}\n        public var {name}: {ty}\n"));
    }
    let parameters: Vec<_> = values
        .iter()
        .map(
            |Value {
                 name, ty: plain, ..
             }| {
                let ty = ty(plain);
                let default = if ty.ends_with('?') { " = nil" } else { "" };
                format!("{name}: {ty}{default}")
            },
        )
        .collect();
    let set: String = values
        .iter()
        .map(|Value { name, .. }| format!("            self.{name} = {name}\n"))
        .collect();
    text.push_str(&format!(
        "\n        public init({}) {{\n{set}        }}\n    }}\n",
        parameters.join(", ")
    ));
    text
}

/// Makes the converter read and write the values by way of their payload.
fn convert(text: &mut String, name: &str, cases: &[(String, Vec<String>)]) -> anyhow::Result<()> {
    let (start, end) = block(text, &format!("\npublic struct FfiConverterType{name}: "))?;
    let mut body = text[start..end].to_owned();
    for (case, values) in cases {
        let given = format!("return .{case}(");
        ensure!(body.contains(&given), "`{case}` is not read");
        let at = body.find(&given).unwrap_or_default() + given.len();
        let close = body[at..].find("\n        )").context("it has no end")? + at;
        body.insert(close, ')');
        body.insert_str(at, ".init(");
        let pattern = format!("case let .{case}({}):", values.join(","));
        let at = body
            .find(&pattern)
            .with_context(|| format!("`{case}` is not written"))?;
        let after = at + pattern.len();
        let until = body[after..]
            .find("case ")
            .map_or(body.len(), |next| after + next);
        let mut written = body[after..until].to_owned();
        for value in values {
            written = written.replace(
                &format!(".write({value}, into"),
                &format!(".write(payload.{value}, into"),
            );
        }
        body.replace_range(at..until, &format!("case let .{case}(payload):{written}"));
    }
    text.replace_range(start..end, &body);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::with_payloads;

    const GENERATED: &str = "
public enum Event: Equatable, Hashable {
    
    /**
     * A piece.
     */
    case text(
        /**
         * The message.
         */id: String, 
        /**
         * The piece.
         */delta: String?
    )
    /**
     * A list.
     */
    case waiting(
        /**
         * All.
         */waiting: [Waiting]
    )
    case over

}

public struct FfiConverterTypeEvent: FfiConverterRustBuffer {
        case 1: return .text(id: try A.read(from: &buf), delta: try B.read(from: &buf)
        )
        
        case 2: return .waiting(waiting: try A.read(from: &buf)
        )
        
        case 3: return .over

        case let .text(id,delta):
            writeInt(&buf, Int32(1))
            A.write(id, into: &buf)
            B.write(delta, into: &buf)

        case let .waiting(waiting):
            writeInt(&buf, Int32(2))
            A.write(waiting, into: &buf)

        case .over:
            writeInt(&buf, Int32(3))
}

public init(delay: Duration = UInt64(500), tool: Duration? = UInt64(300), seed: UInt64 = UInt64(0)) {}
";

    #[test]
    fn a_cases_values_stand_in_a_type_of_their_own() {
        let text = with_payloads(GENERATED).unwrap();
        for expected in [
            "    case text(Text)\n",
            "    case waiting(Waiting)\n    case over\n",
            // A type of the same name that is not of the case.
            "public var waiting: [StepwellBindings.Waiting]\n",
            "public struct Text: Equatable, Hashable, Sendable {",
            "         * The piece.\n         */\n        public var delta: String?\n",
            "public init(id: String, delta: String? = nil) {",
            "return .text(.init(id: try A.read(from: &buf), delta: try B.read(from: &buf))\n        )",
            "case let .text(payload):\n            writeInt(&buf, Int32(1))\n            A.write(payload.id, into: &buf)\n            \
             B.write(payload.delta, into: &buf)",
            "case .over:\n            writeInt(&buf, Int32(3))",
            "init(delay: Duration = .milliseconds(500), tool: Duration? = .milliseconds(300), seed: UInt64 = UInt64(0))",
        ] {
            assert!(text.contains(expected), "{expected}\n---\n{text}");
        }
    }

    #[test]
    fn what_is_not_as_uniffi_writes_it_is_refused() {
        let without_converter = GENERATED.replace("FfiConverterTypeEvent", "Other");
        assert!(with_payloads(&without_converter).is_err());
        let another_order = GENERATED.replace("(id,delta)", "(delta,id)");
        assert!(with_payloads(&another_order).is_err());
    }
}
