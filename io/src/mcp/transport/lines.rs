//! The messages that a child process sends, each of which is a line.

use super::ending::Ending;
use super::unreadable::readable;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use std::io;
use std::sync::Arc;
use tokio::process::ChildStdout;
use tokio::sync::watch;
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, FramedRead};
use tokio_util::io::StreamReader;

/// A reader of lines that the SDK can read.
pub(super) type Lines = StreamReader<BoxStream<'static, io::Result<Bytes>>, Bytes>;

/// Reads lines. A line that is longer than `max_bytes` ends the reader: the SDK would skip it, and the call that it answers
/// would wait.
pub(super) fn lines(
    stdout: ChildStdout,
    max_bytes: usize,
    ending: Arc<watch::Sender<Ending>>,
) -> Lines {
    let codec = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), Vec::new(), max_bytes);
    let lines = FramedRead::new(stdout, codec).map(move |line| match line {
        Ok(line) => {
            let mut line = readable(&line, None).into_owned();
            line.push(b'\n');
            Ok(line.into())
        }
        Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => {
            let fault = format!("it sent a message of more than {max_bytes} bytes");
            ending.send_modify(|ending| ending.fault = Some(fault.clone()));
            Err(io::Error::new(io::ErrorKind::InvalidData, fault))
        }
        Err(AnyDelimiterCodecError::Io(error)) => Err(error),
    });
    StreamReader::new(lines.boxed())
}
