//! A model's Markdown on a terminal, styled while it streams.

use console::measure_text_width;
use std::io;
use stepwell_demo::terminal::{Prose, Terminal};
use termimad::crossterm::style::{Attribute, Color};
use termimad::{Alignment, MadSkin};

/// The maximum size of a line or table that is styled as one. A longer one continues in a new style, since each delta
/// styles it again.
const MAX_OPEN_BYTES: usize = 4 << 10;

/// Writes Markdown line by line: each delta styles the last line, or the table that it belongs to, again, and writes the
/// rows that have changed. Earlier lines stay as they are.
pub(crate) struct Markdown {
    skin: MadSkin,
    /// The text that is styled again: the last line, after the lines of its table. A table that may continue ends with a
    /// line break.
    open: String,
    /// The rows on the screen that show `open`.
    rows: Vec<String>,
    /// The fence that began the code block around the last line.
    fence: Option<String>,
    /// Whether rows of this text are on the screen.
    has_begun: bool,
    /// The line breaks before the next row. Those at the end of a text are dropped.
    breaks: usize,
}

impl Markdown {
    pub(crate) fn new() -> Self {
        Self::of(skin())
    }

    fn of(skin: MadSkin) -> Self {
        Self {
            skin,
            open: String::new(),
            rows: Vec::new(),
            fence: None,
            has_begun: false,
            breaks: 0,
        }
    }

    /// Returns the rows for the open text; none if it is, or may become, the fence of a code block.
    fn styled(&self, columns: usize, is_whole: bool) -> Vec<String> {
        let line = self.open.trim();
        let may_be_fence = !is_whole && line.len() < 3 && line.bytes().all(|byte| byte == b'`');
        if line.is_empty() || may_be_fence || self.is_fence() {
            return Vec::new();
        }
        if self.fence.is_some() {
            let code = &self.skin.code_block.compound_style;
            return vec![code.apply_to(&*self.open).to_string()];
        }
        let styled = self.skin.text(&self.open, Some(columns)).to_string();
        styled.lines().map(str::to_owned).collect()
    }

    /// Returns whether the open line begins or ends a code block, whose last fence is at least as long as its first.
    fn is_fence(&self) -> bool {
        match (fence(&self.open), &self.fence) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(found), Some(begun)) => {
                found.starts_with(begun.as_str()) && self.open.trim() == found
            }
        }
    }

    /// Replaces the rows on the screen by those of the open text.
    fn draw(&mut self, is_whole: bool, terminal: &mut dyn Terminal) -> io::Result<()> {
        let (height, width) = terminal.size();
        let (height, width) = (usize::from(height.max(2)), usize::from(width.max(8)));
        let rows = self.styled(width - 1, is_whole);
        let Some(newest) = rows.len().checked_sub(1) else {
            return Ok(());
        };
        let Some(last) = self.rows.len().checked_sub(1) else {
            terminal.write_all("\n".repeat(std::mem::take(&mut self.breaks)).as_bytes())?;
            terminal.write_all(rows.join("\n").as_bytes())?;
            self.has_begun = true;
            self.rows = rows;
            return Ok(());
        };
        let both = self.rows.iter().zip(&rows);
        let mut same = both.take_while(|(old, new)| old == new).count();
        let more = rows
            .get(last)
            .and_then(|row| row.strip_prefix(&*self.rows[last]));
        if let Some(more) = more.filter(|_| same >= last) {
            // The common case: the new words continue the last row.
            terminal.write_all(more.as_bytes())?;
            for row in &rows[last + 1..] {
                write!(terminal, "\n{row}")?;
            }
        } else {
            let takes = |row: &String| measure_text_width(row).div_ceil(width).max(1);
            same = same.min(newest);
            let mut above = self.rows[same..].iter().map(takes).sum::<usize>();
            // Rows that have scrolled off the screen cannot be written again.
            while above > height && same < last.min(newest) {
                above -= takes(&self.rows[same]);
                same += 1;
            }
            let up = above.min(height) - 1;
            if up > 0 {
                write!(terminal, "\x1b[{up}A")?;
            }
            write!(terminal, "\r\x1b[J{}", rows[same..].join("\n"))?;
        }
        self.rows = rows;
        Ok(())
    }

    /// Leaves the open text on the screen as it is.
    fn settle(&mut self) {
        if self.is_fence() {
            self.fence = match self.fence {
                None => fence(&self.open).map(str::to_owned),
                Some(_) => None,
            };
        } else if self.has_begun {
            self.breaks += 1;
        }
        self.open.clear();
        self.rows.clear();
    }

    fn is_in_table(&self) -> bool {
        self.fence.is_none() && self.open.lines().last().is_some_and(is_row)
    }
}

