//! Peers that we did not write, each against what is built.

use super::Suite;
use crate::{
    bindings::{self, Language},
    context::Context,
    log::Log,
    process::{self, Background},
    tools::{chromium, mock_llm, npm, venv::Venv},
};
use anyhow::{Context as _, ensure};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

pub(super) const AG_UI_BACKEND: Suite = Suite {
    name: "ag-ui-backend",
    about: "the client against AG-UI backends that are not ours: Pydantic AI's, LangGraph's, Strands', ADK's and Agno's",
    run: |context, log| {
        let requirements = context.root.join("tests/ag-ui-backend/requirements.txt");
        let venv = Venv::ensure(context, log, "venv-ag-ui-backend", &requirements)?;
        context.test(log, "ag_ui_backend", &["--ignored"], |tests| {
            tests.env("STEPWELL_AG_UI_PYTHON", venv.python().get_program());
        })
    },
};

pub(super) const AG_UI_ORACLE: Suite = Suite {
    name: "ag-ui-oracle",
    about: "2,000 random event sequences have the verdict of the official AG-UI client, and events its binary form",
    run: |context, log| {
        let oracle = context.root.join("tests/ag-ui-oracle");
        npm::ensure(log, &oracle)?;
        context.test(log, "ag_ui", &["order::oracle", "--nocapture"], |tests| {
            tests.env("STEPWELL_AG_UI_ORACLE", oracle.join("oracle.mjs"));
        })
    },
};

pub(super) const MCP: Suite = Suite {
    name: "mcp",
    about: "MCP tools against the reference server, over standard input and output and over HTTP",
    run: |context, log| {
        let project = context.root.join("tests/mcp-reference");
        npm::ensure(log, &project)?;
        let server =
            project.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
        ensure!(server.exists(), "the package has no {}", server.display());
        context.test(log, "mcp", &["reference::"], |tests| {
            tests.env("STEPWELL_MCP_REFERENCE", &server);
        })
    },
};

pub(super) const COPILOTKIT: Suite = Suite {
    name: "copilotkit",
    about: "CopilotKit's runtime in front of `stepwell serve`, and its client without a runtime between",
    run: |context, log| {
        let project = context.root.join("tests/ag-ui-copilotkit");
        npm::ensure(log, &project)?;
        let (_server, url) = serve(context, log, "1")?;
        let script = |name: &str| {
            let mut script = npm::script(&project, name);
            script.env("DO_NOT_TRACK", "1");
            script.env("COPILOTKIT_TELEMETRY_DISABLED", "true");
            script
        };
        log.run(script("runtime.mjs").arg(url))?;
        let program = context.program(log, "stepwell")?;
        log.run(script("client.mjs").arg(program))
    },
};

pub(super) const REACT_CLIENTS: Suite = Suite {
    name: "react-clients",
    about: "the React clients of CopilotKit and assistant-ui against `stepwell serve`, in Chromium: reloads, cut \
            connections and stops in mid-answer",
    run: |context, log| {
        let project = context.root.join("tests/react-clients");
        npm::ensure(log, &project)?;
        let chromium = chromium::ensure(log)?;
        let program = context.program(log, "stepwell")?;
        let mut script = npm::script(&project, "run.mjs");
        script.env_remove("STEPWELL_SERVE_TOKEN");
        log.show(script.arg(program).arg(chromium))
    },
};

pub(super) const DURABLE_STREAMS: Suite = Suite {
    name: "durable-streams",
    about: "the log of a turn, by the reading cases of Durable Streams' own tests of servers",
    run: |context, log| {
        let project = context.root.join("tests/durable-streams");
        npm::ensure(log, &project)?;
        context.test(log, "durable_streams", &["--nocapture"], |tests| {
            tests.env("STEPWELL_DURABLE_STREAMS", &project);
        })
    },
};

pub(super) const REQUEST_TYPES: Suite = Suite {
    name: "request-types",
    about: "the requests of all scenarios, and of every pair of providers, against the types of the providers' own \
            packages for Python, and those to Azure OpenAI, Vertex AI and Amazon Bedrock against what their packages send; spoilt \
             ones are refused; OpenAI's and Google's packages read the mock model's answers in the background, and boto3 its binary \
             streams",
    run: |context, log| {
        let project = context.root.join("tests/request-types");
        let requirements = project.join("requirements.txt");
        let venv = Venv::ensure(context, log, "venv-request-types", &requirements)?;
        let requests = context.scratch().join("requests.jsonl");
        let writer = "legal::matrix::requests_for_the_providers_own_types";
        context.test(
            log,
            "dialects",
            &["--ignored", "--exact", writer],
            |tests| {
                tests.env("STEPWELL_REQUESTS", &requests);
            },
        )?;
        let clouds = context.scratch().join("clouds.jsonl");
        let writer = "clouds::requests_for_the_clouds_own_packages";
        context.test(
            log,
            "dialects",
            &["--ignored", "--exact", writer],
            |tests| {
                tests.env("STEPWELL_REQUESTS", &clouds);
            },
        )?;
        log.show(
            venv.python()
                .arg("clouds.py")
                .arg(&clouds)
                .current_dir(&project),
        )?;
        let scenarios = files(&context.root.join("tests/scenarios"))?;
        let scenarios = scenarios
            .iter()
            .filter(|file| file.extension() == Some("json".as_ref()));
        let mut validator = venv.python();
        validator.arg("validator.py").arg(&requests);
        log.show(validator.args(scenarios).current_dir(&project))?;
        let signatures = context.root.join("io/src/turn/signature/botocore.json");
        log.show(
            venv.python()
                .args(["signatures.py", "--check"])
                .arg(signatures)
                .current_dir(&project),
        )?;
        let program = mock_llm::build(context, log)?;
        for reader in ["background.py", "interactions.py", "bedrock.py"] {
            log.run(
                venv.python()
                    .arg(reader)
                    .arg(&program)
                    .current_dir(&project),
            )?;
        }
        Ok(())
    },
};

