//! How Rust is called: uniffi's functions of JNA become functions that take either JNA or `java.lang.foreign`, and a
//! buffer is no structure of JNA's any more. The package's own part is in `internal/Foreign.kt` and `internal/Jna.kt`.

use super::split::{is_declaration, preamble};
use anyhow::{Context as _, bail, ensure};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The declarations that the package has itself.
const OWN: [&str; 6] = [
    "internal open class RustBuffer :",
    "internal open class ForeignBytes :",
    "internal object FfiConverterByRefBytes :",
    "internal open class UniffiRustCallStatus :",
    "internal inline fun <U, E: kotlin.Exception> uniffiRustCallWithError(",
    "internal fun<E: kotlin.Exception> uniffiCheckCallStatus(",
];

/// The object with the functions of the library.
const LIBRARY: &str = "internal object UniffiLib {\n";

/// Edits of the rest.
const EDITS: [(&str, &str); 10] = [
    (
        "rbuf.data!!.getByteBuffer(0, rbuf.capacity).also {\n                it.order(ByteOrder.BIG_ENDIAN)\n            }",
        "rbuf.room()",
    ),
    (
        "rbuf.writeField(\"len\", bbuf.position().toLong())",
        "rbuf.len = bbuf.position().toLong()",
    ),
    ("rbuf.asByteBuffer()!!", "rbuf.content()"),
    ("value.asByteBuffer()!!", "value.content()"),
    (
        "            val byteArr = ByteArray(value.len.toInt())\n",
        "            val byteArr = ByteArray(Math.toIntExact(value.len))\n",
    ),
    (
        "callStatus.error_buf = FfiConverterString.lower(err)",
        "callStatus.error_buf = FfiConverterString.lower(err).jna()",
    ),
    (
        "callStatus.error_buf = lowerError(e)",
        "callStatus.error_buf = lowerError(e).jna()",
    ),
    (
        "    callStatus: UniffiRustCallStatus,\n",
        "    callStatus: JnaCallStatus,\n",
    ),
    ("UniffiRustCallStatus.ByValue", "JnaCallStatus.ByValue"),
    ("UniffiRustCallStatus.create(", "JnaCallStatus.create("),
];

/// Edits the insides.
///
/// # Errors
/// An edit does not find its place, or a function takes what there is no form for.
pub(super) fn insides(text: &str) -> anyhow::Result<String> {
    let mut text = text.to_owned();
    for declaration in OWN {
        text = without(&text, declaration)?;
    }
    for (from, to) in EDITS {
        ensure!(text.contains(from), "uniffi no longer writes `{from}`");
        text = text.replace(from, to);
    }
    text = results(&text)?;
    let lines: String = text.split_inclusive('\n').map(callback).collect();
    plain(&library(&lines)?)
}

/// Edits what an app sees.
///
/// # Errors
/// A class of JNA's is left.
pub(super) fn public(text: &str) -> anyhow::Result<String> {
    plain(text)
}

/// Gives buffers and frames their names in the package.
fn plain(text: &str) -> anyhow::Result<String> {
    let text = text
        .replace("JnaRustBuffer.ByValue", "Jna#")
        .replace(" RustBuffer.ByValue()", " RustBuffer.EMPTY")
        .replace("RustBuffer.ByValue", "RustBuffer")
        .replace("ForeignBytes.ByValue", "ForeignBytes")
        .replace("Jna#", "JnaRustBuffer.ByValue")
        .replace("UniffiRustCallStatusErrorHandler", "Handler#")
        .replace("UniffiRustCallStatus", "CallFrame")
        .replace("Handler#", "UniffiRustCallStatusErrorHandler");
    ensure!(!text.contains("asByteBuffer"), "a buffer is read by JNA");
    Ok(text)
}

/// Removes a declaration.
fn without(text: &str, declaration: &str) -> anyhow::Result<String> {
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let at = lines
        .iter()
        .position(|line| line.starts_with(declaration))
        .with_context(|| format!("uniffi no longer writes `{declaration}`"))?;
    let next = (at + 1..lines.len()).find(|next| is_declaration(lines[*next]));
    let end = next.map_or(lines.len(), |next| preamble(&lines, next));
    Ok([&lines[..preamble(&lines, at)], &lines[end..]]
        .concat()
        .concat())
}

