//! The variants of an enum.

use crate::build::named;
use crate::convert::Arm;
use crate::doc::{docs, has_docs, snake};
use crate::field::{Field, fields, only_field};
use crate::spec::{Entry, EntryKind, Source, Spec, With, has_word};
use crate::types::Kind;
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Attribute, Fields, Ident, Item, ItemEnum, Path, parse_quote};

/// A variant of the type.
pub(crate) struct Variant {
    pub(crate) name: Ident,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) fields: Vec<Field>,
}

impl Variant {
    pub(crate) fn declared(&self) -> TokenStream {
        let Self {
            name,
            attributes,
            fields,
        } = self;
        let fields = fields.iter().map(
            |Field {
                 name,
                 attributes,
                 ty,
                 ..
             }| {
                quote! { #(#attributes)* #name: #ty }
            },
        );
        let fields = (fields.len() > 0).then(|| quote! { { #(#fields,)* } });
        quote! { #(#attributes)* #name #fields }
    }
}

/// Returns a variant, if it is not left out, and its conversion.
pub(crate) fn variant_of(
    spec: &Spec,
    source: &Source,
    known: &[Item],
    definition: &ItemEnum,
    core: &syn::Variant,
) -> syn::Result<(Option<Variant>, Option<Arm>)> {
    let entry = entry(&spec.entries, &core.ident);
    if let Some(entry) = entry.filter(|entry| entry.kind == EntryKind::Omit) {
        let is_first = entry
            .names
            .iter()
            .find(|name| has_variant(definition, name))
            == Some(&core.ident);
        return Ok((
            None,
            is_first
                .then(|| Arm::omitted(source, entry, core))
                .flatten(),
        ));
    }
    let changes = entry.map_or(&[][..], |entry| &entry.fields);
    let path = payload(&source.path, &core.fields);
    let flat = path.filter(|_| is_flat(entry, Some(source)));
    let flat = flat.and_then(|path| named(known, &path));
    let (core_fields, is_flat) = match flat {
        Some(Item::Struct(payload)) => (&payload.fields, true),
        _ => (&core.fields, false),
    };
    let mut attributes = entry.map_or_else(Vec::new, |entry| entry.attributes.clone());
    let in_json = spec.has_serde() && !has_word(quote! { #(#attributes)* }, "serialize_with");
    let mut made = match core_fields {
        Fields::Unnamed(only) if changes.is_empty() => vec![only_field(only)?],
        core_fields => fields(spec, core_fields, changes, in_json)?,
    };
    for (at, With { name, ty, doc }) in source.with.iter().enumerate() {
        let entry = changes.iter().find(|entry| entry.names.contains(name));
        let attributes = entry.map(|entry| entry.attributes.clone());
        let field = Field {
            name: name.clone(),
            attributes: attributes.unwrap_or_else(|| vec![parse_quote! { #[doc = #doc] }]),
            ty: ty.to_token_stream(),
            value: name.to_token_stream(),
            is_given: false,
            back: None,
        };
        made.insert(at, field);
    }
    attributes.extend(source.each.iter().cloned());
    if !has_docs(&attributes) {
        attributes.splice(0..0, docs(&core.attrs));
    }
    if let Some(name) = source.rename_all.as_ref().filter(|_| spec.has_serde()) {
        let name = match name.value().as_str() {
            "SCREAMING_SNAKE_CASE" => snake(&core.ident.to_string()).to_uppercase(),
            _ => return Err(syn::Error::new_spanned(name, "no way to rename")),
        };
        attributes.push(parse_quote! { #[serde(rename = #name)] });
    }
    let name = entry.and_then(|entry| entry.renamed.clone());
    let name = name.unwrap_or_else(|| core.ident.clone());
    let arm = Arm::new(spec, source, core, core_fields, is_flat, &name, &made);
    Ok((
        Some(Variant {
            name,
            attributes,
            fields: made,
        }),
        Some(arm),
    ))
}

fn has_variant(definition: &ItemEnum, name: &Ident) -> bool {
    definition
        .variants
        .iter()
        .any(|variant| variant.ident == *name)
}

/// Returns the types whose fields become those of variants.
pub(crate) fn payloads(spec: &Spec, path: &Path, definition: &Item) -> Vec<Path> {
    let Item::Enum(definition) = definition else {
        return Vec::new();
    };
    let source = spec.sources.iter().find(|source| source.path == *path);
    let variants = definition
        .variants
        .iter()
        .filter(|variant| is_flat(entry(&spec.entries, &variant.ident), source));
    variants
        .filter_map(|variant| payload(path, &variant.fields))
        .collect()
}

fn is_flat(entry: Option<&Entry>, source: Option<&Source>) -> bool {
    match entry {
        Some(entry) if entry.kind == EntryKind::Flatten => true,
        Some(entry) if entry.kind == EntryKind::Omit => false,
        _ => source.is_some_and(|source| source.flatten),
    }
}

/// Returns the path of a variant's only value, which is in the module of its enum.
fn payload(path: &Path, fields: &Fields) -> Option<Path> {
    let Fields::Unnamed(fields) = fields else {
        return None;
    };
    let kind = Kind::of_field(&format_ident!("payload"), &fields.unnamed.first()?.ty);
    let Ok(Kind::Mirrored(name)) = kind else {
        return None;
    };
    let mut path = path.clone();
    path.segments.last_mut()?.ident = name;
    Some(path)
}

fn entry<'a>(entries: &'a [Entry], name: &Ident) -> Option<&'a Entry> {
    let changes = entries.iter().filter(|entry| entry.kind != EntryKind::Add);
    changes.into_iter().find(|entry| entry.names.contains(name))
}
