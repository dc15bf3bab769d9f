use crate::provider::{Dialect, Endpoint, Media};

/// The rules of a provider's API for the history in a request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rules<'a> {
    /// The provider whose signatures and files may be sent.
    pub provider: &'a str,
    /// The wire format.
    pub dialect: Dialect,
    /// The model.
    pub model: &'a str,
    /// The media that the API takes, among those that its format can carry.
    pub media: Media,
    /// The API is an agent's: the history is sent unchanged, with a result for every call.
    pub is_agent: bool,
    /// Calls may stay open: the request answers an agent's interrupt.
    pub may_leave_calls_open: bool,
    /// The form of call ids.
    pub call_ids: CallIds,
    /// The form of tool names.
    pub tool_names: ToolNames,
    /// A call's arguments must be a JSON object.
    pub arguments_are_objects: bool,
    /// Reasoning may come after the answer that it belongs to.
    pub takes_late_reasoning: bool,
    /// Text may not be blank.
    pub refuses_blank_text: bool,
    /// System messages may stand only at the beginning.
    pub system_first: bool,
    /// The first message must be the user's.
    pub begins_with_user: bool,
    /// The last message must be the user's or a result, but for an answer that the provider has paused.
    pub ends_with_input: bool,
    /// There must be an answer between a result and the user's next message.
    pub answers_results: bool,
}

/// The form of call ids. They must be unique and not empty, but see [`IdForm::Kimi`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallIds {
    /// The fewest characters; at least 1.
    pub least: usize,
    /// The most characters.
    pub most: usize,
    /// The allowed characters.
    pub charset: Charset,
    /// What an id says.
    pub form: IdForm,
}

/// What call ids say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum IdForm {
    /// Nothing.
    Opaque,
    /// The function, and which call it is: `functions.NAME:INDEX`. Kimi writes these ids itself and reads them in its
    /// prompt; ids of another form lead it to write its calls as text. Its own ids are sent back as they came, even if
    /// an earlier answer has the same: many servers count the calls of each answer from 0. Ids of another form are
    /// replaced, counted over the conversation.
    Kimi {
        /// The model also writes ids without `functions.`, as those after K2 do.
        takes_short: bool,
    },
}

/// The characters that are allowed in ids and names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Charset {
    /// Anything.
    Any,
    /// Letters and digits of ASCII.
    Alphanumeric,
    /// The same, `_` and `-`.
    Word,
    /// The same, `.` and `:`, beginning with a letter or `_`.
    Dotted,
}

/// The form of tool names. They must not be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolNames {
    /// The most characters.
    pub most: usize,
    /// The allowed characters.
    pub charset: Charset,
}

impl Charset {
    pub(super) fn has(self, c: char) -> bool {
        match self {
            Self::Any => true,
            Self::Alphanumeric => c.is_ascii_alphanumeric(),
            Self::Word => c.is_ascii_alphanumeric() || matches!(c, '_' | '-'),
            Self::Dotted => c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'),
        }
    }

    pub(super) fn may_begin_with(self, c: char) -> bool {
        match self {
            Self::Dotted => c.is_ascii_alphabetic() || c == '_',
            _ => self.has(c),
        }
    }
}

/// A bound for providers without a known limit.
const FREE: CallIds = CallIds {
    least: 1,
    most: 256,
    charset: Charset::Any,
    form: IdForm::Opaque,
};

const WORDS: ToolNames = ToolNames {
    most: 64,
    charset: Charset::Word,
};

/// Returns the form of the call ids of an open model.
///
/// Sources: <https://huggingface.co/moonshotai/Kimi-K2-Instruct-0905/blob/main/docs/tool_call_guidance.md>, "FAQ"; for
/// the models after K2 <https://github.com/fw-ai/fireconnect/issues/16>.
fn id_form(model: &str) -> IdForm {
    let model = model.to_ascii_lowercase();
    match model.find("kimi") {
        Some(at) => IdForm::Kimi {
            takes_short: !model[at..].contains("k2"),
        },
        None => IdForm::Opaque,
    }
}

/// Returns whether the endpoint is OpenAI's own, not another server under its name: its models are shown what they
/// wrote as it was.
fn is_openais_own(endpoint: &Endpoint) -> bool {
    endpoint.provider == "openai" && endpoint.base_url.starts_with("https://api.openai.com/")
}

impl<'a> Rules<'a> {
    /// The rules of an endpoint.
    ///
    /// Sources: the providers' API references; for Mistral also the validator in its published `mistral-common`; see
    /// each dialect's module for the addresses.
    #[must_use]
    pub fn of(endpoint: &'a Endpoint) -> Self {
        let free = Self {
            provider: &endpoint.provider,
            dialect: endpoint.dialect,
            model: &endpoint.model,
            media: endpoint.quirks.media,
            is_agent: false,
            may_leave_calls_open: false,
            call_ids: FREE,
            tool_names: WORDS,
            arguments_are_objects: true,
            takes_late_reasoning: true,
            refuses_blank_text: false,
            system_first: false,
            begins_with_user: false,
            ends_with_input: false,
            answers_results: false,
        };
        match endpoint.dialect {
            Dialect::AgUi => Self {
                is_agent: true,
                may_leave_calls_open: true,
                ..free
            },
            Dialect::OpenAiChat => Self {
                call_ids: match id_form(&endpoint.model) {
                    IdForm::Opaque => CallIds {
                        // The servers of open models have ids of their own, such as `functions.NAME:0`. OpenRouter passes
                        // on the ids of the provider behind it, and the model's reasoning refers to its calls by them.
                        most: match endpoint.provider.as_str() {
                            "groq" | "together" | "fireworks" | "nvidia" | "ollama" => FREE.most,
                            "openrouter" if !endpoint.model.starts_with("openai/") => FREE.most,
                            _ => 40,
                        },
                        ..FREE
                    },
                    form => CallIds { form, ..FREE },
                },
                arguments_are_objects: !is_openais_own(endpoint),
                ..free
            },
            Dialect::OpenAiResponses => Self {
                call_ids: CallIds { most: 64, ..FREE },
                // Reasoning is refused that no item of its answer follows.
                takes_late_reasoning: false,
                arguments_are_objects: !is_openais_own(endpoint),
                ..free
            },
            Dialect::Anthropic | Dialect::BedrockConverse => Self {
                call_ids: CallIds {
                    most: 64,
                    charset: Charset::Word,
                    ..FREE
                },
                // The last block of an answer may not be thinking.
                takes_late_reasoning: false,
                refuses_blank_text: true,
                system_first: true,
                begins_with_user: true,
                ends_with_input: true,
                ..free
            },
            Dialect::Gemini | Dialect::GeminiInteractions => Self {
                tool_names: ToolNames {
                    charset: Charset::Dotted,
                    ..WORDS
                },
                refuses_blank_text: true,
                system_first: true,
                begins_with_user: true,
                ends_with_input: true,
                ..free
            },
            Dialect::Mistral => Self {
                call_ids: CallIds {
                    least: 9,
                    most: 9,
                    charset: Charset::Alphanumeric,
                    form: IdForm::Opaque,
                },
                refuses_blank_text: true,
                system_first: true,
                ends_with_input: true,
                answers_results: true,
                ..free
            },
            Dialect::Cohere => Self {
                refuses_blank_text: true,
                ..free
            },
            Dialect::Ollama => free,
        }
    }
}
