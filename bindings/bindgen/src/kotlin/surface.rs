//! The public part of the Kotlin that uniffi writes: the generator's insides become internal, numbers are signed, and
//! the package's own classes take the names of those that they stand in for.

use anyhow::{Context as _, ensure};

/// The generated classes whose names belong to classes that are written by hand.
const RENAMED: [(&str, &str); 6] = [
    ("Agent", "FfiAgent"),
    ("Conversation", "FfiConversation"),
    ("Turn", "FfiTurn"),
    ("Recovered", "FfiRecovered"),
    ("ToolContext", "FfiToolContext"),
    ("StepwellException", "CallException"),
];

/// The declarations that the hand-written sources use and an app does not, besides the generator's own.
const INTERNAL: [&str; 27] = [
    "AgentHook",
    "AgentInterface",
    "AgentSetup",
    "AgentTool",
    "Answerer",
    "Approver",
    "CallException",
    "CallbackException",
    "ConversationInterface",
    "CredentialSource",
    "Disposable",
    "Finished",
    "Hook",
    "InstructionsSource",
    "InternalException",
    "JournalSink",
    "ModelChooser",
    "NoHandle",
    "OutputDecoder",
    "RunSource",
    "RustBuffer",
    "StoreSetup",
    "StoredTurn",
    "ToolContextInterface",
    "ToolHandler",
    "Trimmer",
    "TurnInterface",
];

/// The functions for the hand-written sources alone.
const INTERNAL_FUNCTIONS: [&str; 6] = [
    "currentCaller",
    "eventToJson",
    "mediaPart",
    "newestMessages",
    "problemOf",
    "setLanguage",
];

/// Edits of what names something internal.
const EDITS: [(&str, &str); 11] = [
    (
        "    constructor(withHandle:",
        "    internal constructor(withHandle:",
    ),
    (
        "    constructor(noHandle:",
        "    internal constructor(noHandle:",
    ),
    (
        "    protected val cleanable:",
        "    internal val cleanable:",
    ),
    ("    protected val handle:", "    internal val handle:"),
    (
        "    fun uniffiCloneHandle()",
        "    internal fun uniffiCloneHandle()",
    ),
    (
        "    val uniffiIsDestroyed:",
        "    internal val uniffiIsDestroyed:",
    ),
    (
        "    companion object ErrorHandler :",
        "    internal companion object ErrorHandler :",
    ),
    (
        "inline fun <T : Disposable?, R> T.use(",
        "internal inline fun <T : Disposable?, R> T.use(",
    ),
    // An object is closed. Records alone are disposed of, with the objects in them.
    (": Disposable, AutoCloseable, ", ": AutoCloseable, "),
    (
        "    override fun destroy() {\n        // Only allow a single call",
        "    internal fun destroy() {\n        // Only allow a single call",
    ),
    (
        "                    is Disposable -> arg.destroy()\n",
        "                    is Disposable -> arg.destroy()\n                    is AutoCloseable -> arg.close()\n",
    ),
];

/// The numbers, as uniffi writes them and as an app sees them.
const SIGNED: [(&str, &str); 3] = [("UShort", "Int"), ("UInt", "Int"), ("ULong", "Long")];

/// Makes of uniffi's edited file what an app sees.
///
/// # Errors
/// An edit does not find its place.
pub(super) fn reduced(generated: &str) -> anyhow::Result<String> {
    let mut text: String = generated.split_inclusive('\n').map(renamed).collect();
    text = text.split_inclusive('\n').map(internal).collect();
    for (from, to) in EDITS {
        ensure!(text.contains(from), "uniffi no longer writes `{from}`");
        text = text.replace(from, to);
    }
    for name in INTERNAL_FUNCTIONS {
        let from = format!(" fun `{name}`(");
        ensure!(text.contains(&from), "there is no `{name}`");
        text = text.replace(&from, &format!(" internal{from}"));
    }
    super::interfaces::removed(&signed(&thrown(&text)?)?)
}