fn is_row(line: &str) -> bool {
    line.trim_start().starts_with('|')
}

impl Prose for Markdown {
    fn text(&mut self, piece: &str, terminal: &mut dyn Terminal) -> io::Result<()> {
        for part in piece.split_inclusive('\n') {
            let line = part.strip_suffix('\n');
            let (text, is_whole) = (line.unwrap_or(part), line.is_some());
            if self.open.ends_with('\n') && !is_row(text) {
                self.settle();
            }
            // The width of a tab depends on the terminal.
            self.open.push_str(&text.replace('\t', "    "));
            self.draw(is_whole, terminal)?;
            if is_whole && self.is_in_table() && self.open.len() < MAX_OPEN_BYTES {
                self.open.push('\n');
            } else if is_whole || self.open.len() > MAX_OPEN_BYTES {
                self.settle();
            }
        }
        Ok(())
    }

    fn end(&mut self, terminal: &mut dyn Terminal) -> io::Result<()> {
        self.draw(true, terminal)?;
        if self.has_begun {
            terminal.write_all(b"\n")?;
        }
        let skin = std::mem::take(&mut self.skin);
        *self = Self::of(skin);
        Ok(())
    }
}

/// Returns the fence with which a line begins or ends a code block.
fn fence(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let signs = line.len() - line.trim_start_matches('`').len();
    // Inline code may begin a line too.
    (signs >= 3 && !line[signs..].contains('`')).then(|| &line[..signs])
}

