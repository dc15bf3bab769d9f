//! The subschemas that a schema applies to a value, as a graph. The cost of a check is thus known before anything is
//! compiled.

use super::fault::SchemaFault;
use super::pattern::{Pattern, Patterns};
use super::words::pointer;
use foldhash::{HashMap, HashMapExt};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::ptr;

/// The most JSON values in one schema: each becomes up to a kilobyte in memory.
pub(super) const MAX_VALUES: usize = 20_000;

/// The most schemas that one schema applies to the same value, with what its references lead to.
const MAX_UNFOLDED: u64 = 10_000;

/// The longest chain of schemas that lead to each other for the same value.
const MAX_CHAIN: usize = 64;

/// The most schemas that one reference may mean. More than one is possible where parts of a schema have an `$id`.
const MAX_CANDIDATES: usize = 16;

/// The number of times that `unevaluatedProperties` and `unevaluatedItems` evaluate the schemas next to them, measured.
const UNEVALUATED_LOOKS: u64 = 3;

/// The schemas that a check goes through, from the root at index 0.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) nodes: Vec<Node>,
    pub(super) patterns: Patterns,
    /// The number of JSON values in the schema.
    pub(super) values: usize,
    /// Whether any keyword depends on unevaluated members. The validator caches no results for that.
    pub(super) has_unevaluated: bool,
    /// A reference to a target outside of the schema, if there is one.
    pub(super) missing: Option<String>,
}

/// One schema, with its subschemas by what they apply to.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The cost of its own keywords.
    pub(super) own: u64,
    /// The number of times that the schemas for the same value are applied.
    pub(super) repeats: u64,
    pub(super) is_unique: bool,
    pub(super) pattern: Option<usize>,
    /// To the same value.
    pub(super) in_place: Vec<usize>,
    /// To the member of that name, sorted by it.
    pub(super) properties: Vec<(Box<str>, usize)>,
    /// To the members whose names fit.
    pub(super) by_pattern: Vec<(usize, usize)>,
    /// To the members that have no schema by their name.
    pub(super) other_members: Vec<usize>,
    /// To the members' names.
    pub(super) names: Option<usize>,
    /// To the first elements, one each.
    pub(super) prefix: Vec<usize>,
    /// To the elements after those.
    pub(super) items: Vec<usize>,
    /// To all elements.
    pub(super) contains: Option<usize>,
}

impl Plan {
    pub(super) fn new(schema: &Value) -> Result<Self, SchemaFault> {
        let document = Document::new(schema)?;
        let mut builder = Builder {
            nodes: Vec::new(),
            places: Vec::new(),
            ids: HashMap::new(),
            waiting: VecDeque::new(),
            patterns: Patterns::default(),
            has_unevaluated: false,
            missing: None,
            document,
        };
        builder.id(schema, SchemaLocation::Pointer(String::new()));
        while let Some((schema, id)) = builder.waiting.pop_front() {
            if let Value::Object(words) = schema {
                let node = builder.node(words, id)?;
                builder.nodes[id] = node;
            }
        }
        let mut unfolding = Unfolding {
            builder: &builder,
            sizes: vec![Size::Unknown; builder.nodes.len()],
        };
        for id in 0..builder.nodes.len() {
            unfolding.size(id, 0)?;
        }
        Ok(Self {
            nodes: builder.nodes,
            patterns: builder.patterns,
            values: builder.document.values,
            has_unevaluated: builder.has_unevaluated,
            missing: builder.missing,
        })
    }
}

/// The location of a schema.
enum SchemaLocation {
    /// A JSON Pointer, from the root.
    Pointer(String),
    /// A location below another schema.
    Below(usize, String),
}

struct Builder<'s> {
    nodes: Vec<Node>,
    places: Vec<SchemaLocation>,
    /// The nodes by their schemas' addresses.
    ids: HashMap<*const Value, usize>,
    waiting: VecDeque<(&'s Value, usize)>,
    patterns: Patterns,
    has_unevaluated: bool,
    missing: Option<String>,
    document: Document<'s>,
}

impl<'s> Builder<'s> {
    fn id(&mut self, schema: &'s Value, place: SchemaLocation) -> usize {
        let next = self.nodes.len();
        let id = *self.ids.entry(ptr::from_ref(schema)).or_insert(next);
        if id == next {
            self.nodes.push(Node {
                own: 1,
                repeats: 1,
                ..Node::default()
            });
            self.places.push(place);
            self.waiting.push_back((schema, id));
        }
        id
    }

    fn below(&mut self, parent: usize, words: &[&str], schema: &'s Value) -> usize {
        let segments = words.iter().map(|word| format!("/{}", escaped(word)));
        self.id(schema, SchemaLocation::Below(parent, segments.collect()))
    }

