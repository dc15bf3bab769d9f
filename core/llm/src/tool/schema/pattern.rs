//! The regular expressions of a schema, and the cost of each.

use foldhash::HashMap;
use jsonschema::PatternOptions;
use serde_json::json;

/// The largest that one may be, compiled.
pub(super) const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The largest that those of one schema may be together, compiled.
pub(super) const MAX_PATTERNS_BYTES: usize = 4 << 20;

/// The distinguished sizes. The smallest is the size of any pattern with the tables around it.
const SIZES: [usize; 5] = [1 << 12, 1 << 14, 1 << 16, 1 << 18, MAX_PATTERN_BYTES];

/// The largest cache of one pattern's matches.
const CACHE_BYTES: usize = 1 << 18;

/// The maximum number of times that a pattern with look-around or back-references may backtrack on one text. Ordinary
/// ones need less than 100.
const MAX_BACKTRACKS: usize = 2_000;

/// A single pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    /// The pattern's compiled size, rounded up to one of [`SIZES`].
    pub(super) bytes: usize,
    /// Whether the pattern looks around or refers back: the time for a match is then not linear in the text.
    pub(super) is_hard: bool,
}

impl Pattern {
    /// Returns the maximum cost of a match with a text of `length` bytes.
    pub(super) fn cost(&self, length: usize) -> u64 {
        let length = length as u64;
        if self.is_hard {
            return 100 + length.saturating_mul(16);
        }
        1 + length.saturating_mul(self.bytes as u64) / 8_192
    }
}

/// The patterns of a schema, each once.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    pub(super) all: Vec<Pattern>,
    by_text: HashMap<String, usize>,
    pub(super) bytes: usize,
}

impl Patterns {
    /// Adds a pattern, and returns its index.
    ///
    /// # Errors
    /// The pattern is too large, or all together are. An invalid pattern is left to the validator.
    pub(super) fn add(&mut self, text: &str) -> Result<usize, String> {
        if let Some(&index) = self.by_text.get(text) {
            return Ok(index);
        }
        let pattern = measured(text).ok_or_else(|| {
            format!(
                "the pattern is larger than {MAX_PATTERN_BYTES} bytes when it is compiled: say the length with \
                 `maxLength`, not with a count in the pattern"
            )
        })?;
        self.bytes += pattern.bytes;
        if self.bytes > MAX_PATTERNS_BYTES {
            return Err(format!(
                "the schema's patterns are larger than {MAX_PATTERNS_BYTES} bytes when they are compiled"
            ));
        }
        let index = self.all.len();
        self.all.push(pattern);
        self.by_text.insert(text.to_owned(), index);
        Ok(index)
    }
}

/// Returns how large a pattern is, by the smallest limit that it compiles within.
fn measured(text: &str) -> Option<Pattern> {
    let schema = json!({ "pattern": text });
    let is_linear = |bytes| {
        let options = PatternOptions::regex().size_limit(bytes);
        let options = jsonschema::options().with_pattern_options(options);
        options.build(&schema).is_ok()
    };
    let is_hard = |bytes| {
        let options = jsonschema::options().with_pattern_options(engine(bytes));
        options.build(&schema).is_ok()
    };
    let pattern = |bytes, is_hard| Pattern { bytes, is_hard };
    SIZES.into_iter().find_map(|bytes| {
        if is_linear(bytes) {
            return Some(pattern(bytes, false));
        }
        is_hard(bytes).then(|| pattern(bytes, true))
    })
}

/// The engine for all patterns of a schema.
pub(super) fn engine(bytes: usize) -> PatternOptions<jsonschema::FancyRegex> {
    PatternOptions::fancy_regex()
        .size_limit(bytes)
        .dfa_size_limit(CACHE_BYTES)
        .backtrack_limit(MAX_BACKTRACKS)
}
