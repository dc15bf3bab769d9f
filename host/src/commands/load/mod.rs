//! Measures how many concurrent runs a server carries, and how late its events arrive.

mod level;
mod model;
mod picture;
mod report;
mod statistics;
mod table;
mod target;
mod trouble;
mod turn;

use super::stop_signal::stop_signal;
use crate::settings::SESSIONS;
use clap::Args;
use level::{LoadAmount, Plan};
use model::Model;
use report::{PlayedModel, Report, SCHEMA, TargetKind};
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use stepwell_core::dialect::Secret;
use stepwell_demo::Failure;
use table::Table;
use target::Target;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio_util::sync::CancellationToken;
use trouble::Trouble;
use turn::{Asked, Begun};

const LOAD: &str = "Load";
const MODEL: &str = "Model";
const RESULT: &str = "Result";

/// Puts a running server under load: how many turns it carries at once, and how late its events arrive.
///
/// Each run has a thread of its own, and begins a turn when its last one has ended. One turn comes first: if the address
/// or the token is wrong, it fails, and nothing is measured. Ctrl-C prints the results so far; a second one prints
/// nothing.
///
/// Try, with `stepwell serve` in another terminal:
///   stepwell load http://127.0.0.1:8000/agent --runs 32
///   stepwell load http://127.0.0.1:8000/ --steps 1,8,32,128 --picture load.svg
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Load {
    /// The AG-UI agent to run, such as http://127.0.0.1:8000/agent; without a path, http://127.0.0.1:8000/, the sessions
    /// of a `stepwell serve`.
    url: String,
    /// The token that requests bear.
    #[arg(long, env = "STEPWELL_SERVE_TOKEN")]
    token: Option<Secret>,
    /// The user's message.
    #[arg(long, value_name = "TEXT", default_value = "hello")]
    message: String,
    /// The number of concurrent runs.
    #[arg(long, value_name = "N", default_value = "8", conflicts_with = "steps", help_heading = LOAD)]
    runs: NonZeroUsize,
    /// Several numbers of concurrent runs, one level after the other, to see where the server degrades: 1,8,32,128.
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', help_heading = LOAD)]
    steps: Vec<NonZeroUsize>,
    /// How long each level begins turns, in seconds; turns in progress may end.
    #[arg(long, value_name = "SECONDS", default_value = "10", conflicts_with = "turns", help_heading = LOAD)]
    duration: NonZeroU64,
    /// The number of turns of each level, instead of a duration.
    #[arg(long, value_name = "N", help_heading = LOAD)]
    turns: Option<NonZeroUsize>,
    /// The time after which a turn has failed, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "120", help_heading = LOAD)]
    timeout: NonZeroU64,
    /// The number of clients that follow each turn.
    #[arg(long, value_name = "N", default_value = "1", help_heading = SESSIONS)]
    followers: NonZeroUsize,
    /// The number of turns of one session before the next session begins.
    #[arg(long, value_name = "N", default_value = "1", help_heading = SESSIONS)]
    thread_turns: NonZeroUsize,
    /// Keeps the sessions in the server's store.
    #[arg(long, help_heading = SESSIONS)]
    keep: bool,
    /// Plays the model too, at this address: each of its words holds the time, which shows how long the word took to
    /// arrive. Start the server with --provider openai-compatible --model time --base-url http://ADDRESS:PORT/v1.
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = MODEL)]
    model: Option<SocketAddr>,
    /// The number of words a second of each answer.
    #[arg(long, value_name = "N", default_value = "20", requires = "model", help_heading = MODEL)]
    words: NonZeroU32,
    /// The duration of an answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "5", requires = "model", help_heading = MODEL)]
    speaks: NonZeroU32,
    /// Writes the results as JSON to this file; `-` writes them to standard output instead of the tables.
    #[arg(long, value_name = "FILE", help_heading = RESULT)]
    json: Option<PathBuf>,
    /// Writes a chart of the results to this file, as SVG.
    #[arg(long, value_name = "FILE", help_heading = RESULT)]
    picture: Option<PathBuf>,
}

