//! The frames of a stream, as a client reads them.

/// One frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Frame {
    /// An event of the log, with its id.
    Event(String, String),
    /// A frame that is no part of the log: why no events come, or no more.
    Notice,
    /// A part of the prelude for a client that joins a run.
    Prelude(String),
    Comment,
}

/// The bytes of a stream that were read and are not parsed yet.
#[derive(Debug, Default)]
pub(crate) struct Frames(Vec<u8>);

impl Frames {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

impl Iterator for Frames {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        let end = self.0.windows(2).position(|pair| pair == b"\n\n")?;
        let frame: Vec<_> = self.0.drain(..end + 2).collect();
        Some(read(&String::from_utf8_lossy(&frame)))
    }
}

fn read(frame: &str) -> Frame {
    let mut id = None;
    let mut data = None;
    for line in frame.lines() {
        if let Some(value) = line.strip_prefix("id: ") {
            id = Some(value.to_owned());
        } else if let Some(value) = line.strip_prefix("data: ") {
            data = Some(value.to_owned());
        }
    }
    match (id, data) {
        (Some(id), Some(data)) => Frame::Event(id, data),
        (None, Some(data)) if is_notice(&data) => Frame::Notice,
        (None, Some(data)) => Frame::Prelude(data),
        _ => Frame::Comment,
    }
}

fn is_notice(data: &str) -> bool {
    data.contains("\"CUSTOM\"") || data.contains("\"RUN_ERROR\"")
}
