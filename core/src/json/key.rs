//! The keys of an object: texts, and what JSON can only say as one.

use super::variant::Variant;
use serde::de::{Deserializer, Error as _, Expected, Unexpected, Visitor};
use serde_json::Error;

/// Reads a type out of a key.
pub(super) struct Key<'v>(pub(super) &'v str);

impl Key<'_> {
    #[cold]
    #[inline(never)]
    fn unexpected(&self, expected: &dyn Expected) -> Error {
        Error::invalid_type(Unexpected::Str(self.0), expected)
    }
}

macro_rules! parsed {
    ($($method:ident = $visit:ident;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(self.unexpected(&visitor)),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.0)
    }

    parsed! {
        deserialize_bool = visit_bool;
        deserialize_i8 = visit_i64;
        deserialize_i16 = visit_i64;
        deserialize_i32 = visit_i64;
        deserialize_i64 = visit_i64;
        deserialize_u8 = visit_u64;
        deserialize_u16 = visit_u64;
        deserialize_u32 = visit_u64;
        deserialize_u64 = visit_u64;
        deserialize_f32 = visit_f64;
        deserialize_f64 = visit_f64;
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(Variant::unit(self.0))
    }

    serde::forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
