//! What a redacted journal says of the configuration, the tools and the answers' heads.

use super::replays_alike;
use super::texts::received;
use crate::journal::{parsed, written};
use crate::world::{Reply, ToolReply, offer};
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::journal::{Journal, Step};
use stepwell_core::provider;
use stepwell_core::run::{Input, RunConfig};
use stepwell_core::tool::Tool;
use stepwell_testing::reply::{Call, Part, text};

fn redacted(change: impl FnOnce(&mut RunConfig)) -> Journal {
    let world = crate::world::with(Dialect::OpenAiChat, change).journaled();
    let mut world = world.streams([text("Yes.")]).turn();
    let journal = parsed(&written(&mut world));
    let redacted = journal.redact(5).expect("it goes the same way");
    replays_alike(&journal, &redacted);
    redacted
}

#[test]
fn an_address_keeps_its_scheme_and_its_signs_unless_everybody_knows_it() {
    for (address, hidden) in [
        (
            "https://zebra7.example:80/v1/Quagga",
            "https://xxxxx0.xxxxxxx:00/x0/Xxxxxx",
        ),
        ("zebra.example/v1", "xxxxx.xxxxxxx/x0"),
    ] {
        let journal = redacted(|config| config.endpoint.base_url = address.to_owned());
        assert_eq!(journal.config.endpoint.base_url, hidden);
    }
    let public = provider::find("groq").expect("a provider of the table");
    let endpoint = public
        .endpoint(None, "a-model", None, Some("k".into()))
        .expect("nothing is missing");
    let journal = redacted(|config| config.endpoint = endpoint.clone());
    assert_eq!(journal.config.endpoint.base_url, endpoint.base_url);
    assert_eq!(journal.config.endpoint.provider, "groq");
    let journal = redacted(|config| config.endpoint.provider = "Zebra-1".to_owned());
    assert_eq!(journal.config.endpoint.provider, "Xxxxx-0");
}

#[test]
fn of_a_media_type_only_what_all_have_in_common_is_kept() {
    for (media_type, hidden) in [
        ("text/html; charset=utf-8", "text/html; charset=utf-8"),
        ("text/html;charset=UTF8", "text/html;charset=UTF8"),
        ("text/html; zebra=Quagga", "text/html; xxxxx=Xxxxxx"),
        (
            "application/json; charset=utf-8; a=b",
            "application/json; xxxxxxx=xxx-0; x=x",
        ),
        ("image/png", "image/png"),
        ("zebra/html", "xxxxx/xxxx"),
        ("zebra", "xxxxx"),
    ] {
        let answer = Reply::Body(Some(media_type), b"<p>".to_vec());
        let mut world = crate::world::chat().journaled().reply(answer).turn();
        let journal = parsed(&written(&mut world));
        let redacted = journal.redact(5).expect("it goes the same way");
        let opened = redacted.entries.iter().find_map(|entry| match &entry.step {
            Step::Input(Input::Opened { content_type, .. }) => content_type.as_deref(),
            _ => None,
        });
        assert_eq!(opened, Some(hidden));
    }
}

/// A turn in which a tool of this schema is called with these arguments.
fn called(schema: &Value, arguments: &Value) -> (Journal, Journal) {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(
            config,
            Tool::new("work", "Works.").parameters(schema.clone()),
        );
    })
    .tool("work", |_| ToolReply::text("DONE"))
    .journaled()
    .streams([Part::Call(Call::new("c", "work", &arguments.to_string()))])
    .streams([text("Done.")])
    .turn();
    let journal = parsed(&written(&mut world));
    let redacted = journal.redact(5).expect("it goes the same way");
    replays_alike(&journal, &redacted);
    (journal, redacted)
}

fn schema(journal: &Journal) -> Value {
    let tools = journal.config.tools.definitions();
    tools[0].parameters.clone().expect("it has one")
}

