//! Reads the records, enums and methods from the metadata that uniffi keeps in the library.

use crate::model::{Default, Field, Json, Method, Shape, ShapeKind, Shapes, Ty, Variant};
use anyhow::{Context as _, bail};
use camino::Utf8Path;
use uniffi_bindgen::macro_metadata;
use uniffi_meta::{
    DefaultValueMetadata, EnumMetadata, FieldMetadata, LiteralMetadata, Metadata, MethodMetadata,
    RecordMetadata, Type,
};

impl Shapes {
    /// Reads the records and enums of a library that is not stripped.
    ///
    /// # Errors
    /// The file is not a library, or has a type that no language has a form for.
    pub(crate) fn read(library: &Utf8Path) -> anyhow::Result<Self> {
        Self::read_items(library, |item| match item {
            Metadata::Record(record) => Some(Shape::from_record(record)),
            Metadata::Enum(one) if !one.shape.is_error() => Some(Shape::from_enum(one)),
            _ => None,
        })
    }

    /// Reads the enums that are thrown as errors.
    ///
    /// # Errors
    /// The file is not a library, or has a type that no language has a form for.
    pub(crate) fn errors(library: &Utf8Path) -> anyhow::Result<Self> {
        Self::read_items(library, |item| match item {
            Metadata::Enum(one) if one.shape.is_error() => Some(Shape::from_enum(one)),
            _ => None,
        })
    }

    fn read_items(
        library: &Utf8Path,
        shape: impl Fn(Metadata) -> Option<anyhow::Result<Shape>>,
    ) -> anyhow::Result<Self> {
        let items = macro_metadata::extract_from_library(library)
            .with_context(|| format!("cannot read {library}"))?;
        let shapes = items.into_iter().filter_map(shape);
        let shapes = shapes.map(|shape| shape.map(|shape| (shape.name.clone(), shape)));
        Ok(Self(shapes.collect::<anyhow::Result<_>>()?))
    }
}

impl Method {
    /// Reads the methods of an object, sorted by name.
    ///
    /// # Errors
    /// The file is not a library, or has a type that no language has a form for.
    pub(crate) fn read_all(library: &Utf8Path, object: &str) -> anyhow::Result<Vec<Self>> {
        let items = macro_metadata::extract_from_library(library)
            .with_context(|| format!("cannot read {library}"))?;
        let methods = items.into_iter().filter_map(|item| match item {
            Metadata::Method(method) if method.self_name == object => Some(Self::read(method)),
            _ => None,
        });
        let mut methods = methods.collect::<anyhow::Result<Vec<_>>>()?;
        methods.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(methods)
    }

    fn read(method: MethodMetadata) -> anyhow::Result<Self> {
        let field = |name: String, ty, default| FieldMetadata {
            name,
            orig_name: None,
            ty,
            default,
            docstring: method.docstring.clone(),
        };
        let returns = method.return_type.filter(|ty| !is_outputs(ty));
        let returns = returns.map(|ty| field("answer".to_owned(), ty, None));
        let inputs = method.inputs.into_iter();
        let inputs = inputs.map(|input| field(input.name, input.ty, input.default));
        let mut arguments = fields(&method.name, inputs.collect())?;
        let time_at = arguments.iter().position(|argument| argument.name == "now");
        time_at.map(|at| arguments.remove(at));
        Ok(Self {
            arguments,
            time_at,
            returns: fields(&method.name, returns.into_iter().collect())?.pop(),
            doc: doc(method.docstring),
            name: method.name,
        })
    }
}

fn is_outputs(ty: &Type) -> bool {
    matches!(ty, Type::Record { name, .. } if name == "Outputs")
}

impl Shape {
    fn from_record(record: RecordMetadata) -> anyhow::Result<Self> {
        Ok(Self {
            kind: ShapeKind::Record(fields(&record.name, record.fields)?),
            doc: doc(record.docstring),
            name: record.name,
        })
    }

    fn from_enum(one: EnumMetadata) -> anyhow::Result<Self> {
        let variants = one.variants.into_iter().map(|variant| {
            let of = format!("{}::{}", one.name, variant.name);
            Ok(Variant {
                fields: fields(&of, variant.fields)?,
                doc: doc(variant.docstring),
                name: variant.name,
            })
        });
        Ok(Self {
            kind: ShapeKind::Enum(variants.collect::<anyhow::Result<_>>()?),
            doc: doc(one.docstring),
            name: one.name,
        })
    }
}

fn fields(of: &str, fields: Vec<FieldMetadata>) -> anyhow::Result<Vec<Field>> {
    let field = |field: FieldMetadata| {
        let doc = doc(field.docstring);
        let of = format!("{of}.{}", field.name);
        let raw_ty = field.ty.clone();
        let ty = ty(&field.ty, &doc).with_context(|| of.clone())?;
        let default = field.default.map(default).transpose().context(of)?;
        Ok(Field {
            name: field.name,
            doc,
            ty,
            default,
            raw_ty,
        })
    };
    fields.into_iter().map(field).collect()
}

