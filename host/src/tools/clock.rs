use serde_json::json;
use stepwell_io::tool::{Tool, ToolContext};
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

pub(crate) fn tool() -> Tool {
    Tool::new(
        "clock",
        "Tells the current date, time and day of the week, in UTC or at an offset from it.",
    )
    .parameters(json!({
        "type": "object",
        "properties": {
            "utc_offset": {
                "type": "string",
                "pattern": "^[+-][0-9]{2}:[0-9]{2}$",
                "description": "The offset from UTC, such as +02:00; UTC if left out",
            },
        },
        "additionalProperties": false,
    }))
    .idempotent()
}

pub(crate) async fn run(call: ToolContext) -> Result<String, String> {
    let offset = call.arguments.value["utc_offset"].as_str();
    tell(OffsetDateTime::now_utc(), offset)
}

fn tell(now: OffsetDateTime, offset: Option<&str>) -> Result<String, String> {
    let offset = match offset {
        None => UtcOffset::UTC,
        Some(text) => parse(text)
            .ok_or_else(|| format!("`{text}` is not an offset from UTC: write it as +02:00"))?,
    };
    let there = now
        .replace_nanosecond(0)
        .unwrap_or(now)
        .checked_to_offset(offset)
        .ok_or("the time there cannot be written")?;
    let text = there.format(&Rfc3339).map_err(|error| error.to_string())?;
    Ok(format!("{text}, {}", there.weekday()))
}

fn parse(text: &str) -> Option<UtcOffset> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':')?;
    let number = |digits: &str| {
        let is_plain = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| digits.parse::<i8>().ok()).flatten()
    };
    UtcOffset::from_hms(sign * number(hours)?, sign * number(minutes)?, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_show_the_same_moment() {
        let now = OffsetDateTime::UNIX_EPOCH;
        assert_eq!(
            tell(now, None).as_deref(),
            Ok("1970-01-01T00:00:00Z, Thursday")
        );
        assert_eq!(
            tell(now, Some("-03:30")).as_deref(),
            Ok("1969-12-31T20:30:00-03:30, Wednesday")
        );
        assert_eq!(
            tell(now, Some("+14:00")).as_deref(),
            Ok("1970-01-01T14:00:00+14:00, Thursday")
        );
    }

    #[test]
    fn invalid_offset_is_refused() {
        for text in [
            "",
            "+",
            "CET",
            "+2:00",
            "+99:00",
            "+01:75",
            "++1:00",
            "+é:00",
            "+01:00:00",
        ] {
            assert!(
                tell(OffsetDateTime::UNIX_EPOCH, Some(text)).is_err(),
                "{text}"
            );
        }
    }
}
