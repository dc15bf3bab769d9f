use super::field::{EventError, Metadata, Optional, OptionalJson, PutField, SafeInteger, optional};
use serde::ser::SerializeMap;
use serde_json::Value;

/// The fields that all events share. They are boxed, since most events have none of them.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct Common {
    /// The time of the event, by convention in milliseconds since the epoch.
    pub timestamp: Option<i64>,
    /// The provider's own event that this event was built from: any JSON but null.
    pub raw_event: Option<Value>,
    /// Metadata from the sender.
    pub metadata: Option<Metadata>,
    /// The subagent that the event belongs to; absent for the parent agent.
    ///
    /// Events about the complete run and `MESSAGES_SNAPSHOT` have none; `SUBAGENT_*` have it as their own field.
    pub subagent_run_id: Option<String>,
    /// Fields that this version does not know.
    pub extra: Metadata,
}

impl Common {
    /// Takes all that is left of an event's object, after the event's own fields.
    pub(super) fn take(
        map: &mut Metadata,
        kind: &'static str,
    ) -> Result<Option<Box<Self>>, EventError> {
        if map.is_empty() {
            return Ok(None);
        }
        Ok(Some(Box::new(Self {
            timestamp: optional(map, kind, "timestamp")?.map(|SafeInteger(timestamp)| timestamp),
            raw_event: optional(map, kind, "rawEvent")?,
            metadata: optional(map, kind, "metadata")?,
            subagent_run_id: if is_attributable(kind) {
                optional(map, kind, "subagentRunId")?
            } else {
                None
            },
            extra: std::mem::take(map),
        })))
    }

    pub(super) fn put<S: SerializeMap>(&self, map: &mut S) -> Result<(), S::Error> {
        Optional(&self.subagent_run_id).put("subagentRunId", map)?;
        Optional(&self.timestamp).put("timestamp", map)?;
        OptionalJson(&self.raw_event).put("rawEvent", map)?;
        Optional(&self.metadata).put("metadata", map)?;
        self.extra
            .iter()
            .try_for_each(|(field, value)| map.serialize_entry(field, value))
    }
}

/// Returns whether events of this type may say which subagent they belong to.
pub(crate) fn is_attributable(kind: &str) -> bool {
    !matches!(
        kind,
        "RUN_STARTED"
            | "RUN_FINISHED"
            | "RUN_ERROR"
            | "MESSAGES_SNAPSHOT"
            | "SUBAGENT_STARTED"
            | "SUBAGENT_FINISHED"
            | "SUBAGENT_ERROR"
    )
}
