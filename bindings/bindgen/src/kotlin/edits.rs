//! Edits of the Kotlin that uniffi writes. An edit that does not find its place is an error: so a newer uniffi with
//! another form is noticed.

use super::{STYLE, ty};
use crate::model::{Shape, Shapes};
use anyhow::{Context as _, ensure};
use heck::ToLowerCamelCase as _;

/// The types of other libraries, by the names that the generated code has for them. An alias that apps can see would be
/// ambiguous next to the type itself.
pub(super) const IMPORTS: &str = "\
import java.time.Instant as Timestamp
import kotlin.time.Duration
import kotlinx.serialization.json.JsonElement as JsonValue
";

/// Edits uniffi's file, and reduces it to what an app sees.
///
/// # Errors
/// An edit does not find its place.
pub(super) fn edited(generated: &str, errors: &Shapes) -> anyhow::Result<String> {
    let mut text = with_times(generated);
    text = data_objects(&text);
    text = without_aliases(&text)?;
    for error in errors.0.values() {
        text = readable(&text, error).with_context(|| error.name.clone())?;
    }
    for (from, to) in EDITS {
        ensure!(text.contains(from), "uniffi no longer writes `{from}`");
        text = text.replace(from, to);
    }
    super::surface::reduced(&text)
}

/// Replacements of plain text.
const EDITS: [(&str, &str); 3] = [
    // The hand-written sources in the same package are compiled with every warning an error.
    (
        r#"@file:Suppress("NAME_SHADOWING")"#,
        r#"@file:Suppress("warnings")"#,
    ),
    // The app's code should run in the scope where its turn was begun, not in the global scope.
    (
        "val job = GlobalScope.launch coroutineBlock@ {",
        "val job = launchForCaller coroutineBlock@ {",
    ),
    // A thread of Stepwell's that has called once stays attached to the virtual machine: to attach it again costs more
    // than the call does.
    (
        "internal object uniffiRustFutureContinuationCallbackImpl: UniffiRustFutureContinuationCallback {\n",
        "internal object uniffiRustFutureContinuationCallbackImpl: UniffiRustFutureContinuationCallback {\n    init {\n        com.sun.jna.Native.setCallbackThreadInitializer(this, com.sun.jna.CallbackThreadInitializer(true, false, \"stepwell\"))\n    }\n\n",
    ),
];

/// Converts the default of a time, which uniffi writes as the number that crosses the FFI.
fn with_times(generated: &str) -> String {
    let lines = generated.split_inclusive('\n').map(|line| {
        let is_time = line.contains(": Duration = ") || line.contains(": Duration? = ");
        match line.rsplit_once("uL") {
            Some((before, after)) if is_time => format!("{before}.milliseconds{after}"),
            _ => line.to_owned(),
        }
    });
    lines.collect()
}

/// Makes variants without fields print as their names.
fn data_objects(generated: &str) -> String {
    let lines = generated.split_inclusive('\n').map(|line| {
        let is_variant = line.starts_with("    object ") && line.trim_end().ends_with("()");
        if is_variant {
            line.replacen("object", "data object", 1)
        } else {
            line.to_owned()
        }
    });
    lines.collect()
}

fn without_aliases(generated: &str) -> anyhow::Result<String> {
    let mut text = generated.to_owned();
    for name in ["Duration", "Timestamp", "JsonValue"] {
        let alias = format!("public typealias {name} = ");
        let at = text
            .find(&alias)
            .with_context(|| format!("uniffi no longer writes `{alias}`"))?;
        let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
        // The documentation of the object is on the lines above.
        let before = text[..at].trim_end();
        let from = if before.ends_with("*/") {
            before.rfind("/**").unwrap_or(at)
        } else {
            at
        };
        text.replace_range(from..end, "");
        // In an enum's variants the object is named with its package.
        for after in ['?', ' ', ',', ')', '>', '\n'] {
            let (long, short) = (
                format!("dev.stepwell.{name}{after}"),
                format!("{name}{after}"),
            );
            text = text.replace(&long, &short);
        }
    }
    let package = "package dev.stepwell\n";
    ensure!(
        text.contains(package),
        "uniffi no longer writes `{package}`"
    );
    Ok(text.replacen(package, &format!("{package}\n{IMPORTS}"), 1))
}