impl Load {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let target = Target::new(&self.url, self.token.clone())?;
        if !target.is_sessions
            && (self.followers.get() > 1 || self.thread_turns.get() > 1 || self.keep)
        {
            return Err(Failure::usage(format!(
                "--followers, --thread-turns and --keep are for sessions, and `{}` is an agent: give the server's address \
                 without a path",
                self.url
            )));
        }
        // Before minutes are spent: whether the results can be written.
        for file in self.files() {
            fs::File::create(file).map_err(|error| unwritable(file, &error))?;
        }
        let model = match self.model {
            Some(address) => Some(Model::listen(address, self.words).await?),
            None => None,
        };
        let plan = self.plan(target, model.is_some());
        self.try_once(&plan, model.as_ref()).await?;
        let (stop, signal) = (plan.stop.clone(), stop_signal()?);
        tokio::spawn(async move {
            signal.await;
            stop.cancel();
        });
        let report = self.measure(&plan).await;
        self.print(&report, &plan.asked.target.words())
    }

    fn plan(&self, target: Target, is_played: bool) -> Plan {
        let words = self.words.get() as usize * self.speaks.get() as usize;
        Plan {
            asked: Asked {
                target,
                message: self.message.clone(),
                followers: self.followers.get(),
                words: is_played.then_some(words),
                longest: Duration::from_secs(self.timeout.get()),
            },
            amount: match self.turns {
                Some(turns) => LoadAmount::Turns(turns.get()),
                None => LoadAmount::Time(Duration::from_secs(self.duration.get())),
            },
            thread_turns: self.thread_turns,
            name: format!("load-{}", uuid::Uuid::new_v4().simple()),
            stop: CancellationToken::new(),
        }
    }

    /// Runs one turn that is not measured, with one word from the model.
    async fn try_once(&self, plan: &Plan, model: Option<&Model>) -> Result<(), Failure> {
        let asked = Asked {
            words: model.map(|_| 1),
            ..plan.asked.clone()
        };
        if let Some(model) = model {
            model.say(1);
        }
        let thread = format!("{}-first", plan.name);
        let done = asked
            .turn(&thread, &Begun::default(), &Mutex::default())
            .await;
        if let Some(model) = model {
            model.say(plan.asked.words.unwrap_or_default());
        }
        if asked.target.is_sessions && !self.keep {
            // The turn has reported a failure already.
            let _ = asked.target.delete(&thread).await;
        }
        done.map_err(|trouble| self.unusable(&asked.target, trouble))
    }

    fn unusable(&self, target: &Target, trouble: Trouble) -> Failure {
        let Trouble {
            reason,
            said,
            status,
        } = trouble;
        let said = said.map(|said| format!(" ({said})")).unwrap_or_default();
        let advice = match status {
            Some(401 | 403) => "; give its token with --token or in STEPWELL_SERVE_TOKEN",
            Some(404) if target.is_sessions => {
                "; is it a `stepwell serve`? An agent's address has a path"
            }
            Some(404 | 405) => "; is this the agent's path?",
            Some(429 | 503) => "; it takes no turn now",
            _ => "",
        };
        Failure::failed(format!(
            "{}: the first turn failed, so nothing was measured: {reason}{said}{advice}",
            target.address()
        ))
    }

    async fn measure(&self, plan: &Plan) -> Report {
        let mut steps = self.steps.clone();
        if steps.is_empty() {
            steps.push(self.runs);
        }
        let target = &plan.asked.target;
        let mut report = Report {
            schema: SCHEMA,
            stepwell: env!("CARGO_PKG_VERSION"),
            started_at: OffsetDateTime::now_utc()
                .format(&Rfc3339)
                .unwrap_or_default(),
            url: target.address(),
            kind: if target.is_sessions {
                TargetKind::Sessions
            } else {
                TargetKind::Agent
            },
            message: self.message.clone(),
            followers: self.followers.get(),
            thread_turns: self.thread_turns.get(),
            model: plan.asked.words.map(|_| PlayedModel {
                words_per_second: self.words.get(),
                speaks_s: self.speaks.get(),
            }),
            interrupted: false,
            levels: Vec::new(),
            bend: None,
        };
        for at_once in steps {
            let done = level::run(plan, at_once).await;
            report.levels.push(report::Level::of(at_once.get(), &done));
            if !self.keep {
                let left = level::delete(plan, &done.threads).await;
                if left > 0 {
                    eprintln!(
                        "stepwell: {left} sessions could not be deleted: their names begin with {}",
                        plan.name
                    );
                }
            }
            if plan.stop.is_cancelled() {
                report.interrupted = true;
                break;
            }
        }
        report.bend = report::bend(&report.levels);
        report
    }

    /// Returns the files to write.
    fn files(&self) -> impl Iterator<Item = &Path> {
        let files = self.json.iter().chain(&self.picture);
        files
            .map(PathBuf::as_path)
            .filter(|file| *file != Path::new("-"))
    }

    fn print(&self, report: &Report, target: &str) -> Result<(), Failure> {
        let mut json = serde_json::to_string_pretty(report).map_err(Failure::failed)?;
        json.push('\n');
        let mut out = io::stdout();
        match &self.json {
            Some(file) if file == Path::new("-") => out.write_all(json.as_bytes())?,
            file => {
                if let Some(file) = file {
                    fs::write(file, json).map_err(|error| unwritable(file, &error))?;
                }
                write!(out, "{}", Table { report, target })?;
            }
        }
        out.flush()?;
        if let Some(file) = &self.picture {
            let svg = picture::draw(report, target).map_err(Failure::failed)?;
            fs::write(file, svg).map_err(|error| unwritable(file, &error))?;
        }
        if report.interrupted {
            return Err(Failure::Left);
        }
        let is_dead = |level: &&report::Level| level.turns_ended == 0;
        match report.levels.iter().find(is_dead) {
            Some(level) => Err(Failure::failed(format!(
                "at {} at once no turn came to its end: {}",
                level.runs_at_once,
                level
                    .failures
                    .first()
                    .map_or("none was begun", |failure| &failure.reason)
            ))),
            None => Ok(()),
        }
    }
}

fn unwritable(file: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("{}: {error}", file.display()))
}
