//! The function that becomes a tool: its description, and whether it can be a tool.

use syn::ext::IdentExt as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, GenericArgument, Ident, ItemFn, Lit, Meta, Pat,
    PathArguments, Safety, Signature, Token, Type,
};

/// The properties of a function.
pub(crate) struct Function {
    /// The text for the model.
    pub(crate) description: String,
    pub(crate) parameters: Vec<Parameter>,
}

// There are as many as a function has parameters.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Parameter {
    /// The model gives it.
    Argument(Argument),
    /// The call's context is given, by value or by reference.
    Context {
        is_reference: bool,
        /// The type of the app's value that the function needs.
        deps: Option<Box<Type>>,
    },
}

/// A field of the arguments.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) kind: Type,
    /// The attributes that a field may have: documentation, `serde`, `schemars`.
    pub(crate) attributes: Vec<Attribute>,
}

impl Function {
    /// Reads a function, and takes off what only a tool's function can have: attributes of its parameters.
    pub(crate) fn read(item: &mut ItemFn) -> syn::Result<Self> {
        let mut errors = Errors(None);
        refuse(&item.sig, &mut errors);
        let description = documentation(&item.attrs);
        if description.is_empty() {
            let message = "a tool needs a comment `/// …`: by it the model knows what the tool does, and when to use it";
            errors.add(Error::new(item.sig.ident.span(), message));
        }
        let mut parameters = Vec::new();
        for input in &mut item.sig.inputs {
            match parameter(input) {
                Ok(parameter) => parameters.push(parameter),
                Err(error) => errors.add(error),
            }
        }
        errors.none_or(Self {
            description,
            parameters,
        })
    }

    /// Returns the type of the app's value that the function needs.
    pub(crate) fn deps(&self) -> Option<&Type> {
        self.parameters
            .iter()
            .find_map(|parameter| match parameter {
                Parameter::Context { deps, .. } => deps.as_deref(),
                Parameter::Argument(_) => None,
            })
    }
}

/// Reports functions that cannot be a tool.
fn refuse(signature: &Signature, errors: &mut Errors) {
    if let Some(generic) = signature.generics.params.first() {
        let message = "a tool is not generic: the model is told the type of each argument";
        errors.add(Error::new(generic.span(), message));
    }
    if let Safety::Unsafe(word) = &signature.safety {
        errors.add(Error::new(word.span(), "a tool is not `unsafe`"));
    }
    if let Some(abi) = &signature.abi {
        errors.add(Error::new(abi.span(), "a tool is a function of Rust"));
    }
    if let Some(rest) = &signature.variadic {
        errors.add(Error::new(rest.span(), "a tool is a function of Rust"));
    }
}

fn parameter(input: &mut FnArg) -> syn::Result<Parameter> {
    let typed = match input {
        FnArg::Typed(typed) => typed,
        FnArg::Receiver(receiver) => {
            let message = "a tool is a function of its own, not a method: what it needs beside its arguments it takes from \
                           a `ToolContext` (`call.deps()`), or it is a closure, for `AgentBuilder::typed_tool`";
            return Err(Error::new(receiver.span(), message));
        }
    };
    let attributes = std::mem::take(&mut typed.attrs);
    let (attributes, others) = attributes.into_iter().partition(of_field);
    typed.attrs = others;
    if let Some(context) = context(&typed.ty) {
        return Ok(context);
    }
    let name = match &*typed.pat {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => name.ident.clone(),
        other => {
            let message = "an argument of a tool has a name: the model gives it by that";
            return Err(Error::new(other.span(), message));
        }
    };
    match &*typed.ty {
        Type::Reference(reference) => {
            let message = format!(
                "an argument of a tool is owned, since it is read from what the model wrote: {}",
                instead(&reference.elem)
            );
            return Err(Error::new(reference.span(), message));
        }
        Type::ImplTrait(kind) => {
            let message = "a tool is not generic: the model is told the type of each argument";
            return Err(Error::new(kind.span(), message));
        }
        _ => {}
    }
    Ok(Parameter::Argument(Argument {
        name,
        kind: (*typed.ty).clone(),
        attributes,
    }))
}

/// Returns whether a field of the arguments has this attribute, and not the function's parameter.
fn of_field(attribute: &Attribute) -> bool {
    let path = attribute.path();
    ["doc", "serde", "schemars"]
        .iter()
        .any(|name| path.is_ident(name))
}

/// Returns the parameter if it is the call's context.
fn context(kind: &Type) -> Option<Parameter> {
    let (kind, is_reference) = match kind {
        Type::Reference(reference) if reference.mutability.is_none() => (&*reference.elem, true),
        other => (other, false),
    };
    let Type::Path(path) = kind else {
        return None;
    };
    let last = path.path.segments.last()?;
    if last.ident != "ToolContext" {
        return None;
    }
    let deps = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => {
            arguments.args.iter().find_map(|argument| match argument {
                GenericArgument::Type(deps) => Some(Box::new(deps.clone())),
                _ => None,
            })
        }
        _ => None,
    };
    Some(Parameter::Context { is_reference, deps })
}

/// Returns the type to write instead of a reference.
fn instead(referred: &Type) -> &'static str {
    match referred {
        Type::Path(path) if path.path.is_ident("str") => "write `String`",
        Type::Slice(_) => "write a `Vec`",
        _ => "write the type without `&`",
    }
}

/// The text of doc comments, up to the first heading.
fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(meta) = &attribute.meta else {
            return None;
        };
        match &meta.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) if meta.path.is_ident("doc") => Some(text.value()),
            _ => None,
        }
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let lines = text.lines().map(str::trim);
    let lines = lines.take_while(|line| !line.starts_with("# "));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The name that the model calls a function by.
pub(crate) fn name_of(function: &Ident) -> String {
    function.unraw().to_string()
}

/// Returns whether one argument takes in all unknown fields, which are an error otherwise.
pub(crate) fn is_flattened(arguments: &[&Argument]) -> bool {
    let mut attributes = arguments.iter().flat_map(|argument| &argument.attributes);
    attributes.any(|attribute| {
        let words = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
        attribute.path().is_ident("serde")
            && words.is_ok_and(|words| words.iter().any(|word| word.path().is_ident("flatten")))
    })
}

/// The errors, which are reported together.
struct Errors(Option<Error>);

impl Errors {
    fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    fn none_or<T>(self, value: T) -> syn::Result<T> {
        match self.0 {
            Some(errors) => Err(errors),
            None => Ok(value),
        }
    }
}