/// Gives an exception the message that Rust formats, and gives its base the fields that all exceptions of the kind
/// have.
fn readable(generated: &str, error: &Shape) -> anyhow::Result<String> {
    let name = error.name.replace("Error", "Exception");
    let (begin, end) = (
        format!("sealed class {name}: kotlin.Exception() {{\n"),
        "    companion object ErrorHandler",
    );
    let (before, rest) = generated
        .split_once(&begin)
        .with_context(|| format!("uniffi no longer writes `{}`", begin.trim()))?;
    let at = rest.find(end).context("its handler is missing")?;
    let (body, after) = rest.split_at(at);
    let shown = "    override fun toString(): String {";
    ensure!(body.contains(shown), "it has no sentence: export `Display`");
    let body = body.replace(shown, "    override val message: String get() {");
    let mut lines = String::new();
    let mut skipped = false;
    for line in body.split_inclusive('\n') {
        let is_dump = line.trim() == "override val message";
        if !is_dump && !skipped {
            lines.push_str(line);
        }
        // The getter is on the line below.
        skipped = is_dump;
    }
    let mut base = String::new();
    for field in error.common() {
        let field_name = field.name.to_lower_camel_case();
        let (doc, ty) = (STYLE.text(&field.doc, None), ty(&field.raw_ty)?);
        base.push_str(&format!(
            "    /** {doc} */\n    abstract val `{field_name}`: {ty}\n\n"
        ));
        let declared = format!("val `{field_name}`:");
        ensure!(lines.contains(&declared), "it has no `{declared}`");
        lines = lines.replace(&declared, &format!("override {declared}"));
    }
    Ok(format!("{before}{begin}{base}{lines}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Field, ShapeKind, Ty, Variant};
    use uniffi_meta::Type;

    #[test]
    fn a_times_default_is_a_time() {
        let of = |ty: &str| format!("    val `delay`: {ty} = 500uL \n");
        let time = "    val `delay`: Duration = 500.milliseconds \n";
        assert_eq!(with_times(&of("Duration")), time);
        assert_eq!(with_times(&of("kotlin.ULong")), of("kotlin.ULong"));
    }

    #[test]
    fn variants_without_fields_are_data() {
        let text =
            "    object Success : Outcome()\ninternal object X : Y()\n    companion object\n";
        let made = data_objects(text);
        assert_eq!(made, text.replacen("object", "data object", 1));
    }

    #[test]
    fn exceptions_can_be_read_by_their_base() {
        let field = Field {
            name: "reason".to_owned(),
            doc: "Why.".to_owned(),
            ty: Ty::Text,
            raw_ty: Type::String,
            default: None,
        };
        let error = Shape {
            name: "OddError".to_owned(),
            doc: String::new(),
            kind: ShapeKind::Enum(vec![Variant {
                name: "Odd".to_owned(),
                doc: String::new(),
                fields: vec![field],
            }]),
        };
        let text = "\
sealed class OddException: kotlin.Exception() {
    class Odd(
        val `reason`: kotlin.String
        ) : OddException() {
        override val message
            get() = \"reason=${ `reason` }\"
    }
    override fun toString(): String {
        return display()
    }
    companion object ErrorHandler
";
        let made = "\
sealed class OddException: kotlin.Exception() {
    /** Why. */
    abstract val `reason`: String

    class Odd(
        override val `reason`: kotlin.String
        ) : OddException() {
    }
    override val message: String get() {
        return display()
    }
    companion object ErrorHandler
";
        assert_eq!(readable(text, &error).expect("an exception"), made);
        let silent = text.replace("toString", "words");
        assert!(readable(&silent, &error).is_err());
    }
}
