//! Typed answers in requests: by the provider's own schemas, by a final tool, or by an instruction.

use super::encoding::{names, own_tools};
use super::form::{check_takes_format, formed};
use super::offer::{Offer, stands_beside};
use super::{GenerationSettings, ResponseFormat, ToolChoice};
use crate::event::ToolDefinition;
use crate::provider::{Dialect, Endpoint, ReasoningEffort};
use crate::tool::{OutputMode, OutputType};

/// The name of the final tool, if the app has no tool of that name.
const FINAL_TOOL: &str = "final_result";

impl Offer {
    /// Requests an answer of this type, in its mode or the best that the endpoint supports.
    pub(super) fn ask_for(&mut self, output: &OutputType, endpoint: &Endpoint) {
        if self.settings.response_format != ResponseFormat::Text {
            self.settings.response_format = ResponseFormat::Text;
            self.warnings.push(
                "the settings' form of the answer is left out: the typed answer has one of its own"
                    .to_owned(),
            );
        }
        let asked = match output.wanted_mode() {
            OutputMode::Auto => self
                .natively(output, endpoint, true)
                .or_else(|_| self.by_tool(output, endpoint))
                .map_err(|reason| (reason, "in words")),
            OutputMode::Native => self.natively(output, endpoint, false).map_err(|reason| {
                let instead = match self.by_tool(output, endpoint) {
                    Ok(()) => "by a final tool",
                    Err(_) => "in words",
                };
                (reason, instead)
            }),
            OutputMode::Tool => self
                .by_tool(output, endpoint)
                .map_err(|reason| (reason, "in words")),
            OutputMode::Prompt => {
                self.in_words(output);
                Ok(())
            }
        };
        if let Err((reason, instead)) = asked {
            self.warnings.push(format!(
                "the model is asked for the answer of type `{}` {instead}: {reason}",
                output.name()
            ));
            if self.final_tool.is_none() {
                self.in_words(output);
            }
        }
    }

    /// `in_full`: only if the provider's schemas say all that the type's does.
    fn natively(
        &mut self,
        output: &OutputType,
        endpoint: &Endpoint,
        in_full: bool,
    ) -> Result<(), String> {
        let provider = &endpoint.provider;
        if endpoint.dialect == Dialect::AgUi {
            return Err(format!("{provider} takes no form of the answer"));
        }
        let has_tools = !self.tools.is_empty() || !own_tools(&self.settings).is_empty();
        let format = ResponseFormat::Schema {
            name: output.name().to_owned(),
            schema: output.asked(),
            strict: true,
        };
        check_takes_format(endpoint, &format, has_tools)?;
        let (format, lost) = formed(endpoint.dialect, &format)?;
        if let Some(lost) = lost {
            let lost = format!("{provider} does not hold the answer to all of its schema: {lost}");
            if in_full {
                return Err(lost);
            }
            self.warnings.push(lost);
        }
        self.settings.response_format = format;
        Ok(())
    }

    fn by_tool(&mut self, output: &OutputType, endpoint: &Endpoint) -> Result<(), String> {
        let own = match endpoint.dialect {
            Dialect::AgUi => &[],
            _ => own_tools(&self.settings),
        };
        let is_free = |name: &String| {
            !self.tools.iter().any(|tool| tool.name == *name)
                && !own.iter().flat_map(names).any(|other| other == name)
        };
        let others = (2..).map(|number: u32| format!("{FINAL_TOOL}_{number}"));
        let mut free = std::iter::once(FINAL_TOOL.to_owned()).chain(others);
        let name = free.find(is_free).unwrap_or_default();
        let told = output.told().map(|told| format!(" {told}"));
        let tool = ToolDefinition {
            name: name.clone(),
            description: format!(
                "Ends the task: call it once, with the answer as its arguments.{}",
                told.unwrap_or_default()
            ),
            parameters: Some(output.schema().clone()),
            ..ToolDefinition::default()
        };
        stands_beside(&tool, own, endpoint)?;
        let (tools, warnings) = (self.tools.len(), self.warnings.len());
        self.add(&tool, endpoint);
        if self.tools.len() == tools {
            let reason = self.warnings.drain(warnings..).next_back();
            return Err(reason.unwrap_or_default());
        }
        let thinks = !matches!(self.settings.reasoning, None | Some(ReasoningEffort::Off));
        let choice = &mut self.settings.tool_choice;
        match choice {
            // With some providers a forced call leaves no room for thinking, nor for an answer in plain text.
            ToolChoice::Auto if !thinks && !output.takes_plain_text() => {
                *choice = ToolChoice::Required;
            }
            ToolChoice::None => *choice = ToolChoice::Named(name.clone()),
            _ => {}
        }
        self.final_tool = Some(name);
        Ok(())
    }

