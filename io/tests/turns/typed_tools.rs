//! Tools whose arguments and results are types.

use super::{agent, messages, start, watch};
use crate::support::IntoChat as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;
use stepwell_io::tool::{Tool, ToolAnswer, ToolError, ToolFunction, ToolOutput};
use stepwell_io::turn::Outcome;
use stepwell_io::{AgentBuilder, tool, tools};
use stepwell_mock_llm::{Hop, Script};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Place {
    /// The city's name.
    city: String,
    /// Its country.
    country: Option<String>,
}

#[derive(Serialize)]
struct Forecast {
    place: Place,
    degrees: i32,
}

/// The weather in a city, for
/// a few days.
///
/// Ask it before a journey.
///
/// # Errors
/// None that a model has to know of.
#[tool(
    requires_approval,
    idempotent,
    repeatable,
    timeout = Duration::from_secs(7),
    label = |arguments| Some(format!("Weather in {}", arguments["place"]["city"].as_str()?)),
)]
async fn get_weather(
    /// Where.
    place: Place,
    /// How far ahead.
    #[serde(default)]
    #[schemars(range(max = 7))]
    days: u8,
    unit: Option<Unit>,
) -> Result<Forecast, String> {
    match (days, unit) {
        (0..=7, Some(Unit::Fahrenheit)) => Ok(Forecast { place, degrees: 70 }),
        (0..=7, _) => Ok(Forecast { place, degrees: 21 }),
        _ => Err("nobody knows so far ahead".to_owned()),
    }
}

/// Adds two numbers.
#[tool(name = "sum")]
fn add(left: i64, right: i64) -> i64 {
    left + right
}

/// Does nothing.
#[tool]
fn nothing() {}

/// Answers by itself.
#[tool]
async fn picture(#[allow(unused)] of: String) -> Result<ToolOutput, Infallible> {
    Ok(ToolOutput::from("a picture"))
}

/// Its result comes later, or never.
#[tool]
async fn later() -> ToolAnswer {
    "now".into()
}