    /// The JSON Pointer of a schema.
    fn path(&self, mut id: usize) -> String {
        let mut segments = Vec::new();
        loop {
            match &self.places[id] {
                SchemaLocation::Pointer(pointer) => segments.push(pointer.as_str()),
                SchemaLocation::Below(parent, segment) => {
                    segments.push(segment.as_str());
                    id = *parent;
                    continue;
                }
            }
            break;
        }
        segments.reverse();
        segments.concat()
    }

    fn fault(&self, id: usize, word: Option<&str>, reason: String) -> SchemaFault {
        let word = word.map(|word| format!("/{}", escaped(word)));
        let path = format!("{}{}", self.path(id), word.unwrap_or_default());
        SchemaFault::too_costly(path, reason)
    }

    fn pattern(&mut self, id: usize, word: &str, text: &str) -> Result<usize, SchemaFault> {
        let pattern = self.patterns.add(text);
        pattern.map_err(|reason| self.fault(id, Some(word), reason))
    }

    fn node(&mut self, words: &'s Map<String, Value>, id: usize) -> Result<Node, SchemaFault> {
        let mut node = Node {
            own: 1,
            repeats: 1,
            ..Node::default()
        };
        for (word, value) in words {
            self.word(&mut node, id, word, value)?;
        }
        node.properties.sort_unstable();
        Ok(node)
    }

    fn word(
        &mut self,
        node: &mut Node,
        id: usize,
        word: &str,
        value: &'s Value,
    ) -> Result<(), SchemaFault> {
        match (word, value) {
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                for (at, schema) in schemas.iter().enumerate() {
                    let schema = self.below(id, &[word, &at.to_string()], schema);
                    node.in_place.push(schema);
                }
            }
            ("not" | "if" | "then" | "else", schema) => {
                node.in_place.push(self.below(id, &[word], schema));
            }
            ("dependentSchemas" | "dependencies", Value::Object(all)) => {
                for (name, schema) in all {
                    if schema.is_array() {
                        node.own += count(schema) / 8;
                    } else {
                        node.in_place.push(self.below(id, &[word, name], schema));
                    }
                }
            }
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => {
                let targets = self.document.targets(target);
                if targets.is_empty() {
                    self.missing.get_or_insert_with(|| target.clone());
                }
                if targets.len() > MAX_CANDIDATES {
                    let reason = format!("`{word}` may mean {} schemas", targets.len());
                    return Err(self.fault(id, Some(word), reason));
                }
                for (pointer, schema) in targets {
                    node.in_place
                        .push(self.id(schema, SchemaLocation::Pointer(pointer)));
                }
            }
            ("properties", Value::Object(all)) => {
                node.own += all.len() as u64 / 8;
                for (name, schema) in all {
                    let schema = self.below(id, &[word, name], schema);
                    node.properties.push((name.as_str().into(), schema));
                }
            }
            ("patternProperties", Value::Object(all)) => {
                for (name, schema) in all {
                    let pattern = self.pattern(id, word, name)?;
                    let schema = self.below(id, &[word, name], schema);
                    node.by_pattern.push((pattern, schema));
                }
            }
            ("additionalProperties" | "unevaluatedProperties", schema) => {
                self.look(node, word);
                node.other_members.push(self.below(id, &[word], schema));
            }
            ("propertyNames", schema) => node.names = Some(self.below(id, &[word], schema)),
            ("prefixItems" | "items", Value::Array(schemas)) => {
                for (at, schema) in schemas.iter().enumerate() {
                    let schema = self.below(id, &[word, &at.to_string()], schema);
                    node.prefix.push(schema);
                }
            }
            ("items" | "additionalItems" | "unevaluatedItems", schema) => {
                self.look(node, word);
                node.items.push(self.below(id, &[word], schema));
            }
            ("contains", schema) => node.contains = Some(self.below(id, &[word], schema)),
            ("pattern", Value::String(text)) => {
                node.pattern = Some(self.pattern(id, word, text)?);
            }
            ("uniqueItems", Value::Bool(true)) => node.is_unique = true,
            ("enum" | "const" | "required" | "dependentRequired", value) => {
                node.own += count(value) / 8;
            }
            _ => {}
        }
        Ok(())
    }

    fn look(&mut self, node: &mut Node, word: &str) {
        if word.starts_with("unevaluated") {
            self.has_unevaluated = true;
            node.repeats = UNEVALUATED_LOOKS;
        }
    }
}

#[derive(Clone, Copy)]
enum Size {
    Unknown,
    /// The node is in progress: reaching it again means a cycle.
    Open,
    Known(u64),
}

/// The number of schemas that each schema applies to one and the same value.
struct Unfolding<'b, 's> {
    builder: &'b Builder<'s>,
    sizes: Vec<Size>,
}

