use crate::encode::{call, encode, messages, with};
use serde_json::{Value, json};
use stepwell_core::dialect::{
    CacheLifetime, Endpoint, GenerationSettings, ReasoningEffort, ResponseFormat, Secret,
    ToolChoice,
};
use stepwell_core::provider;

const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const NOVA: &str = "amazon.nova-lite-v1:0";
const LLAMA: &str = "meta.llama3-1-8b-instruct-v1:0";

fn endpoint(model: &str) -> Endpoint {
    let bedrock = provider::find("bedrock").expect("a known provider");
    let key = Some(Secret::from("k"));
    let endpoint = bedrock.endpoint(None, model, Some("eu-central-1"), key);
    endpoint.expect("complete")
}

#[allow(clippy::needless_pass_by_value, reason = "a literal at each call")]
fn sealed(value: Value) -> String {
    json!({"provider": "bedrock", "dialect": "bedrock-converse", "value": value}).to_string()
}

#[test]
fn a_request_in_full() {
    let settings = GenerationSettings {
        temperature: Some(0.5),
        max_output_tokens: Some(100),
        tool_choice: ToolChoice::Named("now".to_owned()),
        extra: serde_json::from_value(json!({
            "inferenceConfig": {"stopSequences": ["END"], "topP": 0.9},
            "additionalModelRequestFields": {"top_k": 7},
            "tools": [{"systemTool": {"name": "nova_grounding"}}],
            "guardrailConfig": {"guardrailIdentifier": "g", "guardrailVersion": "1"},
        }))
        .expect("fields"),
        ..GenerationSettings::default()
    };
    let (url, headers, body) = encode(
        &endpoint(NOVA),
        Some("Be brief."),
        json!([{"id": "1", "role": "user", "content": "Hi"}]),
        json!([{"name": "add", "description": ""}, {"name": "now", "description": "Tells."}]),
        &settings,
    );
    assert_eq!(
        url,
        "https://bedrock-runtime.eu-central-1.amazonaws.com/model/amazon.nova-lite-v1%3A0/converse-stream"
    );
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(headers[0], header("authorization", "Bearer k"));
    assert!(headers.contains(&header("accept", "application/vnd.amazon.eventstream")));
    let schema = r#"{"json":{"type":"object","properties":{}}}"#;
    assert_eq!(
        body.to_string(),
        [
            r#"{"messages":[{"role":"user","content":[{"text":"Hi"}]}],"system":[{"text":"Be brief."}],"#,
            r#""inferenceConfig":{"maxTokens":100,"temperature":0.5,"stopSequences":["END"],"topP":0.9},"#,
            r#""toolConfig":{"tools":[{"toolSpec":{"name":"add","inputSchema":"#,
            schema,
            r#"}},{"toolSpec":{"name":"now","description":"Tells.","inputSchema":"#,
            schema,
            r#"}},{"systemTool":{"name":"nova_grounding"}}],"toolChoice":{"tool":{"name":"now"}}},"#,
            r#""additionalModelRequestFields":{"top_k":7},"#,
            r#""guardrailConfig":{"guardrailIdentifier":"g","guardrailVersion":"1"}}"#,
        ]
        .concat()
    );
}