/// Has an argument of its own name, and one of a Rust word.
#[tool]
async fn arguments(arguments: String, r#type: String) -> String {
    format!("{arguments}, {type}", r#type = r#type)
}

fn every_tool(builder: AgentBuilder) -> AgentBuilder {
    builder.tools(tools![get_weather, add, nothing, picture, later, arguments])
}

/// Returns the result of a call that the model receives.
async fn shown(
    setup: impl FnOnce(AgentBuilder) -> AgentBuilder,
    name: &str,
    arguments: Value,
) -> String {
    let script = Script::new()
        .hop(Hop::new().tool_call(name, arguments))
        .hop(Hop::new().text("I see."));
    let server = start(script).await;
    let allow = |_| async { stepwell_io::tool::Decision::Granted };
    let agent = setup(agent(&server)).approver(allow).chat();
    let (_, finished) = watch(agent.send("Go on")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let requests = server.requests();
    let shown = &messages(&requests[1], "tool")[0]["content"];
    shown.as_str().expect("a text").to_owned()
}

#[test]
fn a_function_is_described_by_its_comments_and_types() {
    let tool = <get_weather as ToolFunction>::tool().tool;
    assert_eq!(tool.name(), "get_weather");
    assert_eq!(
        tool.definition.description,
        "The weather in a city, for\na few days.\n\nAsk it before a journey."
    );
    assert!(tool.requires_approval && tool.idempotent && tool.repeatable);
    assert_eq!(tool.timeout, Some(Duration::from_secs(7)));
    let label = tool.label.of(&json!({ "place": { "city": "Bergen" } }));
    assert_eq!(label.as_deref(), Some("Weather in Bergen"));
    let parameters = tool.definition.parameters.expect("a schema");
    let place = json!({
        "type": "object",
        "properties": {
            "city": { "description": "The city's name.", "type": "string" },
            "country": { "description": "Its country.", "type": ["string", "null"] },
        },
        "required": ["city"],
    });
    assert_eq!(
        parameters,
        json!({
            "type": "object",
            "properties": {
                "place": { "description": "Where.", "$ref": "#/$defs/Place" },
                "days": {
                    "description": "How far ahead.",
                    "type": "integer",
                    "minimum": 0,
                    "maximum": 7,
                    "default": 0,
                },
                "unit": { "anyOf": [{ "$ref": "#/$defs/Unit" }, { "type": "null" }] },
            },
            "additionalProperties": false,
            "required": ["place"],
            "$defs": {
                "Place": place,
                "Unit": { "type": "string", "enum": ["celsius", "fahrenheit"] },
            },
        })
    );
}

#[test]
fn a_tool_has_only_its_given_name_and_settings() {
    let tool = <add as ToolFunction>::tool().tool;
    assert_eq!(tool.name(), "sum");
    assert!(!tool.requires_approval && !tool.idempotent && !tool.repeatable);
    assert_eq!(tool.timeout, None);
    assert_eq!(
        <nothing as ToolFunction>::tool().tool.definition.parameters,
        Some(json!({ "type": "object", "additionalProperties": false }))
    );
}

#[tokio::test]
async fn the_function_is_given_its_arguments_and_the_model_its_result() {
    let bergen = json!({ "place": { "city": "Bergen" }, "days": 2, "unit": "fahrenheit" });
    for (name, arguments, result) in [
        (
            "get_weather",
            bergen,
            r#"{"place":{"city":"Bergen","country":null},"degrees":70}"#,
        ),
        ("sum", json!({ "left": 40, "right": 2 }), "42"),
        ("nothing", json!({}), "done"),
        ("picture", json!({ "of": "Bergen" }), "a picture"),
        ("later", json!({}), "now"),
        (
            "arguments",
            json!({ "arguments": "one", "type": "two" }),
            "one, two",
        ),
    ] {
        assert_eq!(shown(every_tool, name, arguments).await, result, "{name}");
    }
}

#[tokio::test]
async fn a_function_stays_one() {
    assert_eq!(add(40, 2), 42);
    let place = Place {
        city: "Bergen".to_owned(),
        country: None,
    };
    let forecast = get_weather(place, 0, None).await.expect("it is known");
    assert_eq!(forecast.degrees, 21);
}

#[tokio::test]
async fn arguments_that_do_not_fit_never_reach_the_function() {
    let more = json!({ "left": 1, "right": 2, "third": 3 });
    let shown_of_more = shown(every_tool, "sum", more).await;
    assert!(shown_of_more.contains("third"), "{shown_of_more}");
}

/// The schema is weaker than the decoder.
#[derive(Deserialize, JsonSchema)]
struct Booking {
    #[schemars(with = "Vec<String>")]
    seats: Vec<std::num::NonZeroU8>,
}

#[tokio::test]
async fn a_decoding_error_is_reported_with_its_place() {
    let setup = |builder: AgentBuilder| {
        builder.typed_tool(
            Tool::new("book", "Books."),
            |booking: Booking, _| async move { Ok::<_, Infallible>(booking.seats.len()) },
        )
    };
    assert_eq!(
        shown(setup, "book", json!({ "seats": ["1"] })).await,
        r#"{"error":"the arguments of `book` cannot be taken: invalid type: string \"1\", expected a nonzero u8 (at seats[0])"}"#
    );
}

#[tokio::test]
async fn a_closure_is_given_its_type_too() {
    let setup = |builder: AgentBuilder| {
        builder.typed_tool(
            Tool::new("country_of", "The country of a city."),
            |place: Place, call| async move {
                match place.city.as_str() {
                    "Bergen" => Ok(format!("Norway, says {}", call.name)),
                    other => Err(format!("nobody knows {other}")),
                }
            },
        )
    };
    let bergen = shown(setup, "country_of", json!({ "city": "Bergen" })).await;
    assert_eq!(bergen, "Norway, says country_of");
    let atlantis = shown(setup, "country_of", json!({ "city": "Atlantis" })).await;
    assert_eq!(atlantis, r#"{"error":"nobody knows Atlantis"}"#);
}

#[tokio::test]
async fn two_tools_of_one_name_are_refused_when_the_agent_is_made() {
    let server = start(Script::new()).await;
    let refused = agent(&server).tools(tools![add, add]).build();
    let error = refused.expect_err("there are two");
    let name = "sum".to_owned();
    assert_eq!(error.message(), ToolError::Duplicate { name }.to_string());
}
