//! The offer of a request: the tools and the form of the answer, as the endpoint takes them.

use super::encoding::{names, own_tools};
use super::form::{OPENAI, check_takes_format, formed, said};
use super::{GenerationSettings, ResponseFormat, SentMessage, ToolChoice, gemini};
use crate::event::{Message, ToolDefinition};
use crate::provider::{Dialect, Endpoint, UserField};
use crate::tool::schema::{Rules, Spelling, fit, hold};
use crate::tool::{OutputType, parse_arguments};
use serde_json::Value;
use std::collections::BTreeMap;

/// The part that all requests of a run share, built once.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The tools that the endpoint takes.
    pub(crate) tools: Vec<ToolDefinition>,
    /// The settings, with a form of the answer that the endpoint takes.
    pub(crate) settings: GenerationSettings,
    /// The description of the answer's form for the model, if the endpoint takes no form.
    pub(crate) wish: Option<String>,
    /// The final tool, whose arguments are the typed answer, if the answer is requested in this way.
    pub final_tool: Option<String>,
    /// Warnings for the app about what was left out or loosened.
    pub warnings: Vec<String>,
    /// The spellings of tools whose arguments the model writes in another form.
    spellings: BTreeMap<String, Spelling>,
    rules: Option<Rules>,
}

impl Offer {
    /// Builds the offer. With an `output`, the requests ask for a typed answer.
    pub fn new(
        endpoint: &Endpoint,
        tools: &[ToolDefinition],
        settings: &GenerationSettings,
        output: Option<&OutputType>,
    ) -> Self {
        let mut offer = Self {
            tools: Vec::with_capacity(tools.len()),
            settings: settings.clone(),
            wish: None,
            final_tool: None,
            warnings: Vec::new(),
            spellings: BTreeMap::new(),
            rules: rules(endpoint.dialect),
        };
        // An agent is sent none of its own.
        let own = match endpoint.dialect {
            Dialect::AgUi => &[],
            _ => own_tools(settings),
        };
        for tool in tools {
            match stands_beside(tool, own, endpoint) {
                Ok(()) => offer.add(tool, endpoint),
                Err(reason) => offer
                    .warnings
                    .push(format!("the tool `{}` is not offered: {reason}", tool.name)),
            }
        }
        if let ToolChoice::Named(name) = &settings.tool_choice
            && tools.iter().any(|tool| tool.name == *name)
            && !offer.tools.iter().any(|tool| tool.name == *name)
        {
            offer.settings.tool_choice = ToolChoice::Auto;
        }
        if let Some(output) = output {
            offer.ask_for(output, endpoint);
        } else if endpoint.dialect != Dialect::AgUi {
            offer.form_answer(endpoint);
        }
        if settings.user.is_some() && !is_told_of_users(endpoint) {
            offer.warnings.push(format!(
                "{} is not told of the user: its requests have no field for one",
                endpoint.provider
            ));
        }
        offer
    }

    /// Returns the offer for a hop in which the model must not call tools, including the provider's own. The final tool
    /// stays, because the model needs it to answer.
    pub fn without_tools(&self, dialect: Dialect) -> Self {
        let mut offer = self.clone();
        let is_final = |tool: &ToolDefinition| Some(&tool.name) == self.final_tool.as_ref();
        offer.tools.retain(is_final);
        let GenerationSettings {
            tool_choice, extra, ..
        } = &mut offer.settings;
        let fields: &[&str] = match dialect {
            // The field of this name is forwarded to the agent.
            Dialect::AgUi => &[],
            // Anthropic requires the tools that the history uses.
            Dialect::Anthropic if self.final_tool.is_none() => {
                *tool_choice = ToolChoice::None;
                &["tool_choice"]
            }
            _ => &["tools", "tool_choice", "parallel_tool_calls", "toolConfig"],
        };
        extra.retain(|name, _| !fields.contains(&name.as_str()));
        if let Some(name) = &self.final_tool {
            *tool_choice = ToolChoice::Named(name.clone());
        }
        offer
    }

    pub(super) fn add(&mut self, tool: &ToolDefinition, endpoint: &Endpoint) {
        let provider = &endpoint.provider;
        let name = &tool.name;
        let parameters = tool.parameters.as_ref().filter(|schema| !schema.is_null());
        let mut fitting = tool.clone();
        if let Some(schema) = parameters {
            self.spellings
                .extend(Spelling::of(schema).map(|spelling| (name.clone(), spelling)));
            if let Some(rules) = self.rules {
                match fit(schema, rules) {
                    Ok(fitted) => {
                        if !fitted.lost.is_empty() {
                            let lost = fitted.lost.join("; ");
                            self.warnings.push(format!(
                                "{provider} is not told of the tool `{name}` {lost}"
                            ));
                        }
                        fitting.parameters = Some(fitted.schema);
                    }
                    Err(unfit) => {
                        self.warnings.push(format!(
                            "the tool `{name}` is not offered, since {provider} would refuse it: {unfit}"
                        ));
                        return;
                    }
                }
            }
        }
        if let (Some(schema), Some(metadata)) = (parameters, &mut fitting.metadata)
            && endpoint.dialect == Dialect::OpenAiResponses
            && let Some(strict) = metadata.get_mut("strict").filter(|strict| **strict == true)
        {
            match hold(schema, &OPENAI) {
                Ok(held) if held.lost.is_empty() => fitting.parameters = Some(held.schema),
                not_held => {
                    *strict = false.into();
                    let reason = not_held.map_or_else(|reason| reason, |held| said(&held.lost));
                    self.warnings.push(format!(
                        "the schema of the tool `{name}` is not strict: {reason}"
                    ));
                }
            }
        }
        self.tools.push(fitting);
    }