/// Makes a callback of Rust's take JNA's structures.
fn callback(line: &str) -> String {
    if !line.contains("fun callback(") {
        return line.to_owned();
    }
    line.replace(": RustBuffer", ": JnaRustBuffer").replace(
        "uniffiCallStatus: UniffiRustCallStatus,",
        "uniffiCallStatus: JnaCallStatus,",
    )
}

/// Makes the result of a callback a structure of JNA's.
fn results(text: &str) -> anyhow::Result<String> {
    let begin = "internal open class UniffiForeignFutureResultRustBuffer(\n";
    let (before, rest) = text
        .split_once(begin)
        .with_context(|| format!("uniffi no longer writes `{begin}`"))?;
    let (class, after) = rest.split_once("\n}\n").context("it has no end")?;
    let field = "`returnValue`: RustBuffer.ByValue = RustBuffer.ByValue()";
    ensure!(class.matches(field).count() == 2, "it has other fields");
    let inner = "): UniffiForeignFutureResultRustBuffer(`returnValue`,";
    ensure!(class.contains(inner), "it has another inner class");
    let jna = "`returnValue`: JnaRustBuffer.ByValue = JnaRustBuffer.ByValue()";
    let class = class.replacen(field, jna, 1);
    let class = class.replace(
        inner,
        "): UniffiForeignFutureResultRustBuffer(`returnValue`.jna(),",
    );
    Ok(format!("{before}{begin}{class}\n}}\n{after}"))
}

/// A function of the library.
struct Function {
    name: String,
    /// The parameters, with the types that uniffi writes.
    parameters: Vec<(String, String)>,
    result: String,
}

/// Writes the functions of the library anew.
fn library(text: &str) -> anyhow::Result<String> {
    let (before, rest) = text
        .split_once(LIBRARY)
        .with_context(|| format!("uniffi no longer writes `{LIBRARY}`"))?;
    let (body, after) = rest.split_once("\n}\n").context("it has no end")?;
    let (head, externals) = body
        .split_once("    external fun ")
        .context("it has no functions")?;
    let register = "Native.register(UniffiLib::class.java,";
    ensure!(
        head.contains(register),
        "uniffi no longer writes `{register}`"
    );
    let head = head.replace(register, "Native.register(Callbacks::class.java,");
    let functions = externals
        .split("    external fun ")
        .map(function)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let (mut calls, mut jna, mut callbacks) = (String::new(), String::new(), String::new());
    let mut kinds = BTreeSet::new();
    for (number, function) in functions.iter().enumerate() {
        let is_vtable = |(_, ty): &(String, String)| ty.starts_with("UniffiVTable");
        if function.parameters.iter().any(is_vtable) {
            callbacks.push_str(&function.external(|ty| ty));
            let (name, [(parameter, ty)]) = (&function.name, &function.parameters[..]) else {
                bail!("`{}` takes more than its functions", function.name);
            };
            writeln!(
                calls,
                "    fun {name}({parameter}: {ty}) = Callbacks.{name}({parameter})"
            )?;
        } else {
            jna.push_str(&function.external(of_jna));
            calls.push_str(&function.call(number)?);
            kinds.insert(function.kind()?);
        }
    }
    let mut handles = String::new();
    for kind in kinds {
        // Each is made when it is first called.
        writeln!(
            handles,
            "private object Call{kind} {{\n    @JvmField val handle = Foreign.handle(\"{kind}\")\n}}\n"
        )?;
    }
    let object = |name: &str, register: bool, body: &str| {
        let register = if register {
            format!(
                "    init {{\n        Native.register({name}::class.java, findLibraryName(componentName = \"stepwell_ffi\"))\n    }}\n\n"
            )
        } else {
            String::new()
        };
        format!("internal object {name} {{\n{register}{body}}}\n")
    };
    Ok(format!(
        "{before}{LIBRARY}{head}{calls}}}\n\n{}\n{}\n{handles}{after}",
        object("Callbacks", false, &callbacks),
        object("JnaLib", true, &jna),
    ))
}

