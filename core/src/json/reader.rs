//! Reading out of a [`Value`].

use super::key::Key;
use super::variant::Variant;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, Expected, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::{Error, Map, Value, map};
use std::slice;

/// Reads a type out of a value, and takes the value's texts along; `None` for the value of a field that is absent.
///
/// Each method calls as few of a visitor's as can be, since each one called is there once for each type.
pub(super) struct Reader<'v>(pub(super) Option<&'v mut Value>);

/// The error for a value of another kind, or for none.
#[cold]
#[inline(never)]
pub(super) fn unexpected(value: Option<&Value>, expected: &dyn Expected) -> Error {
    let Some(value) = value else {
        return Error::custom("there is no value");
    };
    let found = match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(found) => Unexpected::Bool(*found),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(found), ..) => Unexpected::Unsigned(found),
            (None, Some(found), _) => Unexpected::Signed(found),
            (None, None, Some(found)) => Unexpected::Float(found),
            (None, None, None) => Unexpected::Other("number"),
        },
        Value::String(found) => Unexpected::Str(found),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    Error::invalid_type(found, expected)
}

#[cold]
#[inline(never)]
fn too_long(length: usize, expected: &dyn Expected) -> Error {
    Error::invalid_length(length, expected)
}

impl Reader<'_> {
    fn number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if let Some(Value::Number(number)) = &self.0 {
            if let Some(number) = number.as_u64() {
                return visitor.visit_u64(number);
            }
            if let Some(number) = number.as_i64() {
                return visitor.visit_i64(number);
            }
            if let Some(number) = number.as_f64() {
                return visitor.visit_f64(number);
            }
        }
        Err(unexpected(self.0.as_deref(), &visitor))
    }
}

macro_rules! numbers {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.number(visitor)
        })*
    };
}

macro_rules! the_same {
    ($($method:ident $(($($argument:ident: $type:ty),*))? = $other:ident;)*) => {
        $(fn $method<V: Visitor<'de>>(self, $($($argument: $type,)*)? visitor: V) -> Result<V::Value, Error> {
            self.$other(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Error;

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64 deserialize_f32 deserialize_f64
    }

    the_same! {
        deserialize_char = deserialize_string;
        deserialize_str = deserialize_string;
        deserialize_identifier = deserialize_string;
        deserialize_bytes = deserialize_any;
        deserialize_byte_buf = deserialize_any;
        deserialize_unit_struct(_name: &'static str) = deserialize_unit;
        deserialize_tuple(_length: usize) = deserialize_seq;
        deserialize_tuple_struct(_name: &'static str, _length: usize) = deserialize_seq;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Some(Value::Null) => visitor.visit_unit(),
            Some(Value::Bool(value)) => visitor.visit_bool(*value),
            Some(Value::Number(_)) => self.number(visitor),
            Some(Value::String(_)) => self.deserialize_string(visitor),
            Some(Value::Array(_)) => self.deserialize_seq(visitor),
            Some(Value::Object(_)) => self.deserialize_map(visitor),
            None => Err(unexpected(None, &visitor)),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Some(Value::Bool(value)) => visitor.visit_bool(*value),
            other => Err(unexpected(other.as_deref(), &visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Some(Value::String(text)) => visitor.visit_string(std::mem::take(text)),
            other => Err(unexpected(other.as_deref(), &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            None | Some(Value::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Some(Value::Null) => visitor.visit_unit(),
            other => Err(unexpected(other.as_deref(), &visitor)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Some(Value::Array(elements)) => {
                let length = elements.len();
                let mut elements = Elements(elements.iter_mut());
                let read = visitor.visit_seq(&mut elements)?;
                match elements.0.len() {
                    0 => Ok(read),
                    _ => Err(too_long(length, &"fewer elements in the array")),
                }
            }
            other => Err(unexpected(other.as_deref(), &visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Some(Value::Object(members)) => visitor.visit_map(Members::new(members)),
            other => Err(unexpected(other.as_deref(), &visitor)),
        }
    }

    /// Asks for each field, in the order of the struct: what serde makes of that is far less than of an object's members.
    /// A field that the struct does not know is passed over, and none may have an alias.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Some(Value::Object(members)) => {
                let mut fields = Fields {
                    names: names.iter(),
                    members,
                    absent: None,
                };
                let read = visitor
                    .visit_seq(&mut fields)
                    .map_err(|error| fields.error(error))?;
                // serde counts an alias among the names, where it cannot be told from a field.
                debug_assert!(fields.names.len() == 0, "a field has an alias");
                Ok(read)
            }
            other => Err(unexpected(other.as_deref(), &visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let variant = Variant::of(self.0, &visitor)?;
        visitor.visit_enum(variant)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
}

struct Elements<'v>(slice::IterMut<'v, Value>);

impl<'de> SeqAccess<'de> for &mut Elements<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        match self.0.next() {
            Some(value) => seed.deserialize(Reader(Some(value))).map(Some),
            None => Ok(None),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// The fields of a struct, in its order.
struct Fields<'v> {
    names: slice::Iter<'static, &'static str>,
    members: &'v mut Map<String, Value>,
    /// The field that was asked for last, if the object does not have it.
    absent: Option<&'static str>,
}

impl Fields<'_> {
    #[inline(never)]
    fn next(&mut self) -> Option<&mut Value> {
        let name = self.names.next()?;
        let value = self.members.get_mut(*name);
        self.absent = value.is_none().then_some(name);
        value
    }

    /// The error of a struct: a field without which it cannot be is called by its name.
    #[cold]
    #[inline(never)]
    fn error(&self, error: Error) -> Error {
        self.absent.map_or(error, Error::missing_field)
    }
}

impl<'de> SeqAccess<'de> for &mut Fields<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let value = self.next();
        let is_absent = value.is_none();
        match seed.deserialize(Reader(value)) {
            Ok(read) => Ok(Some(read)),
            // What has a default is that.
            Err(_) if is_absent => Ok(None),
            Err(error) => Err(error),
        }
    }
}

pub(super) struct Members<'v> {
    members: map::IterMut<'v>,
    value: Option<&'v mut Value>,
}

impl<'v> Members<'v> {
    fn new(members: &'v mut Map<String, Value>) -> Self {
        Self {
            members: members.iter_mut(),
            value: None,
        }
    }

    #[inline(never)]
    fn next(&mut self) -> Option<&'v str> {
        let (key, value) = self.members.next()?;
        self.value = Some(value);
        Some(key)
    }

    #[inline(never)]
    fn value(&mut self) -> Result<&'v mut Value, Error> {
        self.value
            .take()
            .ok_or_else(|| Error::custom("a member's value was read before its key"))
    }
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        match self.next() {
            Some(key) => seed.deserialize(Key(key)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(Reader(Some(self.value()?)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}