#[test]
fn calls_results_and_reasoning_are_sent_back() {
    let history = json!([
        {"id": "1", "role": "user", "content": "Hi"},
        {"id": "2", "role": "reasoning", "content": "Hm", "encryptedValue": sealed(json!({"signature": "c2ln"}))},
        {"id": "3", "role": "reasoning", "content": "", "encryptedValue": sealed(json!({"redacted": "AAEC"}))},
        {"id": "4", "role": "reasoning", "content": "of another"},
        {"id": "5", "role": "assistant", "content": "Look.", "toolCalls": [call("a", "{\"x\":1}"), call("b", "")]},
        {"id": "6", "role": "tool", "toolCallId": "a", "content": "seen"},
        {"id": "7", "role": "tool", "toolCallId": "b", "content": "", "error": "It broke."},
        {"id": "8", "role": "user", "content": "And?"},
    ]);
    let settings = GenerationSettings {
        reasoning: Some(ReasoningEffort::Low),
        ..GenerationSettings::default()
    };
    let (_, _, body) = encode(
        &endpoint(CLAUDE),
        None,
        history.clone(),
        json!([]),
        &settings,
    );
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": [{"text": "Hi"}]},
            {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm", "signature": "c2ln"}}},
                {"reasoningContent": {"redactedContent": "AAEC"}},
                {"text": "Look."},
                {"toolUse": {"toolUseId": "a", "name": "f", "input": {"x": 1}}},
                {"toolUse": {"toolUseId": "b", "name": "f", "input": {}}},
            ]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "a", "content": [{"text": "seen"}]}},
                {"toolResult": {"toolUseId": "b", "content": [{"text": "It broke."}], "status": "error"}},
                {"text": "And?"},
            ]},
        ])
    );
    // The tools that the history calls must be there.
    assert_eq!(
        body["toolConfig"],
        json!({"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]})
    );
    let (_, _, body) = encode(&endpoint(LLAMA), None, history, json!([]), &settings);
    assert_eq!(
        body["messages"][2]["content"][1],
        json!({"toolResult": {"toolUseId": "b", "content": [{"text": "{\"error\":\"It broke.\"}"}]}}),
        "only some models take a status"
    );
}

#[test]
fn media_are_blocks_with_neutral_names() {
    let data = |mime: &str| json!({"type": "data", "value": "QUJD", "mimeType": mime});
    let document = |source: Value| json!({"type": "document", "source": source, "metadata": {"filename": "evil.pdf"}});
    let sent = messages(
        &endpoint(CLAUDE),
        json!([{"id": "1", "role": "user", "content": [
            {"type": "image", "source": data("image/jpeg")},
            document(data("application/pdf")),
            document(data("text/markdown")),
            {"type": "image", "source": {"type": "url", "value": "s3://bucket/a.png", "mimeType": "image/png"}},
            {"type": "image", "source": {"type": "url", "value": "https://h/a.png", "mimeType": "image/png"}},
        ]}]),
    );
    assert_eq!(
        sent[0]["content"],
        json!([
            {"image": {"format": "jpeg", "source": {"bytes": "QUJD"}}},
            {"document": {"format": "pdf", "name": "document 1", "source": {"bytes": "QUJD"}}},
            {"document": {"format": "md", "name": "document 2", "source": {"bytes": "QUJD"}}},
            {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/a.png"}}}},
            {"text": "[image: https://h/a.png]"},
        ])
    );
    let alone =
        json!([{"id": "1", "role": "user", "content": [document(data("application/pdf"))]}]);
    let sent = messages(&endpoint(CLAUDE), alone);
    assert_eq!(
        sent[0]["content"][1]["text"],
        "(See the attached documents.)"
    );
}

#[test]
fn each_family_reasons_in_its_own_fields() {
    let fields = |model: &str, effort| {
        let settings = GenerationSettings {
            reasoning: Some(effort),
            max_output_tokens: Some(1000),
            temperature: Some(0.3),
            ..GenerationSettings::default()
        };
        let body = with(&endpoint(model), &settings, json!([]));
        (
            body["additionalModelRequestFields"].clone(),
            body["inferenceConfig"].clone(),
        )
    };
    let (own, config) = fields(CLAUDE, ReasoningEffort::Low);
    assert_eq!(
        own,
        json!({"thinking": {"type": "enabled", "budget_tokens": 2048}})
    );
    assert_eq!(config, json!({"maxTokens": 3048}));
    let (own, _) = fields("anthropic.claude-opus-4-6-v1", ReasoningEffort::High);
    assert_eq!(own["thinking"]["type"], "adaptive");
    assert_eq!(own["output_config"], json!({"effort": "high"}));
    let (own, config) = fields("global.amazon.nova-2-lite-v1:0", ReasoningEffort::Medium);
    assert_eq!(
        own,
        json!({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "medium"}})
    );
    assert_eq!(config, json!({"maxTokens": 1000, "temperature": 0.3}));
    let (own, _) = fields("openai.gpt-oss-120b-1:0", ReasoningEffort::High);
    assert_eq!(own, json!({"reasoning_effort": "high"}));
    let (own, _) = fields(LLAMA, ReasoningEffort::High);
    assert_eq!(own, Value::Null);
}

#[test]
fn cache_points_are_where_the_model_takes_them() {
    let tools = json!([{"name": "f", "description": "", "parameters": {"type": "object"}}]);
    let body = |model: &str, lifetime| {
        let settings = GenerationSettings {
            cache_prompt: Some(lifetime),
            ..GenerationSettings::default()
        };
        let said = json!([{"id": "1", "role": "user", "content": "Hi"}]);
        encode(
            &endpoint(model),
            Some("Rule."),
            said,
            tools.clone(),
            &settings,
        )
        .2
    };
    let point = json!({"cachePoint": {"type": "default"}});
    let hour = json!({"cachePoint": {"type": "default", "ttl": "1h"}});
    let claude = body(CLAUDE, CacheLifetime::OneHour);
    assert_eq!(claude["system"], json!([{"text": "Rule."}, hour]));
    assert_eq!(
        claude["messages"][0]["content"],
        json!([{"text": "Hi"}, hour])
    );
    assert_eq!(claude["toolConfig"]["tools"][1], hour);
    let nova = body(NOVA, CacheLifetime::OneHour);
    assert_eq!(nova["system"], json!([{"text": "Rule."}, point]));
    assert_eq!(
        nova["toolConfig"]["tools"].as_array().map(Vec::len),
        Some(1)
    );
    let llama = body(LLAMA, CacheLifetime::FiveMinutes);
    assert!(!llama.to_string().contains("cachePoint"), "{llama}");
    let marked = json!([
        {"id": "1", "role": "user", "content": "One", "metadata": {"cacheControl": {"type": "ephemeral"}}},
        {"id": "2", "role": "assistant", "content": "Two"},
        {"id": "3", "role": "user", "content": "Three"},
    ]);
    let sent = messages(&endpoint(CLAUDE), marked);
    assert_eq!(sent[0]["content"], json!([{"text": "One"}, point]));
}

#[test]
fn a_form_of_the_answer_is_the_text_of_a_schema() {
    let settings = |response_format| GenerationSettings {
        response_format,
        ..GenerationSettings::default()
    };
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let body = with(
        &endpoint(CLAUDE),
        &settings(ResponseFormat::Schema {
            name: "n".to_owned(),
            schema: schema.clone(),
            strict: true,
        }),
        json!([]),
    );
    let format = &body["outputConfig"]["textFormat"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(
        format["structure"]["jsonSchema"],
        json!({"name": "n", "schema": schema.to_string()})
    );
    let body = with(
        &endpoint(CLAUDE),
        &settings(ResponseFormat::Json),
        json!([]),
    );
    assert_eq!(
        body["system"],
        json!([{"text": "Answer with one JSON object and nothing else."}])
    );
}

#[test]
fn without_calls_no_tools_are_offered() {
    let settings = GenerationSettings {
        tool_choice: ToolChoice::None,
        ..GenerationSettings::default()
    };
    let tools = json!([{"name": "f", "description": ""}]);
    let body = with(&endpoint(CLAUDE), &settings, tools);
    assert_eq!(body.get("toolConfig"), None);
}