/// Reads a function after `external fun`.
fn function(text: &str) -> anyhow::Result<Function> {
    let read = || {
        let (name, rest) = text.split_once('(')?;
        let (parameters, result) = rest.rsplit_once("): ")?;
        let parameters = parameters.split(',').map(str::trim);
        let parameters = parameters
            .filter(|parameter| !parameter.is_empty())
            .map(|parameter| {
                let (name, ty) = parameter.split_once(':')?;
                Some((name.trim().to_owned(), ty.trim().to_owned()))
            });
        Some(Function {
            name: name.to_owned(),
            parameters: parameters.collect::<Option<_>>()?,
            result: result.trim().to_owned(),
        })
    };
    read().with_context(|| format!("uniffi writes functions in another form: {text}"))
}

/// A type as JNA takes it.
fn of_jna(ty: &str) -> &str {
    match ty {
        "RustBuffer.ByValue" => "JnaArgument",
        "ForeignBytes.ByValue" => "JnaBytes",
        "UniffiRustCallStatus" => "Pointer",
        other => other,
    }
}

/// The letter of a type for `Foreign.handle`.
fn letter(ty: &str) -> anyhow::Result<char> {
    Ok(match ty {
        "Unit" => 'V',
        "Long" => 'L',
        "Int" => 'I',
        "Short" => 'H',
        "Byte" => 'B',
        "Double" => 'D',
        "Float" => 'F',
        "RustBuffer.ByValue" => 'R',
        "ForeignBytes.ByValue" => 'Y',
        "UniffiRustCallStatus" => 'T',
        "UniffiRustFutureContinuationCallback" => 'C',
        other => bail!("there is no form for `{other}` in a call"),
    })
}

impl Function {
    fn kind(&self) -> anyhow::Result<String> {
        let types = self.parameters.iter().map(|(_, ty)| &ty[..]);
        std::iter::once(&self.result[..])
            .chain(types)
            .map(letter)
            .collect()
    }

    fn external(&self, of: fn(&str) -> &str) -> String {
        let parameters: String = self
            .parameters
            .iter()
            .map(|(name, ty)| format!("{name}: {}, ", of(ty)))
            .collect();
        let result = match &self.result[..] {
            "RustBuffer.ByValue" => "JnaResult",
            other => other,
        };
        format!("    external fun {}({parameters}): {result}\n", self.name)
    }

