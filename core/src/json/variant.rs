//! An enum's variant: a text, an object with one member, or an object that names it in a field.

use super::key::Key;
use super::reader::{Reader, unexpected};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, Unexpected, VariantAccess,
    Visitor,
};
use serde_json::{Error, Value};

/// A variant and what it holds.
pub(super) struct Variant<'v> {
    name: &'v str,
    content: Content<'v>,
}

pub(super) enum Content<'v> {
    Nothing,
    Value(&'v mut Value),
    /// The rest of the object that the variant's name stood in.
    Fields(&'v mut Value),
}

impl<'v> Variant<'v> {
    pub(super) fn unit(name: &'v str) -> Self {
        Self {
            name,
            content: Content::Nothing,
        }
    }

    pub(super) fn of(value: Option<&'v mut Value>, expected: &dyn Expected) -> Result<Self, Error> {
        match value {
            Some(Value::String(name)) => Ok(Self::unit(name)),
            Some(Value::Object(members)) => {
                let one = members.len() == 1;
                match members.iter_mut().next().filter(|_| one) {
                    Some((name, content)) => Ok(Self {
                        name,
                        content: Content::Value(content),
                    }),
                    None => Err(Error::invalid_value(
                        Unexpected::Map,
                        &"an object with one member",
                    )),
                }
            }
            other => Err(unexpected(other.as_deref(), expected)),
        }
    }
}

impl<'de, 'v> EnumAccess<'de> for Variant<'v> {
    type Error = Error;
    type Variant = Content<'v>;

    fn variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<(T::Value, Content<'v>), Error> {
        Ok((seed.deserialize(Key(self.name))?, self.content))
    }
}

impl<'v> Content<'v> {
    #[inline(never)]
    fn value(self) -> Result<&'v mut Value, Error> {
        match self {
            Self::Value(value) | Self::Fields(value) => Ok(value),
            Self::Nothing => Err(Error::invalid_type(
                Unexpected::UnitVariant,
                &"a variant with content",
            )),
        }
    }
}

impl<'de> VariantAccess<'de> for Content<'_> {
    type Error = Error;

    #[inline(never)]
    fn unit_variant(self) -> Result<(), Error> {
        match self {
            Self::Nothing | Self::Fields(_) | Self::Value(Value::Null) => Ok(()),
            Self::Value(value) => Err(unexpected(Some(value), &"a variant without content")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(Reader(Some(self.value()?)))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Error> {
        Reader(Some(self.value()?)).deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        Reader(Some(self.value()?)).deserialize_struct("", fields, visitor)
    }
}

/// An enum whose variant stands in a field of the object: see [`told_apart_by`](super::told_apart_by).
pub(crate) struct Tagged<'v>(Variant<'v>);

impl<'de> Deserializer<'de> for Tagged<'_> {
    type Error = Error;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self.0)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("only an enum is told apart by a field"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Takes the field out of the object that names the variant, and reads the rest as that. What the variant does not know
/// stays in the object.
pub(crate) fn read_tagged<T>(
    value: &mut Value,
    tag: &'static str,
    read: impl FnOnce(Tagged<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let name = name(value, tag)?;
    read(Tagged(Variant {
        name: &name,
        content: Content::Fields(value),
    }))
}

#[inline(never)]
fn name(value: &mut Value, tag: &'static str) -> Result<String, Error> {
    let Value::Object(members) = value else {
        return Err(unexpected(Some(value), &"an object"));
    };
    match members.shift_remove(tag) {
        Some(Value::String(name)) => Ok(name),
        Some(other) => Err(unexpected(Some(&other), &"the name of a variant")),
        None => Err(Error::missing_field(tag)),
    }
}
