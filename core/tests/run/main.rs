//! The run machine in a simulated world.
#![allow(unreachable_pub)] // the modules are this one test's

#[path = "../support/arguments.rs"]
mod arguments;
#[path = "../support/cases.rs"]
mod cases;
#[path = "../support/schema.rs"]
mod schema;
#[path = "../support/thorough.rs"]
mod thorough;

mod agent;
mod answer_limits;
mod approval;
mod background_answers;
mod background_interactions;
mod cancel;
mod canonical;
mod checkpoints;
mod compaction;
mod context;
mod context_tokens;
mod crashes;
mod create_run;
mod credentials;
mod deferred;
mod device;
mod dispose;
mod durability;
mod edges;
mod empty_answer;
mod failures;
mod fallback;
mod hooks;
mod ids_and_outputs;
mod incomplete;
mod interrupts;
mod invariants;
mod joined;
mod journal;
mod kimi;
mod limits;
mod media;
mod misuse;
mod one_call;
mod output;
mod output_everywhere;
mod parallel;
mod partial;
mod paused;
mod questions;
mod reasoning_content;
mod recording;
mod redact;
mod reference;
mod rejoin;
mod repeats;
mod replaced_arguments;
mod restore;
mod resume_stream;
mod retry_after_text;
mod retry_by_kind;
mod retry_in_stream;
mod rules;
mod snapshot_scenes;
mod snapshots;
mod steering;
mod storm;
mod tampered;
mod text_options;
mod threads;
mod timeouts;
mod tools;
mod turn;
mod turn_options;
mod typed;
mod world;