    /// Puts the arguments of all calls in the form that this endpoint's model writes.
    pub(crate) fn spell(&self, messages: &mut [SentMessage<'_>]) {
        if self.spellings.is_empty() {
            return;
        }
        for message in messages {
            let Message::Assistant(answer) = &**message else {
                continue;
            };
            let calls = answer.tool_calls.iter().enumerate();
            let spelled: Vec<_> = calls
                .filter_map(|(place, call)| {
                    let function = &call.function;
                    Some((place, self.spelled(&function.name, &function.arguments)?))
                })
                .collect();
            for (place, arguments) in spelled {
                if let Message::Assistant(answer) = message.to_mut() {
                    answer.tool_calls[place].function.arguments = arguments;
                }
            }
        }
    }

    /// Returns the arguments in the form that the model writes, if it differs.
    fn spelled(&self, name: &str, raw: &str) -> Option<String> {
        let spelling = self.spellings.get(name)?;
        let value = parse_arguments(raw).ok()?;
        let is_written = match (self.rules, spelling) {
            (None, _) => false,
            (Some(_), Spelling::Wrapped(_)) => true,
            (Some(rules), Spelling::Renamed(_)) => rules.plain_names,
        };
        let spelled = if is_written {
            spelling.write(value.clone())
        } else {
            spelling.read(value.clone())
        };
        (spelled != value).then(|| spelled.to_string())
    }

    /// Expresses the answer's form as the endpoint accepts it: unchanged, with a fitted schema, or as an instruction.
    fn form_answer(&mut self, endpoint: &Endpoint) {
        let provider = &endpoint.provider;
        let format = &self.settings.response_format;
        if *format == ResponseFormat::Text {
            return;
        }
        let has_tools = !self.tools.is_empty() || !own_tools(&self.settings).is_empty();
        let held = check_takes_format(endpoint, format, has_tools)
            .and_then(|()| formed(endpoint.dialect, format));
        match held {
            Ok((format, lost)) => {
                self.warnings.extend(lost.map(|lost| {
                    format!("{provider} does not hold the answer to all of its schema: {lost}")
                }));
                self.settings.response_format = format;
            }
            Err(reason) => {
                self.wish = Some(match format {
                    ResponseFormat::Schema { schema, .. } => format!(
                        "Answer with JSON that fits this JSON Schema, and with nothing else:\n{schema}"
                    ),
                    _ => "Answer with one JSON object and nothing else.".to_owned(),
                });
                self.warnings.push(format!(
                    "the model is asked for the form of its answer in words: {reason}"
                ));
                self.settings.response_format = ResponseFormat::Text;
            }
        }
    }
}

/// Checks whether the tool can be offered together with those in the app's own `tools` field.
///
/// # Errors
/// The reason why the tool cannot be offered.
pub(super) fn stands_beside(
    tool: &ToolDefinition,
    own: &[Value],
    endpoint: &Endpoint,
) -> Result<(), &'static str> {
    if own.iter().flat_map(names).any(|name| name == tool.name) {
        return Err("the app's own field `tools` has one of that name");
    }
    let is_gemini = matches!(
        endpoint.dialect,
        Dialect::Gemini | Dialect::GeminiInteractions
    );
    let stands_alone = is_gemini && !gemini::is_third_generation(&endpoint.model);
    if stands_alone && own.iter().any(gemini::is_built_in) {
        return Err(
            "before its third generation Gemini takes none beside those that it runs itself, and the app's own field \
             `tools` has one",
        );
    }
    Ok(())
}

fn is_told_of_users(endpoint: &Endpoint) -> bool {
    match endpoint.dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => endpoint.quirks.user != UserField::Never,
        Dialect::Anthropic => true,
        Dialect::AgUi
        | Dialect::Gemini
        | Dialect::GeminiInteractions
        | Dialect::Ollama
        | Dialect::Mistral
        | Dialect::Cohere
        | Dialect::BedrockConverse => false,
    }
}

/// Returns the rules of the dialect's providers for a tool's schema. An AG-UI agent takes any schema.
fn rules(dialect: Dialect) -> Option<Rules> {
    let rules = Rules::default();
    match dialect {
        Dialect::AgUi => None,
        Dialect::Anthropic | Dialect::BedrockConverse => Some(Rules {
            plain_names: true,
            ..rules
        }),
        Dialect::Gemini | Dialect::GeminiInteractions => Some(Rules {
            is_gemini: true,
            ..rules
        }),
        _ => Some(rules),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider;
    use serde_json::json;

    #[test]
    fn without_tools_nothing_is_left_of_the_apps_fields_for_them() {
        let fields = json!({
            "tools": [{"type": "run"}], "tool_choice": "required", "parallel_tool_calls": true,
            "toolConfig": {"includeServerSideToolInvocations": true}, "top_k": 7,
        });
        let settings = GenerationSettings {
            extra: serde_json::from_value(fields.clone()).expect("fields"),
            ..GenerationSettings::default()
        };
        for provider in provider::all() {
            for api in provider.apis.iter() {
                let endpoint = provider.endpoint(Some(&api.name), "m", Some("http://h"), None);
                let endpoint = endpoint.expect("complete");
                let dialect = endpoint.dialect;
                let offer = Offer::new(&endpoint, &[], &settings, None).without_tools(dialect);
                let extra = json!(offer.settings.extra);
                match dialect {
                    Dialect::AgUi => assert_eq!(extra, fields),
                    Dialect::Anthropic => {
                        assert_eq!(extra.get("tool_choice"), None);
                        assert_eq!(extra["tools"], fields["tools"]);
                        assert_eq!(offer.settings.tool_choice, ToolChoice::None);
                    }
                    _ => assert_eq!(extra, json!({"top_k": 7})),
                }
            }
        }
    }
}