#[test]
fn the_names_of_parameters_stay_wherever_the_schema_has_them() {
    let schema = json!({
        "type": "object",
        "anyOf": [{"properties": {"zebra": {"type": "string"}}}],
        "$defs": {"quagga": {"type": "number"}},
        "definitions": {"okapi": {"properties": {"giraffe": {}}}},
    });
    let arguments = json!({"zebra": 1, "quagga": 2, "okapi": 3, "giraffe": 4});
    let (_, redacted) = called(&schema, &arguments);
    let body = received(&redacted);
    for name in ["zebra", "quagga", "okapi", "giraffe"] {
        assert!(body.contains(name), "{name}: {body}");
    }
    let (_, redacted) = called(&json!({"type": "object"}), &arguments);
    for name in ["zebra", "quagga", "okapi", "giraffe"] {
        assert!(
            !received(&redacted).contains(name),
            "{name} is no parameter"
        );
    }
}

#[test]
fn of_a_schema_the_rules_stay_and_the_words_go() {
    let original = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Zebra",
        "$comment": "Zebra",
        "description": "A Zebra.",
        "type": ["object", "null"],
        "required": ["a"],
        "default": {"a": "Zebra"},
        "examples": ["Zebra"],
        "example": "Zebra",
        "minProperties": 1,
        "additionalProperties": false,
        "properties": {
            "a": {"type": "string", "minLength": 2, "format": "email", "description": "Its Zebra."},
            "title": {"$ref": "#/$defs/b", "type": "array", "prefixItems": [{"description": "Zebra"}, true]},
        },
        "patternProperties": {"^z": {"title": "Zebra", "type": "number"}},
        "dependentRequired": {"a": ["title"]},
        "dependentSchemas": {"a": {"description": "Zebra"}},
        "$defs": {"b": {"$anchor": "here", "$id": "b", "description": "Zebra"}},
        "definitions": {"c": {"const": "Zebra", "enum": ["Zebra", 1, null]}},
    });
    let (_, redacted) = called(&original, &json!({"a": "Zebra", "title": []}));
    let mut seen = schema(&redacted);
    let zebra = seen["definitions"]["c"]["const"].take();
    let other = zebra.as_str().expect("a text");
    assert!(other.len() == 5 && other != "Zebra" && other != "Xxxxx");
    assert_eq!(
        seen,
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "description": "X Xxxxx.",
            "type": ["object", "null"],
            "required": ["a"],
            "minProperties": 1,
            "additionalProperties": false,
            "properties": {
                "a": {"type": "string", "minLength": 2, "format": "email", "description": "Xxx Xxxxx."},
                "title": {"$ref": "#/$defs/b", "type": "array", "prefixItems": [{"description": "Xxxxx"}, true]},
            },
            "patternProperties": {"^z": {"type": "number"}},
            "dependentRequired": {"a": ["title"]},
            "dependentSchemas": {"a": {"description": "Xxxxx"}},
            "$defs": {"b": {"$anchor": "here", "$id": "b", "description": "Xxxxx"}},
            "definitions": {"c": {"const": null, "enum": [zebra, 1, null]}},
        })
    );
    let body = received(&redacted);
    assert!(
        body.contains(other),
        "the argument stays what the rule allows: {body}"
    );
}

#[test]
fn a_pattern_gives_way_to_the_texts_that_did_not_fit_it() {
    let pattern = |rules: Option<Value>| {
        let mut code = json!({"type": "string", "pattern": "^[A-Z]+$"});
        if let Some(rules) = rules {
            code["allOf"] = rules;
        }
        json!({"type": "object", "properties": {"code": code}})
    };
    for rules in [None, Some(json!([{"minLength": 1}]))] {
        let kept = rules
            .as_ref()
            .map_or(0, |rules| rules.as_array().map_or(0, Vec::len));
        let of = |code: &str| {
            let (_, redacted) = called(&pattern(rules.clone()), &json!({"code": code}));
            let code = schema(&redacted)["properties"]["code"].clone();
            assert!(code.get("pattern").is_none());
            code["allOf"].as_array().cloned().unwrap_or_default()
        };
        assert_eq!(
            of("FITS").len(),
            kept,
            "it fits: there is nothing to keep out"
        );
        let misfit = of("does not fit");
        assert_eq!(misfit.len(), kept + 1);
        let words = misfit[kept]["not"]["enum"].as_array().expect("a list");
        assert_eq!(words.len(), 1);
        assert_ne!(words[0], "does not fit");
    }
}
