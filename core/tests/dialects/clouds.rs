//! Azure OpenAI, Vertex AI and Amazon Bedrock: whose address, version and key a request has.

use serde_json::{Value, json};
use stepwell_core::Timestamp;
use stepwell_core::dialect::{GenerationSettings, HopIds, HttpRequest, ModelRequest, Secret};
use stepwell_core::event::{Message, ToolDefinition};
use stepwell_core::provider;

/// A token of Entra ID, as far as its form goes.
const TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJhdWQiOiJ4In0.c2ln";

/// What an app has: the environment, the model and the key.
struct Case {
    provider: &'static str,
    api: &'static str,
    environment: &'static [(&'static str, &'static str)],
    model: &'static str,
    key: &'static str,
    url: &'static str,
}

const RESOURCE: (&str, &str) = ("AZURE_OPENAI_ENDPOINT", "https://name.openai.azure.com/");
const DATED: (&str, &str) = ("OPENAI_API_VERSION", "2024-10-21");

const CASES: [Case; 13] = [
    Case {
        provider: "azure",
        api: "chat",
        environment: &[RESOURCE],
        model: "my-gpt",
        key: "0123abcd",
        url: "https://name.openai.azure.com/openai/v1/chat/completions",
    },
    Case {
        provider: "azure",
        api: "responses",
        environment: &[RESOURCE],
        model: "my-gpt",
        key: TOKEN,
        url: "https://name.openai.azure.com/openai/v1/responses",
    },
    Case {
        provider: "azure",
        api: "responses",
        environment: &[RESOURCE, ("OPENAI_API_VERSION", "preview")],
        model: "my-gpt",
        key: "0123abcd",
        url: "https://name.openai.azure.com/openai/v1/responses?api-version=preview",
    },
    Case {
        provider: "azure",
        api: "chat",
        environment: &[RESOURCE, DATED],
        model: "my-gpt",
        key: "0123abcd",
        url: "https://name.openai.azure.com/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21",
    },
    Case {
        provider: "azure",
        api: "chat",
        environment: &[RESOURCE, DATED],
        model: "my.gpt_5",
        key: TOKEN,
        url: "https://name.openai.azure.com/openai/deployments/my.gpt_5/chat/completions?api-version=2024-10-21",
    },
    Case {
        provider: "azure",
        api: "responses",
        environment: &[RESOURCE, DATED],
        model: "my-gpt",
        key: "0123abcd",
        url: "https://name.openai.azure.com/openai/responses?api-version=2024-10-21",
    },
    Case {
        provider: "vertex",
        api: "generateContent",
        environment: &[
            ("GOOGLE_CLOUD_PROJECT", "my-project"),
            ("GOOGLE_CLOUD_LOCATION", "us-east5"),
        ],
        model: "gemini-2.5-flash",
        key: "ya29.token",
        url: "https://us-east5-aiplatform.googleapis.com/v1beta1/projects/my-project/locations/us-east5/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    },
    Case {
        provider: "vertex",
        api: "generateContent",
        environment: &[
            ("GOOGLE_CLOUD_PROJECT", "my-project"),
            ("GOOGLE_CLOUD_LOCATION", "global"),
        ],
        model: "gemini-3-pro-preview",
        key: "ya29.token",
        url: "https://aiplatform.googleapis.com/v1beta1/projects/my-project/locations/global/publishers/google/models/gemini-3-pro-preview:streamGenerateContent?alt=sse",
    },
    Case {
        provider: "vertex",
        api: "generateContent",
        environment: &[("GOOGLE_CLOUD_PROJECT", "my-project")],
        model: "gemini-2.5-pro",
        key: "ya29.token",
        url: "https://aiplatform.googleapis.com/v1beta1/projects/my-project/locations/global/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    },
    Case {
        provider: "vertex",
        api: "generateContent",
        environment: &[
            ("GOOGLE_CLOUD_PROJECT", "my-project"),
            ("GOOGLE_CLOUD_LOCATION", "eu"),
        ],
        model: "gemini-2.5-pro",
        key: "ya29.token",
        url: "https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/my-project/locations/eu/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    },
    Case {
        provider: "bedrock",
        api: "converse",
        environment: &[
            ("AWS_REGION", "eu-central-1"),
            ("AWS_DEFAULT_REGION", "us-east-1"),
        ],
        model: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        key: "bedrock-api-key-1",
        url: "https://bedrock-runtime.eu-central-1.amazonaws.com/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream",
    },
    Case {
        provider: "bedrock",
        api: "converse",
        environment: &[("AWS_DEFAULT_REGION", "cn-north-1")],
        model: "amazon.nova-lite-v1:0",
        key: "bedrock-api-key-1",
        url: "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/amazon.nova-lite-v1%3A0/converse-stream",
    },
    Case {
        provider: "bedrock",
        api: "converse",
        environment: &[("AWS_REGION", "us-gov-west-1")],
        model: "arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:application-inference-profile/a1b2",
        key: "bedrock-api-key-1",
        url: "https://bedrock-runtime.us-gov-west-1.amazonaws.com/model/arn%3Aaws-us-gov%3Abedrock%3Aus-gov-west-1%3A123456789012%3Aapplication-inference-profile%2Fa1b2/converse-stream",
    },
];

impl Case {
    fn request(&self) -> HttpRequest {
        let provider = provider::find(self.provider).expect("a known provider");
        let variable = |name: &str| {
            let set = self.environment.iter().find(|(set, _)| *set == name);
            set.map(|(_, value)| (*value).to_owned())
        };
        let key = Some(Secret::from(self.key));
        let endpoint = provider.endpoint_in(Some(self.api), self.model, None, key, variable);
        let endpoint = endpoint.expect("complete");
        let tools: Vec<ToolDefinition> = serde_json::from_value(json!([
            {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}},
        ]))
        .expect("tools");
        let messages: Vec<Message> = serde_json::from_value(json!([
            {"id": "1", "role": "user", "content": "Look."},
            {"id": "2", "role": "assistant", "toolCalls": [
                {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":\"it\"}"}},
            ]},
            {"id": "3", "role": "tool", "toolCallId": "call_1", "content": "seen"},
        ]))
        .expect("messages");
        let settings = GenerationSettings {
            max_output_tokens: Some(100),
            ..GenerationSettings::default()
        };
        ModelRequest {
            endpoint: &endpoint,
            ids: &HopIds::default(),
            parent_run_id: None,
            instructions: Some("Be brief."),
            messages: &messages.iter().collect::<Vec<_>>(),
            tools: &tools,
            state: &Value::Null,
            settings: &settings,
            resume: &[],
            compact_above: None,
            now: Timestamp(0),
        }
        .to_http()
    }
}

#[test]
fn a_request_goes_to_the_clouds_address_with_its_key() {
    for case in CASES {
        let request = case.request();
        assert_eq!(request.url, case.url);
        let is_key = |name: &str| matches!(name, "authorization" | "api-key" | "x-goog-api-key");
        let keys = request.headers.iter().filter(|(name, _)| is_key(name));
        let keys: Vec<_> = keys
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        let expected = match (case.provider, case.key) {
            ("azure", "0123abcd") => "api-key: 0123abcd".to_owned(),
            (_, token) => format!("authorization: Bearer {token}"),
        };
        assert_eq!(keys, [expected], "{}", case.url);
    }
}

/// The requests, a line each, into the file that `STEPWELL_REQUESTS` names.
#[test]
#[ignore = "is for tests/request-types, which holds them against what the clouds' own packages send"]
fn requests_for_the_clouds_own_packages() {
    let file = std::env::var_os("STEPWELL_REQUESTS").expect("STEPWELL_REQUESTS names a file");
    let lines = CASES.map(|case| {
        let request = case.request();
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        let environment: serde_json::Map<_, _> = case
            .environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        let line = json!({
            "provider": case.provider, "api": case.api, "environment": environment, "model": case.model,
            "key": case.key, "url": request.url, "headers": request.headers, "body": body,
        });
        format!("{line}\n")
    });
    std::fs::write(file, lines.concat()).expect("the file can be written");
}