/// Renames the classes in a line of code.
fn renamed(line: &str) -> String {
    let start = line.trim_start();
    if start.starts_with("//") || start.starts_with("/*") || start.starts_with("* ") {
        return line.to_owned();
    }
    let mut made = String::with_capacity(line.len());
    let mut rest = line;
    while !rest.is_empty() {
        let is_word = |char: char| char.is_alphanumeric() || char == '_';
        let end = rest.find(|char| !is_word(char)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let new = RENAMED.iter().find(|(old, _)| *old == word);
        made.push_str(new.map_or(word, |(_, new)| new));
        let next = after.find(is_word).unwrap_or(after.len());
        let (between, after) = after.split_at(next);
        made.push_str(between);
        rest = after;
    }
    made
}

/// Makes a declaration internal, if the line begins one that is not for apps.
fn internal(line: &str) -> String {
    let declaration = line.strip_prefix("public ").unwrap_or(line);
    let kinds = [
        "abstract class ",
        "open class ",
        "sealed class ",
        "data class ",
        "class ",
        "interface ",
        "object ",
        "fun ",
    ];
    let Some(rest) = kinds.iter().find_map(|kind| declaration.strip_prefix(kind)) else {
        return line.to_owned();
    };
    let end = rest.find(|char: char| !char.is_alphanumeric());
    let name = &rest[..end.unwrap_or(rest.len())];
    let is_generators = ["Ffi", "Uniffi", "uniffi"]
        .iter()
        .any(|start| name.starts_with(start));
    if is_generators || name.ends_with("Impl") || INTERNAL.contains(&name) {
        format!("internal {declaration}")
    } else {
        line.to_owned()
    }
}

/// Makes calls throw the exceptions of the package's own tree.
fn thrown(text: &str) -> anyhow::Result<String> {
    let handler = "UniffiRustCallStatusErrorHandler<CallException> {
        override fun lift(error_buf: RustBuffer.ByValue): CallException = FfiConverterTypeStepwellError.lift(error_buf)";
    ensure!(
        text.contains(handler),
        "uniffi no longer writes `{handler}`"
    );
    let own = "UniffiRustCallStatusErrorHandler<StepwellException> {
        override fun lift(error_buf: RustBuffer.ByValue): StepwellException = FfiConverterTypeStepwellError.lift(error_buf).forCaller()";
    let text = text.replace(handler, own);
    Ok(text.replace(
        "@Throws(CallException::class)",
        "@Throws(StepwellException::class)",
    ))
}

/// Makes numbers signed. None of them is negative: Rust's are not.
fn signed(text: &str) -> anyhow::Result<String> {
    let mut text = text.to_owned();
    for (unsigned, signed) in SIGNED {
        let begin = format!("internal object FfiConverter{unsigned}: ");
        let at = text
            .find(&begin)
            .with_context(|| format!("there is no `{begin}`"))?;
        let end = at + text[at..].find("\n}\n").context("it has no end")?;
        let mut body = text[at..end].to_owned();
        // A number is checked when it goes to Rust.
        let narrow = match unsigned {
            "UShort" => "toShort()",
            "UInt" => "toInt()",
            _ => "toLong()",
        };
        let widened = match unsigned {
            "UShort" => "value.toInt() and 0xffff",
            _ => "value",
        };
        body = body.replace(&format!("value.to{unsigned}()"), widened);
        body = body.replace(
            &format!("value.{narrow}"),
            &format!("value.notNegative().{narrow}"),
        );
        body = replaced_word(&body, unsigned, signed);
        text.replace_range(at..end, &body);
        text = text.replace(&format!("kotlin.{unsigned}"), &format!("kotlin.{signed}"));
    }
    let lines = text.split_inclusive('\n').map(|line| {
        let is_number = line.contains("kotlin.Int") || line.contains("kotlin.Long");
        match line.rsplit_once(" = ") {
            Some((before, value)) if is_number => {
                let value =
                    value
                        .replacen("uL", "L", 1)
                        .replacen('u', "", usize::from(is_literal(value)));
                format!("{before} = {value}")
            }
            _ => line.to_owned(),
        }
    });
    Ok(lines.collect())
}

/// Returns whether a default is a number such as `10u`.
fn is_literal(value: &str) -> bool {
    let digits = value.trim_start_matches(|char: char| char.is_ascii_digit());
    digits.len() < value.len() && digits.starts_with('u') && !digits.starts_with("uL")
}

/// Replaces a type that stands alone.
fn replaced_word(text: &str, from: &str, to: &str) -> String {
    let mut text = text.to_owned();
    for (before, after) in [
        (": ", ")"),
        (": ", " "),
        ("<", ","),
        (": ", " {"),
        (": ", ", buf"),
    ] {
        let (from, to) = (
            format!("{before}{from}{after}"),
            format!("{before}{to}{after}"),
        );
        text = text.replace(&from, &to);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_renamed_in_code_alone() {
        assert_eq!(
            renamed("    fun x(): Turn = Turn(TurnKey())\n"),
            "    fun x(): FfiTurn = FfiTurn(TurnKey())\n"
        );
        assert_eq!(renamed("     * An Agent.\n"), "     * An Agent.\n");
    }

    #[test]
    fn insides_are_internal() {
        assert_eq!(
            internal("public object FfiConverterTypeApi: X {\n"),
            "internal object FfiConverterTypeApi: X {\n"
        );
        assert_eq!(
            internal("open class StoreImpl: X {\n"),
            "internal open class StoreImpl: X {\n"
        );
        assert_eq!(
            internal("public interface Store {\n"),
            "public interface Store {\n"
        );
    }

    #[test]
    fn a_number_is_signed() {
        let text = "\
internal object FfiConverterUShort: FfiConverter<UShort, Short> {
}
internal object FfiConverterUInt: FfiConverter<UInt, Int> {
    override fun lift(value: Int): UInt {
        return value.toUInt()
    }
    override fun lower(value: UInt): Int {
        return value.toInt()
    }
    override fun allocationSize(value: UInt) = 4UL
}
internal object FfiConverterULong: FfiConverter<ULong, Long> {
}
    val `a`: kotlin.UInt = 10u 
    val `b`: kotlin.ULong = 9uL 
    val `c`: kotlin.UInt? = null 
";
        let made = "\
internal object FfiConverterUShort: FfiConverter<Int, Short> {
}
internal object FfiConverterUInt: FfiConverter<Int, Int> {
    override fun lift(value: Int): Int {
        return value
    }
    override fun lower(value: Int): Int {
        return value.notNegative().toInt()
    }
    override fun allocationSize(value: Int) = 4UL
}
internal object FfiConverterULong: FfiConverter<Long, Long> {
}
    val `a`: kotlin.Int = 10 
    val `b`: kotlin.Long = 9L 
    val `c`: kotlin.Int? = null 
";
        assert_eq!(signed(text).expect("numbers"), made);
    }
}