    fn call(&self, number: usize) -> anyhow::Result<String> {
        let Self { name, result, .. } = self;
        let is_buffer = result == "RustBuffer.ByValue";
        let (mut declared, mut foreign, mut jna) = (String::new(), String::new(), String::new());
        let mut frame = "CallFrame.forArguments()";
        let mut uses_frame = is_buffer;
        for (at, (parameter, ty)) in self.parameters.iter().enumerate() {
            write!(declared, "{parameter}: {ty}, ")?;
            match &ty[..] {
                "RustBuffer.ByValue" => {
                    uses_frame = true;
                    write!(foreign, "frame.buffer({at}, {parameter}), ")?;
                    write!(jna, "frame.buffer({at}, {parameter}), ")?;
                }
                "ForeignBytes.ByValue" => {
                    uses_frame = true;
                    write!(foreign, "frame.bytes({at}, {parameter}), ")?;
                    write!(jna, "frame.bytes({parameter}), ")?;
                }
                "UniffiRustCallStatus" => {
                    uses_frame = true;
                    frame = parameter;
                    foreign.push_str("frame.status, ");
                    jna.push_str("frame.status, ");
                }
                "UniffiRustFutureContinuationCallback" => {
                    foreign.push_str("Foreign.continuation as Any, ");
                    write!(jna, "{parameter}, ")?;
                }
                _ => {
                    write!(foreign, "{parameter}, ")?;
                    write!(jna, "{parameter}, ")?;
                }
            }
        }
        let memory = if is_buffer { "frame.result, " } else { "" };
        let foreign = format!(
            "Call{}.handle.invokeExact(Foreign.function({number}, \"{name}\"), {memory}{foreign})",
            self.kind()?
        );
        let (foreign, jna_result) = match &result[..] {
            "Unit" => (format!("{foreign} as Any?"), ""),
            "RustBuffer.ByValue" => (
                format!("{foreign} as Any?\n            return frame.result()"),
                ".plain()",
            ),
            other => (format!("return {foreign} as {other}"), ""),
        };
        let (given, cast, other) = if uses_frame {
            (
                format!("        val frame = {frame}\n"),
                "frame is ForeignFrame",
                "        frame as JnaFrame\n",
            )
        } else {
            (String::new(), "Foreign.isUsed", "")
        };
        let is_unit = result == "Unit";
        let end = if is_unit { "            return\n" } else { "" };
        let back = if is_unit { "" } else { "return " };
        Ok(format!(
            "    fun {name}({declared}): {result} {{\n{given}        if ({cast}) {{\n            {foreign}\n{end}        }}\n{other}        {back}JnaLib.{name}({jna}){jna_result}\n    }}\n"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIVE: &str = "receive(`ptr`: Long,`effect`: RustBuffer.ByValue,`bytes`: ForeignBytes.ByValue,uniffi_out_err: UniffiRustCallStatus, \n    ): RustBuffer.ByValue\n";

    #[test]
    fn a_function_takes_either_way() {
        let function = function(RECEIVE).expect("a function");
        assert_eq!(function.kind().expect("a kind"), "RLRYT");
        assert_eq!(
            function.external(of_jna),
            "    external fun receive(`ptr`: Long, `effect`: JnaArgument, `bytes`: JnaBytes, uniffi_out_err: Pointer, ): JnaResult\n"
        );
        assert_eq!(
            function.call(7).expect("a call"),
            "    fun receive(`ptr`: Long, `effect`: RustBuffer.ByValue, `bytes`: ForeignBytes.ByValue, uniffi_out_err: UniffiRustCallStatus, ): RustBuffer.ByValue {
        val frame = uniffi_out_err
        if (frame is ForeignFrame) {
            CallRLRYT.handle.invokeExact(Foreign.function(7, \"receive\"), frame.result, `ptr`, frame.buffer(1, `effect`), frame.bytes(2, `bytes`), frame.status, ) as Any?
            return frame.result()
        }
        frame as JnaFrame
        return JnaLib.receive(`ptr`, frame.buffer(1, `effect`), frame.bytes(`bytes`), frame.status, ).plain()
    }
"
        );
    }

    #[test]
    fn a_call_without_structures_needs_no_memory() {
        let free = function("free(`handle`: Long,\n    ): Unit\n").expect("a function");
        let call = free.call(3).expect("a call");
        assert!(!call.contains("frame"), "{call}");
        assert!(call.contains("if (Foreign.isUsed) {"), "{call}");
    }

    #[test]
    fn an_unknown_type_is_an_error() {
        let odd = function("odd(`it`: Odd,\n    ): Unit\n").expect("a function");
        assert!(odd.kind().is_err());
    }

    #[test]
    fn a_declaration_is_removed_with_its_comment() {
        let text = "// A.\ninternal class A {\n}\n\n// B.\ninternal class B {\n}\n// C.\ninternal class C\n";
        let made = without(text, "internal class B").expect("a declaration");
        assert_eq!(
            made,
            "// A.\ninternal class A {\n}\n// C.\ninternal class C\n"
        );
    }

    #[test]
    fn callbacks_take_structures() {
        assert_eq!(
            callback(
                "fun callback(`a`: Long,`b`: RustBuffer.ByValue,uniffiCallStatus: UniffiRustCallStatus,)\n"
            ),
            "fun callback(`a`: Long,`b`: JnaRustBuffer.ByValue,uniffiCallStatus: JnaCallStatus,)\n"
        );
        assert_eq!(
            plain(": RustBuffer.ByValue = x(JnaRustBuffer.ByValue())").expect("text"),
            ": RustBuffer = x(JnaRustBuffer.ByValue())"
        );
    }
}
