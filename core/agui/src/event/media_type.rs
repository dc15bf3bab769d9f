//! Media types: of bytes, of a file's name, and back.

/// File extensions by media type. If a type has several extensions, the first is the usual one.
const EXTENSIONS: &[(&str, &str)] = &[
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("gif", "image/gif"),
    ("heic", "image/heic"),
    ("heif", "image/heif"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("webp", "image/webp"),
    ("aac", "audio/aac"),
    ("aiff", "audio/aiff"),
    ("flac", "audio/flac"),
    ("m4a", "audio/mp4"),
    ("mp3", "audio/mpeg"),
    ("oga", "audio/ogg"),
    ("ogg", "audio/ogg"),
    ("opus", "audio/ogg"),
    ("wav", "audio/wav"),
    ("avi", "video/x-msvideo"),
    ("mkv", "video/x-matroska"),
    ("mov", "video/quicktime"),
    ("mp4", "video/mp4"),
    ("mpg", "video/mpeg"),
    ("mpeg", "video/mpeg"),
    ("ogv", "video/ogg"),
    ("webm", "video/webm"),
    ("csv", "text/csv"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("md", "text/markdown"),
    ("rtf", "application/rtf"),
    ("rtf", "text/rtf"),
    ("txt", "text/plain"),
    ("json", "application/json"),
    ("pdf", "application/pdf"),
    ("xml", "application/xml"),
    ("xml", "text/xml"),
    ("doc", "application/msword"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ppt", "application/vnd.ms-powerpoint"),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    ("xls", "application/vnd.ms-excel"),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
];

/// Returns the file extension for a media type.
pub fn extension_of(media_type: &str) -> Option<&'static str> {
    let media_type = essence(media_type);
    let mut known = EXTENSIONS.iter();
    let (extension, _) = known.find(|(_, known)| known.eq_ignore_ascii_case(media_type))?;
    Some(extension)
}

/// The media type without its parameters.
pub(super) fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or(media_type).trim()
}

/// The media type of a file's name, by its extension.
pub(super) fn of_name(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    let mut known = EXTENSIONS.iter();
    let (_, media_type) = known.find(|(known, _)| known.eq_ignore_ascii_case(extension))?;
    Some(media_type)
}

/// The media type of bytes, by the first of them; where these say little, by the name.
pub(super) fn of_bytes(bytes: &[u8], name: Option<&str>) -> Option<&'static str> {
    let of_name = || name.and_then(of_name);
    match infer::get(bytes).map(|found| usual(found.mime_type())) {
        // A package of files, and text of any kind, may be more than that.
        Some(found) if found == "application/zip" || found.starts_with("text/") => {
            of_name().or(Some(found))
        }
        Some(found) => Some(found),
        None => of_name().or_else(|| is_text(bytes).then_some("text/plain")),
    }
}

/// The name of a type that the providers know it by.
fn usual(media_type: &'static str) -> &'static str {
    match media_type {
        "audio/m4a" | "audio/x-m4a" => "audio/mp4",
        "audio/x-aiff" => "audio/aiff",
        "audio/x-flac" => "audio/flac",
        "audio/x-wav" => "audio/wav",
        "audio/opus" => "audio/ogg",
        other => other,
    }
}

fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'))
}