pub(super) const AG_UI_SERVER: Suite = Suite {
    name: "ag-ui-server",
    about: "the official AG-UI client in four versions and its Python types in two, ag-ui-validate and an OpenAPI validator against `stepwell serve`",
    run: ag_ui_server,
};

fn ag_ui_server(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let project = context.root.join("tests/ag-ui-client");
    npm::ensure(log, &project)?;
    let venv = |log: &mut Log, name: &str, requirements: &str| {
        Venv::ensure(context, log, name, &project.join(requirements))
    };
    let newest = venv(log, "venv-ag-ui", "requirements.txt")?;
    let before_1_0 = venv(log, "venv-ag-ui-0.1.18", "requirements-0.1.18.txt")?;
    let streams = context.emptied("ag-ui-streams")?;

    // One run at once: a run that is not released shows.
    let (_server, url) = serve(context, log, "1")?;
    log.show(
        npm::script(&project, "scenarios.mjs")
            .arg(&url)
            .arg(&streams),
    )?;
    log.run(npm::script(&project, "versions.mjs").arg(&url))?;
    for types in [&before_1_0, &newest] {
        log.run(
            types
                .python()
                .arg(project.join("python_types.py"))
                .arg(&url),
        )?;
    }
    let streams = files(&streams)?;
    ensure!(
        streams.len() >= 20,
        "only {} streams were recorded",
        streams.len()
    );
    for what in [PathBuf::from(&url)].iter().chain(&streams) {
        let mut validate = newest.program("ag-ui-validate");
        validate.args(["--max-warnings", "0"]);
        // A rule that a resumed run breaks by design: it answers a call that the run before began, as the protocol has it.
        if what.to_string_lossy().ends_with(".resumed.sse") {
            validate.args(["--off", "AGUI207"]);
        }
        log.run(validate.arg(what))?;
    }
    let mut validator = newest.python();
    validator.args(["-m", "openapi_spec_validator"]);
    log.run(validator.arg(context.root.join("host/src/serve/openapi.json")))
}

pub(super) const AI_SDK: Suite = Suite {
    name: "ai-sdk",
    about: "the AI SDK's transport, reader and chats, of versions 6 and 7, against `stepwell serve`, an axum app and an ASGI app",
    run: ai_sdk,
};

/// The versions of the SDK.
const VERSIONS: [&str; 2] = ["6", "7"];

fn ai_sdk(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let project = context.root.join("tests/ai-sdk");
    npm::ensure(log, &project)?;
    let play = |log: &mut Log, url: &str, what: &str, version: &str| {
        let mut chats = npm::script(&project, "chats.mjs");
        let said = log.read(chats.args([url, what, version]))?;
        let last = said.lines().last().unwrap_or_default();
        ensure!(last.ends_with("chats passed"), "a chat failed: {said}");
        log.say(last)
    };
    for version in VERSIONS {
        // The numbers that a chat sets stay set as long as the server lives.
        let (_server, url) = serve(context, log, "16")?;
        play(log, &url, "serve", version)?;
    }
    let scenes = fs::read_to_string(context.root.join("host/src/serve/scenes.json"))?;
    let scenes: serde_json::Value = serde_json::from_str(&scenes).context("scenes.json")?;
    let model = mock_llm::start(context, log, Some(&scenes.to_string()))?;
    let app = context.program(log, "serve")?;
    let (_app, url) = server(process::command(app).args(["127.0.0.1:0", model.base_url()]))?;
    for version in VERSIONS {
        play(log, &url, "axum", version)?;
    }
    let venv = Venv::ensure(
        context,
        log,
        "venv-ai-sdk",
        &project.join("requirements.txt"),
    )?;
    let _sources = bindings::PYTHON_SOURCES.lock();
    bindings::generate(context, log, Language::Python)?;
    let sources = ["bindings/python/src", "tests/ag-ui-backend"].map(|it| context.root.join(it));
    let (_app, url) = server(
        venv.python()
            .arg(project.join("asgi_app.py"))
            .arg(context.root.join("examples/python/serve.py"))
            .env("PYTHONPATH", env::join_paths(sources)?)
            .env("MODEL_URL", model.base_url()),
    )?;
    for version in VERSIONS {
        play(log, &url, "asgi", version)?;
    }
    Ok(())
}

/// `stepwell serve`, which ends when it is dropped, and its address.
fn serve(context: &Context, log: &mut Log, runs: &str) -> anyhow::Result<(Background, String)> {
    let mut program = process::command(context.program(log, "stepwell")?);
    server(program.args(["serve", "--listen", "127.0.0.1:0", "--max-runs", runs]))
}

/// Starts a program that serves and prints its address.
fn server(command: &mut Command) -> anyhow::Result<(Background, String)> {
    command.env_remove("STEPWELL_SERVE_TOKEN");
    let (running, said) = Background::start(command, "http://")?;
    let url = said
        .split_whitespace()
        .find(|word| word.starts_with("http://"));
    let url = url.with_context(|| format!("the server says `{said}`"))?;
    Ok((running, url.trim_end_matches(',').to_owned()))
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut files: Vec<_> = files.collect::<anyhow::Result<_>>()?;
    files.sort();
    Ok(files)
}