impl Unfolding<'_, '_> {
    fn size(&mut self, id: usize, above: usize) -> Result<u64, SchemaFault> {
        match self.sizes[id] {
            Size::Known(size) => return Ok(size),
            Size::Open => {
                let reason = "it leads back to itself for one and the same value".to_owned();
                return Err(self.builder.fault(id, None, reason));
            }
            Size::Unknown => {}
        }
        if above > MAX_CHAIN {
            let reason = format!("more than {MAX_CHAIN} schemas lead to it for one value");
            return Err(self.builder.fault(id, None, reason));
        }
        self.sizes[id] = Size::Open;
        let node = &self.builder.nodes[id];
        let mut size = 1_u64;
        for &next in &node.in_place {
            let next = self.size(next, above + 1)?;
            size = size.saturating_add(next.saturating_mul(node.repeats));
        }
        if size > MAX_UNFOLDED {
            let reason = format!(
                "it unfolds to more than {MAX_UNFOLDED} schemas for one value: use fewer references within each other"
            );
            return Err(self.builder.fault(id, None, reason));
        }
        self.sizes[id] = Size::Known(size);
        Ok(size)
    }
}

/// The targets of references.
struct Document<'s> {
    /// The root, and the parts with an identifier: pointers count from each. With their places and identifiers.
    resources: Vec<(String, &'s str, &'s Value)>,
    anchors: Vec<(&'s str, String, &'s Value)>,
    values: usize,
    /// An identifier is called `id` there, as many a member of an example is.
    is_draft_4: bool,
}

impl<'s> Document<'s> {
    fn new(root: &'s Value) -> Result<Self, SchemaFault> {
        let draft = root.get("$schema").and_then(Value::as_str);
        let mut document = Self {
            resources: vec![(String::new(), identifier(root), root)],
            anchors: Vec::new(),
            values: 0,
            is_draft_4: draft.is_some_and(|draft| draft.contains("draft-04")),
        };
        document.look(root, &mut String::new())?;
        Ok(document)
    }

    fn look(&mut self, value: &'s Value, path: &mut String) -> Result<(), SchemaFault> {
        self.values += 1;
        if self.values > MAX_VALUES {
            let reason = format!("it has more than {MAX_VALUES} JSON values");
            return Err(SchemaFault::too_costly(String::new(), reason));
        }
        let length = path.len();
        match value {
            Value::Object(members) => {
                self.identify(members, value, path);
                for (name, member) in members {
                    path.push('/');
                    path.push_str(&escaped(name));
                    self.look(member, path)?;
                    path.truncate(length);
                }
            }
            Value::Array(elements) => {
                for (at, element) in elements.iter().enumerate() {
                    path.push('/');
                    path.push_str(&at.to_string());
                    self.look(element, path)?;
                    path.truncate(length);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn identify(&mut self, members: &'s Map<String, Value>, value: &'s Value, path: &str) {
        let identifier = if self.is_draft_4 { "id" } else { "$id" };
        for word in ["$anchor", "$dynamicAnchor", identifier] {
            let Some(name) = members.get(word).and_then(Value::as_str) else {
                continue;
            };
            let anchor = if word.ends_with("nchor") {
                Some(name)
            } else {
                name.strip_prefix('#')
            };
            match anchor {
                Some(anchor) => self.anchors.push((anchor, path.to_owned(), value)),
                None if path.is_empty() => {}
                None => self.resources.push((path.to_owned(), name, value)),
            }
        }
    }

    /// All that the reference may mean. Of addresses only the last segments are compared, so that it is rather too
    /// much.
    fn targets(&self, target: &str) -> Vec<(String, &'s Value)> {
        let (address, fragment) = target.split_once('#').unwrap_or((target, ""));
        if let Some(pointer) = pointer(&format!("#{fragment}")) {
            let is_meant = |id: &str| {
                address.is_empty() || (!id.is_empty() && last_segment(id) == last_segment(address))
            };
            let of = |(path, id, root): &(String, &'s str, &'s Value)| {
                let schema = root.pointer(&pointer).filter(|_| is_meant(id))?;
                Some((format!("{path}{pointer}"), schema))
            };
            return self.resources.iter().filter_map(of).collect();
        }
        let named = self.anchors.iter().filter(|(name, ..)| *name == fragment);
        named
            .map(|(_, path, schema)| (path.clone(), *schema))
            .collect()
    }
}

/// The address that a schema says it has.
fn identifier(schema: &Value) -> &str {
    let id = schema.get("$id").or_else(|| schema.get("id"));
    id.and_then(Value::as_str).unwrap_or_default()
}

fn last_segment(address: &str) -> &str {
    let address = address.split('#').next().unwrap_or_default();
    address.rsplit('/').next().unwrap_or_default()
}

/// Returns the number of JSON values in the schema.
fn count(value: &Value) -> u64 {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(count).sum::<u64>(),
        Value::Object(members) => 1 + members.values().map(count).sum::<u64>(),
        _ => 1,
    }
}

fn escaped(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

impl Plan {
    pub(super) fn pattern(&self, index: usize) -> &Pattern {
        &self.patterns.all[index]
    }
}
