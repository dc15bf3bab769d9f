//! A JSON string as it stands in a text, whose characters are replaced where they stand.

/// One character of a string token.
#[derive(Clone, Copy, Debug)]
struct Place {
    character: char,
    at: usize,
    length: usize,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As its UTF-8 bytes.
    Plain,
    /// As `\uXXXX`, or two of them.
    Unicode,
    /// Another escape, or bytes that are no character: they stay.
    Fixed,
}

/// A string token: what it says, and where each of its characters stands.
#[derive(Clone, Debug)]
pub(super) struct Token {
    places: Vec<Place>,
    /// Where the token ends, with its quotation mark if it has one.
    pub(super) end: usize,
}

impl Token {
    /// Reads the token whose opening quotation mark is at `start`. One that is cut off ends with the data.
    pub(super) fn read(data: &[u8], start: usize) -> Self {
        let mut places = Vec::new();
        let mut at = start + 1;
        while let Some(&byte) = data.get(at) {
            let place = match byte {
                b'"' => {
                    return Self {
                        places,
                        end: at + 1,
                    };
                }
                b'\\' => escape(data, at),
                _ => plain(data, at),
            };
            at += place.length;
            places.push(place);
        }
        Self {
            places,
            end: data.len(),
        }
    }

    pub(super) fn text(&self) -> String {
        self.places.iter().map(|place| place.character).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Puts other characters in place; each is as long as the one it stands for.
    pub(super) fn put(&self, data: &mut [u8], characters: impl Iterator<Item = char>) {
        for (place, character) in self.places.iter().zip(characters) {
            let room = &mut data[place.at..place.at + place.length];
            match place.form {
                Form::Plain if character.len_utf8() == room.len() => {
                    character.encode_utf8(room);
                }
                Form::Unicode => {
                    let mut units = [0; 2];
                    let units = character.encode_utf16(&mut units);
                    let escaped: String =
                        units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
                    if escaped.len() == room.len() {
                        room.copy_from_slice(escaped.as_bytes());
                    }
                }
                Form::Plain | Form::Fixed => {}
            }
        }
    }
}

fn plain(data: &[u8], at: usize) -> Place {
    let room = &data[at..data.len().min(at + 4)];
    let first = room
        .utf8_chunks()
        .next()
        .and_then(|piece| piece.valid().chars().next());
    match first {
        Some(character) => Place {
            character,
            at,
            length: character.len_utf8(),
            form: Form::Plain,
        },
        None => fixed(at, 1),
    }
}

fn fixed(at: usize, length: usize) -> Place {
    Place {
        character: char::REPLACEMENT_CHARACTER,
        at,
        length,
        form: Form::Fixed,
    }
}

fn escape(data: &[u8], at: usize) -> Place {
    let simple = |character| Place {
        character,
        at,
        length: 2,
        form: Form::Fixed,
    };
    match data.get(at + 1) {
        Some(b'n') => simple('\n'),
        Some(b't') => simple('\t'),
        Some(b'r') => simple('\r'),
        Some(b'b') => simple('\u{8}'),
        Some(b'f') => simple('\u{c}'),
        Some(&sign @ (b'"' | b'\\' | b'/')) => simple(char::from(sign)),
        Some(b'u') => unicode(data, at),
        Some(_) => fixed(at, 2),
        None => fixed(at, 1),
    }
}

fn unicode(data: &[u8], at: usize) -> Place {
    let unit = |at: usize| {
        let escape = data.get(at..at + 6)?.strip_prefix(b"\\u")?;
        let digits = std::str::from_utf8(escape).ok()?;
        u16::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(at) else {
        return fixed(at, (data.len() - at).min(2));
    };
    let mut units = vec![first];
    if (0xd800..0xdc00).contains(&first) {
        units.extend(unit(at + 6));
    }
    match char::decode_utf16(units.iter().copied()).next() {
        Some(Ok(character)) => Place {
            character,
            at,
            length: 6 * character.len_utf16(),
            form: Form::Unicode,
        },
        _ => fixed(at, 6),
    }
}
