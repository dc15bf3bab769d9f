//! Reads the shapes from what uniffi wrote into the library.

use crate::model::{Default, Field, Json, Kind, Shape, Shapes, Ty, Variant};
use anyhow::{Context as _, bail};
use camino::Utf8Path;
use std::collections::BTreeMap;
use uniffi_bindgen::macro_metadata;
use uniffi_meta::{
    DefaultValueMetadata, EnumMetadata, FieldMetadata, LiteralMetadata, Metadata, RecordMetadata,
    Type,
};

impl Shapes {
    /// Reads them from a library that is not stripped.
    ///
    /// # Errors
    /// A file that is no library, or a type that no language has a form for.
    pub(crate) fn read(library: &Utf8Path) -> anyhow::Result<Self> {
        let items = macro_metadata::extract_from_library(library)
            .with_context(|| format!("cannot read {library}"))?;
        let mut shapes = BTreeMap::new();
        for item in items {
            let shape = match item {
                Metadata::Record(record) => Shape::of_record(record)?,
                Metadata::Enum(one) if !one.shape.is_error() => Shape::of_enum(one)?,
                _ => continue,
            };
            shapes.insert(shape.name.clone(), shape);
        }
        Ok(Self(shapes))
    }
}

impl Shape {
    fn of_record(record: RecordMetadata) -> anyhow::Result<Self> {
        Ok(Self {
            kind: Kind::Record(fields(&record.name, record.fields)?),
            doc: doc(record.docstring),
            name: record.name,
        })
    }

    fn of_enum(one: EnumMetadata) -> anyhow::Result<Self> {
        let variants = one.variants.into_iter().map(|variant| {
            let of = format!("{}::{}", one.name, variant.name);
            Ok(Variant {
                fields: fields(&of, variant.fields)?,
                doc: doc(variant.docstring),
                name: variant.name,
            })
        });
        Ok(Self {
            kind: Kind::Enum(variants.collect::<anyhow::Result<_>>()?),
            doc: doc(one.docstring),
            name: one.name,
        })
    }
}

fn fields(of: &str, fields: Vec<FieldMetadata>) -> anyhow::Result<Vec<Field>> {
    let field = |field: FieldMetadata| {
        let doc = doc(field.docstring);
        let of = format!("{of}.{}", field.name);
        let plain = ty(&field.ty).with_context(|| of.clone())?;
        let (raw_name, raw_ty) = (field.name.clone(), field.ty);
        let (name, ty) = if let Some(name) = field.name.strip_suffix("_json") {
            let json = Ty::Json(which_json(&doc));
            (name.to_owned(), replaced(plain, &Ty::Text, json))
        } else if let Some(name) = field.name.strip_suffix("_ms") {
            (name.to_owned(), replaced(plain, &Ty::Int, Ty::Millis))
        } else {
            (field.name, plain)
        };
        let default = field.default.map(default).transpose().context(of)?;
        Ok(Field {
            name,
            doc,
            ty,
            default,
            raw_name,
            raw_ty,
        })
    };
    fields.into_iter().map(field).collect()
}

fn ty(of: &Type) -> anyhow::Result<Ty> {
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
        Type::Box { inner_type } => ty(inner_type)?,
        Type::Optional { inner_type } => Ty::Optional(Box::new(ty(inner_type)?)),
        Type::Sequence { inner_type } => Ty::List(Box::new(ty(inner_type)?)),
        Type::Map { .. } => Ty::Map,
        other => bail!("the languages have no form for {other:?}"),
    })
}

/// The type with what it is, or may be, replaced.
fn replaced(ty: Ty, from: &Ty, to: Ty) -> Ty {
    match ty {
        Ty::Optional(inner) => Ty::Optional(Box::new(replaced(*inner, from, to))),
        ty if ty == *from => to,
        ty => ty,
    }
}

/// Which JSON a field holds, as its documentation says; any if it does not.
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

/// A documentation, each paragraph on one line.
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
    fn a_name_and_its_documentation_say_what_a_text_or_a_number_is() {
        let text = || Type::Optional {
            inner_type: Box::new(Type::String),
        };
        let optional = |json| Ty::Optional(Box::new(Ty::Json(json)));
        let metadata = read(field("metadata_json", text(), "What\nelse: a JSON object."));
        assert_eq!(metadata.name, "metadata");
        assert_eq!(metadata.doc, "What else: a JSON object.");
        assert_eq!(metadata.ty, optional(Json::Object));
        let patch = read(field("patch_json", text(), "A JSON array of operations."));
        assert_eq!(patch.ty, optional(Json::Array));
        let content = read(field(
            "content_json",
            text(),
            "All: a JSON string, or a JSON array.",
        ));
        assert_eq!(content.ty, optional(Json::Any));
        let delay = read(field("delay_ms", Type::UInt64, "How long."));
        assert_eq!((&delay.name[..], delay.ty), ("delay", Ty::Millis));
    }

    #[test]
    fn defaults_are_those_of_what_may_be_absent() {
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
