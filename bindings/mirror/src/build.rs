//! The type itself: its fields and variants, with documentation and what serde needs.

use crate::convert::{self, Arm};
use crate::doc::{camel, docs, has_docs, json_docs, snake};
use crate::spec::{Entry, EntryKind, Source, Spec, With, has_word};
use crate::types::Kind;
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Attribute, Fields, Ident, Item, ItemEnum, Path, Type, parse_quote};

/// A field of the type.
pub(crate) struct Field {
    pub(crate) name: Ident,
    attributes: Vec<Attribute>,
    ty: TokenStream,
    /// Its value, with the fields of the core's type as variables.
    pub(crate) value: TokenStream,
    /// Whether the value is an expression of the macro's, which may look at several fields.
    pub(crate) is_given: bool,
    /// The field of the core, and its value.
    pub(crate) back: Option<(Ident, TokenStream)>,
}

/// A variant of the type.
struct Variant {
    name: Ident,
    attributes: Vec<Attribute>,
    fields: Vec<Field>,
}

/// The definition of this name.
pub(crate) fn named<'a>(known: &'a [Item], path: &Path) -> Option<&'a Item> {
    let last = &path.segments.last()?.ident;
    known.iter().find(|item| match item {
        Item::Struct(item) => item.ident == *last,
        Item::Enum(item) => item.ident == *last,
        _ => false,
    })
}

/// The types whose fields become those of variants.
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

/// The path of a variant's only value, which stands in the module of its enum.
fn payload(path: &Path, fields: &Fields) -> Option<Path> {
    let Fields::Unnamed(fields) = fields else {
        return None;
    };
    let name = match Kind::of_field(&format_ident!("payload"), &fields.unnamed.first()?.ty).ok()? {
        Kind::Mirrored(name) => name,
        _ => return None,
    };
    let mut path = path.clone();
    path.segments.last_mut()?.ident = name;
    Some(path)
}

fn entry<'a>(entries: &'a [Entry], name: &Ident) -> Option<&'a Entry> {
    let changes = entries.iter().filter(|entry| entry.kind != EntryKind::Add);
    changes.into_iter().find(|entry| entry.names.contains(name))
}