/// Returns the type of a field. The documentation states which JSON the field holds.
fn ty(of: &Type, doc: &str) -> anyhow::Result<Ty> {
    Ok(match of {
        Type::Boolean => Ty::Bool,
        Type::UInt8
        | Type::Int8
        | Type::UInt16
        | Type::Int16
        | Type::UInt32
        | Type::Int32
        | Type::UInt64
        | Type::Int64 => Ty::Int,
        Type::Float32 | Type::Float64 => Ty::Float,
        Type::String => Ty::Text,
        Type::Bytes => Ty::Bytes,
        Type::Record { name, .. } | Type::Enum { name, .. } | Type::Object { name, .. } => {
            Ty::Named(name.clone())
        }
        Type::Box { inner_type } => ty(inner_type, doc)?,
        Type::Optional { inner_type } => Ty::Optional(Box::new(ty(inner_type, doc)?)),
        Type::Sequence { inner_type } => Ty::List(Box::new(ty(inner_type, doc)?)),
        Type::Map { .. } => Ty::Map,
        Type::Custom { name, .. } => match &name[..] {
            "Duration" => Ty::Duration,
            "Timestamp" => Ty::Timestamp,
            "JsonValue" => Ty::Json(which_json(doc)),
            other => bail!("the languages have no form for `{other}`"),
        },
        other => bail!("the languages have no form for {other:?}"),
    })
}

/// Returns which JSON a field holds by its documentation, or any JSON.
fn which_json(doc: &str) -> Json {
    let says = |word: &str| doc.contains(word);
    if says("a JSON string, or") {
        Json::Any
    } else if says("AG-UI message in JSON") {
        Json::Message
    } else if says("JSON array") {
        Json::Array
    } else if says("JSON object") || says("JSON Schema") || says("JSON text that fits") {
        Json::Object
    } else {
        Json::Any
    }
}

fn default(of: DefaultValueMetadata) -> anyhow::Result<Default> {
    let DefaultValueMetadata::Literal(literal) = of else {
        return Ok(Default::OfType);
    };
    Ok(match literal {
        LiteralMetadata::Boolean(value) => Default::Bool(value),
        LiteralMetadata::String(text) => Default::Text(text),
        LiteralMetadata::UInt(number, ..) => Default::Int(number),
        LiteralMetadata::Int(number, ..) => Default::Int(number.try_into()?),
        LiteralMetadata::Float(number, _) => Default::Float(number),
        LiteralMetadata::EmptySequence | LiteralMetadata::EmptyMap => Default::Empty,
        LiteralMetadata::None => Default::Nothing,
        LiteralMetadata::Some { inner } => default(*inner)?,
        other => bail!("the languages have no form for the default {other:?}"),
    })
}

/// Returns a documentation with each paragraph on one line.
fn doc(text: Option<String>) -> String {
    let text = text.unwrap_or_default();
    let paragraphs = text.trim().split("\n\n").map(|paragraph| {
        let lines = paragraph.lines().map(str::trim);
        lines.collect::<Vec<_>>().join(" ")
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use uniffi_meta::Radix;

    fn field(name: &str, ty: Type, doc: &str) -> FieldMetadata {
        FieldMetadata {
            name: name.to_owned(),
            orig_name: None,
            ty,
            default: None,
            docstring: Some(doc.to_owned()),
        }
    }

    fn read(field: FieldMetadata) -> Field {
        fields("Shape", vec![field]).unwrap().remove(0)
    }

    #[test]
    fn documentation_determines_the_json_type() {
        let json = || Type::Custom {
            module_path: "stepwell_ffi".to_owned(),
            name: "JsonValue".to_owned(),
            builtin: Box::new(Type::String),
        };
        let text = || Type::Optional {
            inner_type: Box::new(json()),
        };
        let optional = |json| Ty::Optional(Box::new(Ty::Json(json)));
        let metadata = read(field("metadata", text(), "What\nelse: a JSON object."));
        assert_eq!(metadata.name, "metadata");
        assert_eq!(metadata.doc, "What else: a JSON object.");
        assert_eq!(metadata.ty, optional(Json::Object));
        let patch = read(field("patch", text(), "A JSON array of operations."));
        assert_eq!(patch.ty, optional(Json::Array));
        let content = read(field(
            "content",
            text(),
            "All: a JSON string, or a JSON array.",
        ));
        assert_eq!(content.ty, optional(Json::Any));
    }

    #[test]
    fn reads_defaults() {
        let number = |value| LiteralMetadata::UInt(value, Radix::Decimal, Type::UInt64);
        let three = DefaultValueMetadata::Literal(number(3));
        let some = LiteralMetadata::Some {
            inner: Box::new(three),
        };
        let of = |literal| default(DefaultValueMetadata::Literal(literal)).unwrap();
        assert_eq!(of(some), Default::Int(3));
        assert_eq!(of(LiteralMetadata::None), Default::Nothing);
        assert_eq!(
            default(DefaultValueMetadata::Default).unwrap(),
            Default::OfType
        );
    }
}
