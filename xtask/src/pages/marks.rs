//! What a page says of a block of code, in comments before it that no reader sees: `<!-- not run: it needs a key -->`.

use anyhow::{Context as _, bail};

/// What is said of one block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Marks {
    /// The file that a user makes of the block, from the folder where the page's last command left them.
    pub(crate) file: Option<String>,
    /// A source that a suite compiles, in which the block's paragraphs stand.
    pub(crate) shown_in: Option<String>,
    /// What runs the block.
    pub(crate) run_by: Option<String>,
    /// Why nothing does.
    pub(crate) not_run: Option<String>,
    /// The folder to be in, from the one where the page began.
    pub(crate) folder: Option<String>,
    /// The registry that the commands install from: without it they are left out.
    pub(crate) with: Option<String>,
    /// The registry in whose place they are: with it they are left out.
    pub(crate) unless: Option<String>,
    /// Variables that the commands are given.
    pub(crate) variables: Vec<(String, String)>,
    /// The last command goes on; it is up when it has printed this.
    pub(crate) background_until: Option<String>,
}

impl Marks {
    /// Takes what one comment says.
    pub(crate) fn add(&mut self, comment: &str) -> anyhow::Result<()> {
        let (name, value) = said(comment).with_context(|| format!("`{comment}` is no mark"))?;
        let value = Some(value.to_owned());
        match name {
            "file" => self.file = value,
            "shown in" => self.shown_in = value,
            "run by" => self.run_by = value,
            "not run" => self.not_run = value,
            "in" => self.folder = value,
            "with" => self.with = value,
            "unless" => self.unless = value,
            "background until" => self.background_until = value,
            "env" => {
                let pair = value.as_deref().and_then(|value| value.split_once('='));
                let (name, value) = pair.context("write `<!-- env: NAME=VALUE -->`")?;
                self.variables.push((name.to_owned(), value.to_owned()));
            }
            other => bail!("there is no mark `{other}`"),
        }
        Ok(())
    }
}

/// The name and the value of `<!-- name: value -->`.
pub(crate) fn said(comment: &str) -> Option<(&str, &str)> {
    let inner = comment.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    let (name, value) = inner.split_once(": ")?;
    Some((name.trim(), value.trim())).filter(|(_, value)| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::Marks;

    #[test]
    fn reads_a_comment() {
        let mut marks = Marks::default();
        marks.add("<!-- not run: it needs a key -->").unwrap();
        marks.add("<!-- env: KEY=a=b -->").unwrap();
        assert_eq!(marks.not_run.as_deref(), Some("it needs a key"));
        assert_eq!(marks.variables, [("KEY".to_owned(), "a=b".to_owned())]);
    }

    #[test]
    fn what_says_nothing_is_no_mark() {
        let mut marks = Marks::default();
        for comment in [
            "<!-- not run: -->",
            "<!-- nothing -->",
            "<!-- ran: well -->",
        ] {
            assert!(marks.add(comment).is_err(), "{comment}");
        }
    }
}