/// The type and its conversions.
pub(crate) fn build(spec: &Spec, known: &[Item]) -> syn::Result<TokenStream> {
    let Some(source) = spec.sources.first() else {
        return Err(syn::Error::new(
            spec.name.span(),
            "`#[mirror(path::to::Type)]` is missing",
        ));
    };
    let made = match named(known, &source.path) {
        _ if source.own => own(spec, source)?,
        Some(Item::Struct(definition)) if !spec.is_enum => {
            let made = fields(spec, &definition.fields, &spec.entries, true)?;
            let core = definition.fields.iter();
            let core: Vec<_> = core.filter_map(|field| field.ident.as_ref()).collect();
            structure(spec, source, &definition.attrs, &core, made)
        }
        Some(Item::Enum(_)) if spec.is_enum => enumeration(spec, known)?,
        _ => {
            let error = "the core has no such definition";
            return Err(syn::Error::new(spec.name.span(), error));
        }
    };
    let default = source.default.then(|| {
        let (name, path) = (&spec.name, &source.path);
        quote! {
            impl Default for #name {
                fn default() -> Self {
                    #path::default().into()
                }
            }
        }
    });
    Ok(quote! { #made #default })
}

/// A struct whose fields stand in the macro.
fn own(spec: &Spec, source: &Source) -> syn::Result<TokenStream> {
    let mut made = Vec::new();
    for entry in &spec.entries {
        let (name, Some(ty)) = (&entry.names[0], &entry.ty) else {
            return Err(syn::Error::new(
                entry.names[0].span(),
                "the type is missing",
            ));
        };
        let here = name.to_token_stream();
        let back = |value: TokenStream| Some((name.clone(), value));
        let mut field = match (&entry.value, &entry.back) {
            (None, None) => {
                let kind = Kind::of_field(name, ty)?;
                let back = back(kind.into_core(&here));
                Field::new(entry, kind.here(), kind.from_core(&here), false, back)
            }
            (value, given) => {
                let given = given
                    .as_ref()
                    .and_then(|given| back(given.to_token_stream()));
                Field::new(
                    entry,
                    ty.to_token_stream(),
                    value.to_token_stream(),
                    true,
                    given,
                )
            }
        };
        field.write_in_json(spec, true);
        made.push(field);
    }
    let core: Vec<_> = spec.entries.iter().map(|entry| &entry.names[0]).collect();
    Ok(structure(spec, source, &[], &core, made))
}

fn structure(
    spec: &Spec,
    source: &Source,
    attributes: &[Attribute],
    core: &[&Ident],
    mut made: Vec<Field>,
) -> TokenStream {
    sort(&mut made, source, |field| &field.name);
    let head = head(spec, attributes);
    let (visibility, name) = (&spec.visibility, &spec.name);
    let declared = made.iter().map(
        |Field {
             name,
             attributes,
             ty,
             ..
         }| {
            quote! { #(#attributes)* #visibility #name: #ty }
        },
    );
    let conversions = convert::structure(spec, source, core, &made);
    quote! {
        #head
        #visibility struct #name { #(#declared,)* }
        #conversions
    }
}

fn enumeration(spec: &Spec, known: &[Item]) -> syn::Result<TokenStream> {
    let mut variants = Vec::new();
    let mut conversions = TokenStream::new();
    let mut attributes = None;
    for source in &spec.sources {
        let Some(Item::Enum(definition)) = named(known, &source.path) else {
            return Err(syn::Error::new_spanned(&source.path, "no enum"));
        };
        let mut arms = Vec::new();
        for variant in &definition.variants {
            let (made, arm) = variant_of(spec, source, known, definition, variant)?;
            variants.extend(made);
            arms.extend(arm);
        }
        attributes.get_or_insert(&definition.attrs);
        conversions.extend(convert::enumeration(spec, source, &arms));
    }
    for entry in spec
        .entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Add)
    {
        variants.push(Variant {
            name: entry.names[0].clone(),
            attributes: entry.attributes.clone(),
            fields: added(spec, entry)?,
        });
    }
    let source = &spec.sources[0];
    sort(&mut variants, source, |variant| &variant.name);
    let head = head(spec, attributes.map_or(&[], |attributes| attributes));
    let (visibility, name) = (&spec.visibility, &spec.name);
    let declared = variants.iter().map(Variant::declared);
    Ok(quote! {
        #head
        #visibility enum #name { #(#declared,)* }
        #conversions
    })
}

impl Variant {
    fn declared(&self) -> TokenStream {
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

/// A variant, if it is not left out, and its conversion.
fn variant_of(
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

/// The field that a variant's only value becomes.
fn only_field(fields: &syn::FieldsUnnamed) -> syn::Result<Field> {
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
        value: kind.from_core(&payload.to_token_stream()),
        back: Some((payload, kind.into_core(&name.to_token_stream()))),
        is_given: false,
        name,
        ty,
    })
}

/// The fields that become of those of the core, with what the macro says of them.
fn fields(spec: &Spec, core: &Fields, entries: &[Entry], in_json: bool) -> syn::Result<Vec<Field>> {
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
    let given = entry.and_then(|entry| Some((entry.ty.as_ref()?, entry.value.as_ref()?)));
    let mut made = match (given, entry.is_some_and(|entry| entry.optional)) {
        (Some((ty, value)), _) => Field {
            attributes,
            ty: ty.to_token_stream(),
            value: value.to_token_stream(),
            is_given: true,
            back: entry
                .and_then(|entry| Some((core.clone(), entry.back.as_ref()?.to_token_stream()))),
            name,
        },
        (None, is_optional) => {
            let kind = kind?;
            let (mut ty, mut value) = (kind.here(), kind.from_core(&core.to_token_stream()));
            let mut back = kind.into_core(&name.to_token_stream());
            if is_optional {
                attributes.push(parse_quote! { #[uniffi(default = None)] });
                let inner = kind.into_core(&quote! { value });
                (ty, value) = (quote! { Option<#ty> }, quote! { None });
                back = quote! { #name.map(|value| #inner).unwrap_or_default() };
            }
            Field {
                attributes,
                ty,
                value,
                is_given: false,
                back: Some((core.clone(), back)),
                name,
            }
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
    let (value, is_given) = (entry.value.to_token_stream(), entry.value.is_some());
    let mut made = Field::new(entry, ty.to_token_stream(), value, is_given, None);
    made.write_in_json(spec, in_json);
    Ok(made)
}

/// The fields of a variant that the core does not have.
fn added(spec: &Spec, entry: &Entry) -> syn::Result<Vec<Field>> {
    let in_json = spec.has_serde();
    entry
        .fields
        .iter()
        .map(|field| new_field(spec, field, in_json))
        .collect()
}

impl Field {
    fn new(
        entry: &Entry,
        ty: TokenStream,
        value: TokenStream,
        is_given: bool,
        back: Option<(Ident, TokenStream)>,
    ) -> Self {
        Self {
            name: entry.names[0].clone(),
            attributes: entry.attributes.clone(),
            ty,
            value,
            is_given,
            back,
        }
    }

    /// Adds what serde needs, where the macro gives it nothing.
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

/// The attributes of the type.
fn head(spec: &Spec, core: &[Attribute]) -> TokenStream {
    let docs = match has_docs(&spec.attributes) {
        true => Vec::new(),
        false => docs(core),
    };
    let attributes = &spec.attributes;
    quote! { #(#docs)* #(#attributes)* }
}

/// Puts what is named first or last there.
fn sort<T>(made: &mut [T], source: &Source, name: impl Fn(&T) -> &Ident) {
    made.sort_by_key(|one| {
        let name = name(one);
        let place = |names: &[Ident]| names.iter().position(|one| one == name);
        match (place(&source.first), place(&source.last)) {
            (Some(first), _) => (0, first),
            (None, None) => (1, 0),
            (None, Some(last)) => (2, last),
        }
    });
}
