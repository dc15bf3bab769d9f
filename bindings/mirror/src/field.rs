//! The fields of a type: their documentation, types and values, and what serde needs.

use crate::doc::{camel, docs, has_docs, json_docs, snake};
use crate::spec::{Entry, EntryKind, Spec};
use crate::types::Kind;
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Attribute, Expr, Fields, Ident, Type, parse_quote};

/// A field of the type.
pub(crate) struct Field {
    pub(crate) name: Ident,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) ty: TokenStream,
    /// The value of the field, with the fields of the core's type as variables.
    pub(crate) value: TokenStream,
    /// Whether the value is an expression of the macro's, which may read several fields.
    pub(crate) is_given: bool,
    /// The field of the core, and its value.
    pub(crate) back: Option<(Ident, TokenStream)>,
}

/// Returns the field that a variant's only value becomes.
pub(crate) fn only_field(fields: &syn::FieldsUnnamed) -> syn::Result<Field> {
    let payload = format_ident!("payload");
    let Some(only) = fields.unnamed.first() else {
        return Err(syn::Error::new_spanned(fields, "no value"));
    };
    let kind = Kind::of_field(&payload, &only.ty)?;
    let ty = kind.here();
    let name = format_ident!("{}", snake(&ty.to_string()));
    let doc = "The value.";
    Ok(Field {
        attributes: vec![parse_quote! { #[doc = #doc] }],
        value: kind.value_here(&payload.to_token_stream()),
        back: Some((payload, kind.value_in_core(&name.to_token_stream()))),
        is_given: false,
        name,
        ty,
    })
}

/// Builds the fields from those of the core, with what the macro specifies for them.
pub(crate) fn fields(
    spec: &Spec,
    core: &Fields,
    entries: &[Entry],
    in_json: bool,
) -> syn::Result<Vec<Field>> {
    let mut made = Vec::new();
    for field in core {
        let Some(name) = &field.ident else {
            continue;
        };
        if !entries
            .iter()
            .any(|entry| entry.kind == EntryKind::Omit && entry.names.contains(name))
        {
            made.push(kept(spec, field, name, entries, in_json)?);
        }
    }
    let mut after = None;
    for entry in entries.iter().filter(|entry| entry.kind != EntryKind::Omit) {
        let name = &entry.names[0];
        let at = made.iter().position(|field| field.name == *name);
        let mut with = spec.sources.iter().flat_map(|source| &source.with);
        let is_with = with.any(|with| with.name == *name);
        if at.is_some() || is_with {
            after = at.or(after);
            continue;
        }
        let at = after.map_or(made.len(), |after: usize| after + 1);
        made.insert(at, new_field(spec, entry, in_json)?);
        after = Some(at);
    }
    Ok(made)
}

fn kept(
    spec: &Spec,
    field: &syn::Field,
    core: &Ident,
    entries: &[Entry],
    in_json: bool,
) -> syn::Result<Field> {
    let kind = Kind::of_field(core, &field.ty);
    let name = match &kind {
        Ok(Kind::Millis) => format_ident!("{}", core.to_string().trim_end_matches("_ms")),
        _ => core.clone(),
    };
    let entry = entries.iter().find(|entry| entry.names.contains(&name));
    let mut attributes = entry.map_or_else(Vec::new, |entry| entry.attributes.clone());
    if !has_docs(&attributes) {
        let form = kind.as_ref().ok().and_then(Kind::form);
        let docs = form.map_or_else(|| docs(&field.attrs), |form| json_docs(&field.attrs, form));
        attributes.splice(0..0, docs);
    }
    let mut made = match entry {
        Some(
            entry @ Entry {
                ty: Some(ty),
                value: value @ Some(_),
                back,
                ..
            },
        ) => {
            let back = back
                .as_ref()
                .map(|back| (core.clone(), back.to_token_stream()));
            Field {
                attributes,
                ..Field::given(entry, ty, value.as_ref(), back)
            }
        }
        entry => {
            let is_optional = entry.is_some_and(|entry| entry.optional);
            Field::of_kind(&kind?, core, &name, attributes, is_optional)
        }
    };
    made.write_in_json(spec, in_json);
    Ok(made)
}

fn new_field(spec: &Spec, entry: &Entry, in_json: bool) -> syn::Result<Field> {
    let name = entry.names[0].clone();
    let Some(ty) = &entry.ty else {
        return Err(syn::Error::new(name.span(), "the core has no such field"));
    };
    let mut made = Field::given(entry, ty, entry.value.as_ref(), None);
    made.write_in_json(spec, in_json);
    Ok(made)
}

/// Returns the fields of a variant that the core does not have.
pub(crate) fn added(spec: &Spec, entry: &Entry) -> syn::Result<Vec<Field>> {
    let in_json = spec.has_serde();
    entry
        .fields
        .iter()
        .map(|field| new_field(spec, field, in_json))
        .collect()
}

impl Field {
    /// Builds a field whose type and value the macro specifies.
    fn given(
        entry: &Entry,
        ty: &Type,
        value: Option<&Expr>,
        back: Option<(Ident, TokenStream)>,
    ) -> Self {
        Self {
            name: entry.names[0].clone(),
            attributes: entry.attributes.clone(),
            ty: ty.to_token_stream(),
            is_given: value.is_some(),
            value: value.to_token_stream(),
            back,
        }
    }

    /// Builds a field whose type and value follow from those of the core.
    fn of_kind(
        kind: &Kind,
        core: &Ident,
        name: &Ident,
        mut attributes: Vec<Attribute>,
        is_optional: bool,
    ) -> Self {
        let mut ty = kind.here();
        let mut value = kind.value_here(&core.to_token_stream());
        let mut back = kind.value_in_core(&name.to_token_stream());
        if is_optional {
            attributes.push(parse_quote! { #[uniffi(default = None)] });
            let inner = kind.value_in_core(&quote! { value });
            (ty, value) = (quote! { Option<#ty> }, quote! { None });
            back = quote! { #name.map(|value| #inner).unwrap_or_default() };
        }
        Self {
            name: name.clone(),
            attributes,
            ty,
            value,
            is_given: false,
            back: Some((core.clone(), back)),
        }
    }

    /// Adds what serde needs, where the macro does not specify it.
    fn write_in_json(&mut self, spec: &Spec, in_json: bool) {
        let is_given = self
            .attributes
            .iter()
            .any(|attribute| attribute.path().is_ident("serde"));
        if !in_json || !spec.has_serde() || is_given {
            return;
        }
        let ty: Option<Type> = syn::parse2(self.ty.clone()).ok();
        let ty = ty
            .map(|ty| ty.to_token_stream().to_string())
            .unwrap_or_default();
        if ty == "Option < EventCommon >" {
            self.attributes.push(parse_quote! { #[serde(flatten)] });
            return;
        }
        if ty == "Duration" || ty == "Option < Duration >" {
            let name = format!("{}Ms", camel(&self.name.to_string()));
            self.attributes
                .push(parse_quote! { #[serde(rename = #name)] });
        }
        if ty.starts_with("Option <") && spec.derives("Serialize") {
            self.attributes
                .push(parse_quote! { #[serde(skip_serializing_if = "Option::is_none")] });
        }
    }
}

/// Returns the fields that the macro itself defines, with the types of the core's.
pub(crate) fn own(spec: &Spec) -> syn::Result<Vec<Field>> {
    let here = spec
        .entries
        .iter()
        .filter(|entry| entry.kind != EntryKind::Omit);
    let field = |entry: &Entry| {
        let name = &entry.names[0];
        let Some(ty) = &entry.ty else {
            return Err(syn::Error::new(name.span(), "the type is missing"));
        };
        let mut field = match (&entry.value, &entry.back) {
            (None, None) => {
                let kind = Kind::of_field(name, ty)?;
                Field::of_kind(&kind, name, name, entry.attributes.clone(), entry.optional)
            }
            (value, back) => {
                let back = back
                    .as_ref()
                    .map(|back| (name.clone(), back.to_token_stream()));
                Field::given(entry, ty, value.as_ref(), back)
            }
        };
        field.write_in_json(spec, true);
        Ok(field)
    };
    here.map(field).collect()
}