    fn in_words(&mut self, output: &OutputType) {
        self.wish = Some(format!(
            "Answer with JSON that fits this JSON Schema, and with nothing else:\n{}",
            output.asked()
        ));
    }
}

/// Returns whether a plain typed answer is requested by the provider's own schemas, without and with tools. If not, it
/// is requested by a final tool.
pub(crate) fn asks_natively(endpoint: &Endpoint) -> [bool; 2] {
    let schema = serde_json::json!({"type": "object", "properties": {"a": {"type": "string"}},
        "required": ["a"], "additionalProperties": false});
    let tool = ToolDefinition {
        name: "tool".to_owned(),
        parameters: Some(schema.clone()),
        ..ToolDefinition::default()
    };
    let Ok(output) = OutputType::new("Answer", schema) else {
        return [false; 2];
    };
    [&[][..], &[tool]].map(|tools| {
        let settings = GenerationSettings::default();
        let offer = Offer::new(endpoint, tools, &settings, Some(&output));
        offer.settings.response_format != ResponseFormat::Text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider;
    use serde_json::json;

    fn tool(name: &str) -> ToolDefinition {
        ToolDefinition {
            name: name.to_owned(),
            parameters: Some(json!({"type": "object", "properties": {}})),
            ..ToolDefinition::default()
        }
    }

    fn offer(endpoint: &Endpoint, tools: &[ToolDefinition], mode: OutputMode) -> Offer {
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}},
            "required": ["city"]});
        let output = OutputType::new("Trip", schema).expect("a type").mode(mode);
        Offer::new(
            endpoint,
            tools,
            &GenerationSettings::default(),
            Some(&output),
        )
    }

    #[test]
    fn each_api_asks_in_one_way_and_has_what_it_needs() {
        for provider in provider::all() {
            for api in provider.apis.iter() {
                let endpoint = provider.endpoint(Some(&api.name), "m", Some("http://h"), None);
                let endpoint = endpoint.expect("complete");
                for tools in [&[][..], &[tool("look"), tool("final_result")]] {
                    for mode in [
                        OutputMode::Auto,
                        OutputMode::Native,
                        OutputMode::Tool,
                        OutputMode::Prompt,
                    ] {
                        let offer = offer(&endpoint, tools, mode);
                        let is_native = offer.settings.response_format != ResponseFormat::Text;
                        let ways = [is_native, offer.final_tool.is_some(), offer.wish.is_some()];
                        let said = format!("{} {} {mode:?}", provider.name, api.name);
                        assert_eq!(ways.iter().filter(|way| **way).count(), 1, "{said}");
                        if let Some(name) = &offer.final_tool {
                            let named = offer.tools.iter().filter(|tool| tool.name == *name);
                            assert_eq!(named.count(), 1, "{said}");
                        }
                        // A mode that cannot be followed has a warning.
                        match mode {
                            OutputMode::Native => assert_eq!(is_native, offer.warnings.is_empty()),
                            _ => assert!(offer.warnings.is_empty(), "{said}: {:?}", offer.warnings),
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_final_tool_stays_where_the_others_are_withheld() {
        let endpoint = provider::find("cohere").expect("known");
        let endpoint = endpoint
            .endpoint(None, "m", Some("http://h"), None)
            .expect("complete");
        let offer = offer(&endpoint, &[tool("look")], OutputMode::Auto);
        assert_eq!(offer.final_tool.as_deref(), Some("final_result"));
        let last = offer.without_tools(endpoint.dialect);
        let names: Vec<_> = last.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["final_result"]);
        assert_eq!(
            last.settings.tool_choice,
            ToolChoice::Named("final_result".to_owned())
        );
    }
}
