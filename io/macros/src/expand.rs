//! The code of a tool.

use crate::function::{Argument, Function, Parameter, is_flattened, name_of};
use crate::options::Options;
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Error, Ident, ItemFn, Path, ReturnType};

/// A type of the function's name, which knows the tool. A function is a value and this is no value, so both can be there.
pub(crate) fn tool(
    item: &ItemFn,
    function: &Function,
    options: &Options,
) -> syn::Result<TokenStream> {
    let io = &options.library()?;
    let (visibility, ident) = (&item.vis, &item.sig.ident);
    let name = name(ident, options)?;
    let about = format!("The tool `{name}`, for `stepwell_io::tools!`.");
    let arguments = arguments(io, function);
    let made = made(
        io,
        item,
        function,
        &definition(io, &name, function, options),
    );
    // A function that needs no value of the app's is a tool of any agent.
    let (generics, deps) = match function.deps() {
        Some(deps) => (quote!(), quote!(#deps)),
        None => (
            quote!(<__Deps: ::core::marker::Send + ::core::marker::Sync + 'static>),
            quote!(__Deps),
        ),
    };
    Ok(quote! {
        #[doc = #about]
        #[allow(non_camel_case_types)]
        #visibility struct #ident {}

        impl #generics #io::tool::ToolFunction<#deps> for #ident {
            fn tool() -> #io::tool::AgentTool<#deps> {
                #arguments
                #[allow(unused_imports)]
                use #io::__private::ReturnsValue as _;
                #made
            }
        }
    })
}

/// The name that the model calls the tool by.
fn name(function: &Ident, options: &Options) -> syn::Result<String> {
    let (name, span) = match &options.name {
        Some(name) => (name.value(), name.span()),
        None => (name_of(function), function.span()),
    };
    let is_one = (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_one {
        Ok(name)
    } else {
        let message = format!(
            "`{name}` is not a tool name: use 1 to 64 of the letters a–z and A–Z, digits, `_` and `-`; \
             `#[tool(name = \"…\")]` gives it another one"
        );
        Err(Error::new(span, message))
    }
}

fn definition(io: &Path, name: &str, function: &Function, options: &Options) -> TokenStream {
    let description = &function.description;
    let flags = [
        (options.requires_approval, quote!(.requires_approval())),
        (options.idempotent, quote!(.idempotent())),
        (options.repeatable, quote!(.repeatable())),
    ];
    let flags = flags
        .into_iter()
        .filter_map(|(is_set, flag)| is_set.then_some(flag));
    let timeout = options.timeout.iter();
    let label = options.label.iter();
    quote! {
        #io::tool::Tool::new(#name, #description)
            #(#flags)*
            #(.timeout(#timeout))*
            #(.label(#label))*
    }
}

/// The type that the model's arguments are read as. Its name is one that no type of the function's is likely to have.
fn arguments(io: &Path, function: &Function) -> TokenStream {
    let arguments: Vec<&Argument> = own_arguments(function).collect();
    let deny = (!is_flattened(&arguments)).then(|| quote!(#[serde(deny_unknown_fields)]));
    let fields = arguments.iter().map(|argument| {
        let Argument {
            name,
            kind,
            attributes,
        } = argument;
        quote!(#(#attributes)* #name: #kind)
    });
    let path = |module: &str| format!("{}::__private::{module}", spelled(io));
    let (serde, schemars) = (path("serde"), path("schemars"));
    quote! {
        #[derive(#io::__private::serde::Deserialize, #io::__private::schemars::JsonSchema)]
        #[serde(crate = #serde)]
        #[schemars(crate = #schemars)]
        #deny
        struct __Arguments {
            #(#fields),*
        }
    }
}

fn own_arguments(function: &Function) -> impl Iterator<Item = &Argument> {
    function
        .parameters
        .iter()
        .filter_map(|parameter| match parameter {
            Parameter::Argument(argument) => Some(argument),
            Parameter::Context { .. } => None,
        })
}

/// Returns the code that builds the tool from its definition and a closure that calls the function.
fn made(io: &Path, item: &ItemFn, function: &Function, tool: &TokenStream) -> TokenStream {
    let ident = &item.sig.ident;
    let (arguments, context) = (hygienic("arguments"), hygienic("context"));
    let values = function.parameters.iter().map(|parameter| match parameter {
        Parameter::Argument(argument) => {
            let name = &argument.name;
            quote!(#arguments.#name)
        }
        Parameter::Context { is_reference, deps } => {
            let context = match deps {
                Some(_) => quote!(#context),
                None => quote!(#context.without_type()),
            };
            match is_reference {
                true => quote!(&#context),
                false => context,
            }
        }
    });
    let called = quote!(#ident(#(#values),*));
    let arguments = match own_arguments(function).next() {
        Some(_) => quote!(#arguments),
        None => quote!(_),
    };
    let has_context = own_arguments(function).count() < function.parameters.len();
    let context = match has_context {
        true => quote!(#context),
        false => quote!(_),
    };
    // An error in the result is reported at its type.
    let place = match &item.sig.output {
        ReturnType::Type(_, kind) => kind.span(),
        ReturnType::Default => ident.span(),
    };
    let answer = quote_spanned!(place=> .answer());
    if item.sig.asyncness.is_some() {
        quote! {
            #io::__private::asynchronous(#tool, |#arguments: __Arguments, #context| async move {
                #io::__private::Returned(#called.await)#answer
            })
        }
    } else {
        quote! {
            #io::__private::blocking(#tool, |#arguments: __Arguments, #context| {
                #io::__private::Returned(#called)#answer
            })
        }
    }
}

/// A path as it is written.
fn spelled(path: &Path) -> String {
    let names: Vec<_> = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string())
        .collect();
    let leading = path.leading_colon.map_or("", |_| "::");
    format!("{leading}{}", names.join("::"))
}

/// The name of a variable that no name of the function's can be taken for.
fn hygienic(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    fn made_of(options: TokenStream) -> String {
        let mut item: ItemFn = parse_quote! {
            /// The number of a person.
            async fn number(name: String, call: &ToolContext) -> u32 { 7 }
        };
        let function = Function::read(&mut item).unwrap();
        let options: Options = syn::parse2(options).unwrap();
        tool(&item, &function, &options).unwrap().to_string()
    }

    #[test]
    fn the_code_names_the_library_as_the_app_does() {
        let usual = made_of(quote!());
        assert!(
            usual.contains(":: stepwell_io :: tool :: ToolFunction"),
            "{usual}"
        );
        let renamed = made_of(quote!(idempotent, crate = "llm::io"));
        let code = renamed.replace("for `stepwell_io::tools!`", "");
        assert!(!code.contains("stepwell_io"), "{code}");
        assert!(code.contains("llm :: io :: tool :: ToolFunction"), "{code}");
        let serde = "crate = \"llm::io::__private::serde\"";
        assert!(code.contains(serde), "{code}");
    }
}
