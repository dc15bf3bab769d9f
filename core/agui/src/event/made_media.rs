//! Media that a model made: an activity of their own, since AG-UI's assistant messages have only text. The data that
//! the provider needs back with them is sealed in the message after them.

use super::content::ContentPart;
use super::field::Metadata;
use super::message::Message;
use serde::Deserialize;
use serde_json::json;

/// The type of an activity with media that a model made. Its content is `{"parts": [...]}`, with parts as in a user's
/// message.
pub const MEDIA_ACTIVITY: &str = "media";

/// Returns the media that an activity shows, or `None` if it shows something else.
#[must_use]
pub fn made_media(activity_type: &str, content: &Metadata) -> Option<Vec<ContentPart>> {
    if activity_type != MEDIA_ACTIVITY {
        return None;
    }
    Vec::deserialize(content.get("parts")?).ok()
}

/// Returns the media that a message shows, or `None` if it shows something else.
#[must_use]
pub fn made_media_of(message: &Message) -> Option<Vec<ContentPart>> {
    match message {
        Message::Activity(activity) => made_media(&activity.activity_type, &activity.content),
        _ => None,
    }
}

/// Returns the content of an activity that shows a part.
pub fn media_content(part: &ContentPart) -> Metadata {
    let mut content = Metadata::new();
    content.insert("parts".to_owned(), json!([part]));
    content
}