/// Returns a skin in the terminal's own colours, whose rows hold only the text, so that it can be copied.
fn skin() -> MadSkin {
    let mut skin = MadSkin::default();
    let code = Color::DarkCyan;
    skin.inline_code.object_style.background_color = None;
    skin.inline_code.set_fg(code);
    skin.code_block.compound_style.object_style.background_color = None;
    skin.code_block.set_fg(code);
    for header in &mut skin.headers {
        header.align = Alignment::Left;
        header.compound_style.remove_attr(Attribute::Underlined);
        header.add_attr(Attribute::Bold);
    }
    skin.headers[0].add_attr(Attribute::Underlined);
    skin
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A terminal with 12 rows and 40 columns.
    struct Screen(vt100::Parser);

    impl Screen {
        fn new() -> Self {
            Self(vt100::Parser::new(12, 40, 100))
        }

        fn lines(&self) -> Vec<String> {
            let contents = self.0.screen().contents();
            contents
                .lines()
                .map(|line| line.trim_end().to_owned())
                .collect()
        }
    }

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // As a terminal in cooked mode.
            for byte in bytes {
                if *byte == b'\n' {
                    self.0.process(b"\r");
                }
                self.0.process(&[*byte]);
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Terminal for Screen {
        fn size(&self) -> (u16, u16) {
            (12, 40)
        }
    }

    fn shown(pieces: &[&str]) -> Screen {
        let mut screen = Screen::new();
        let mut markdown = Markdown::new();
        for piece in pieces {
            markdown.text(piece, &mut screen).expect("written");
        }
        markdown.end(&mut screen).expect("written");
        screen
    }

    const TEXT: &str = "# A *title*\n\nSome **bold** words and `code`, and a line that is longer than the screen \
        is wide.\n\n- one\n- two\n\n```rust\nlet a_b = 1 * 2;\n\n    // **as is**\n```\nDone.";

    #[test]
    fn deltas_do_not_change_the_result() {
        let whole = shown(&[TEXT]);
        let lines = whole.lines();
        assert!(lines.contains(&"let a_b = 1 * 2;".to_owned()), "{lines:#?}");
        assert!(lines.contains(&"    // **as is**".to_owned()), "{lines:#?}");
        assert!(!lines.join("\n").contains("```"), "{lines:#?}");
        assert_eq!(lines.last().map(String::as_str), Some("Done."));
        let characters: Vec<String> = TEXT.chars().map(String::from).collect();
        for size in [1, 2, 3, 7] {
            let pieces: Vec<String> = characters.chunks(size).map(<[_]>::concat).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let cut = shown(&pieces);
            assert_eq!(cut.lines(), lines, "{size}");
            let all = cut.0.screen().contents_formatted();
            assert_eq!(all, whole.0.screen().contents_formatted(), "{size}");
        }
    }

    #[test]
    fn words_appear_at_once_and_are_styled_when_complete() {
        let mut screen = Screen::new();
        let mut markdown = Markdown::new();
        let mut after = |piece: &str| {
            markdown.text(piece, &mut screen).expect("written");
            let bold = screen.0.screen().cell(0, 2).is_some_and(vt100::Cell::bold);
            (screen.lines().join("\n"), bold)
        };
        assert_eq!(after("A *"), ("A *".to_owned(), false));
        assert_eq!(after("*bo"), ("A bo".to_owned(), true));
        assert_eq!(after("ld** word"), ("A bold word".to_owned(), true));
    }

    #[test]
    fn lists_have_bullets_and_hanging_indents() {
        let screen =
            shown(&["1. one\n2. two\n- a long item that goes on in the next row\n  - nested"]);
        assert_eq!(
            screen.lines(),
            [
                "1. one",
                "2. two",
                "• a long item that goes on in the next",
                "  row",
                "  • nested",
            ]
        );
    }

    #[test]
    fn table_is_laid_out_again_with_each_row() {
        let screen = shown(&[
            "Who:\n\n| person | number |\n|---|--:|\n",
            "| Al",
            "ice | 42 |\n",
            "| Bartholomew | 7 |\n",
            "\nThat is all.",
        ]);
        let lines = screen.lines();
        let of = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
        for word in ["Who:", "person", "Alice", "Bartholomew", "That is all."] {
            assert_eq!(of(word), 1, "{word}: {lines:#?}");
        }
        assert!(!lines.join("\n").contains("--:"), "{lines:#?}");
    }

    #[test]
    fn rows_off_the_screen_are_kept() {
        let long = "word ".repeat(200);
        let pieces = [long.as_str(), "**bold", "** end"];
        let screen = shown(&pieces);
        let lines = screen.lines();
        assert!(
            lines.last().is_some_and(|line| line.ends_with("bold end")),
            "{lines:#?}"
        );
    }

    #[test]
    fn end_of_text_begins_one_line() {
        for text in ["Hi", "Hi\n", "Hi\n\n", "```\nHi\n```", "Hi\n\n```"] {
            let mut screen = shown(&[text]);
            screen.write_all(b"next").expect("written");
            assert_eq!(screen.lines(), ["Hi", "next"], "{text:?}");
        }
        let mut screen = shown(&[]);
        screen.write_all(b"next").expect("written");
        assert_eq!(screen.lines(), ["next"]);
    }

    #[test]
    fn endless_line_has_bounded_cost() {
        let mut markdown = Markdown::new();
        let mut screen = Screen::new();
        for _ in 0..3000 {
            markdown.text("0123456789", &mut screen).expect("written");
        }
        assert!(markdown.open.len() <= MAX_OPEN_BYTES);
    }
}
