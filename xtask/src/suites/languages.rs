//! The packages of other languages.

use super::Suite;
use crate::{
    bindings::{self, Language, swift},
    context::Context,
    log::Log,
    packages::{kotlin, python, web},
    process,
    tools::{
        Unavailable, chromium, mock_llm, npm,
        postgres::{self, Postgres},
        venv::Venv,
    },
};
use anyhow::{Context as _, ensure};
use std::{
    env::consts::{DLL_PREFIX, DLL_SUFFIX},
    fs,
    path::Path,
    process::Command,
};

pub(super) const PYTHON: Suite = Suite {
    name: "python",
    about: "the wheel: built, installed, tested, its types checked, and the notebook's widget tried in JupyterLab",
    run: python,
};

fn python(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let package = context.root.join("bindings/python");
    let venv = python::venv(context, log)?;
    let folder = context.scratch().join("wheels");
    let wheel = {
        let _sources = bindings::PYTHON_SOURCES.lock();
        python::wheel(context, log, &venv, "dev", &folder)?
    };
    venv.install(context, log, |uv| {
        uv.args(["--reinstall", "--no-deps"]).arg(&wheel)
    })?;
    let model = mock_llm::build(context, log)?;
    let server = match Postgres::start(log) {
        Ok(server) => Some(server),
        Err(error) => {
            let Unavailable(reason) = error.downcast()?;
            log.say(&format!("SKIPPED: the store on PostgreSQL: {reason}"))?;
            None
        }
    };
    let run = |module: &str| {
        let mut run = venv.python();
        run.args(["-m", module]).current_dir(&package);
        run
    };
    log.run(
        run("pytest")
            .arg("tests")
            // The plug-in must be there, as installed.
            .env("STEPWELL_WHEEL", &wheel)
            .env(mock_llm::VARIABLE, model)
            .envs(
                server
                    .iter()
                    .map(|server| (postgres::VARIABLE, server.url())),
            ),
    )?;
    log.run(run("mypy").args(["--strict", "-p", "stepwell", "-p", "pytest_stepwell"]))?;
    let examples = fs::read_dir(context.root.join("examples/python"))?;
    let examples = examples.filter_map(|entry| Some(entry.ok()?.path()));
    let examples = examples.filter(|file| file.extension() == Some("py".as_ref()));
    log.run(
        run("mypy")
            .args(["--strict", "tests", "bench.py"])
            .args(examples),
    )?;
    // Last: where no browser can be had, all else was tried.
    let chromium = chromium::ensure(log)?;
    log.run(
        run("pytest")
            .arg("tests/test_jupyterlab.py")
            .env("STEPWELL_CHROMIUM", chromium),
    )
}

pub(super) const KOTLIN: Suite = Suite {
    name: "kotlin",
    about: "the bindings: generated, compiled and tested on the JVM, and packed; a project compiles with the package",
    run: kotlin,
};

fn kotlin(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    kotlin::ensure_tools(log)?;
    let sources = bindings::KOTLIN_SOURCES.lock();
    bindings::generate(context, log, Language::Kotlin)?;
    let program = mock_llm::build(context, log)?;
    let library = library(context, "stepwell_ffi");
    let folder = format!("-Dstepwell.library.directory={}", context.debug().display());
    let repository = kotlin::deploy(context, log, &library, |maven| {
        maven.arg(folder).env(mock_llm::VARIABLE, &program);
    })?;
    context.made.kotlin_classes.get(|| Ok(()))?;
    drop(sources);
    what_is_published(context, log, &repository)?;
    // The benchmark takes the package, as its page says.
    log.build(
        process::command("mvn")
            .args(["--batch-mode", "--no-transfer-progress", "-q", "compile"])
            .arg(format!("-Dpackages=file://{}", repository.display()))
            .arg(format!("-Dstepwell.version={}", context.version()?))
            .arg("-f")
            .arg(context.root.join("bindings/kotlin/bench/pom.xml")),
    )
}

/// Looks into what was made.
fn what_is_published(context: &Context, log: &mut Log, repository: &Path) -> anyhow::Result<()> {
    let version = context.version()?;
    let folder = repository
        .join("dev/stepwell/stepwell-kotlin")
        .join(&version);
    let mut list = |end: &str| {
        let jar = folder.join(format!("stepwell-kotlin-{version}{end}.jar"));
        log.read(process::command("jar").arg("tf").arg(jar))
    };
    let pom = fs::read_to_string(folder.join(format!("stepwell-kotlin-{version}.pom")));
    let wanted = [
        (
            list("")?,
            "stepwell_ffi META-INF/LICENSE-MIT dev/stepwell/Agent.class",
        ),
        (
            list("-sources")?,
            "dev/stepwell/AgentBuilder.kt dev/stepwell/stepwell_ffi.kt",
        ),
        (
            pom.context("no POM was published")?,
            "<name>MIT</name> <artifactId>jna</artifactId> <scm>",
        ),
    ];
    for (published, wanted) in wanted {
        for part in wanted.split(' ') {
            ensure!(
                published.contains(part),
                "there is no {part} in {published}"
            );
        }
    }
    Ok(())
}

pub(super) const WEB: Suite = Suite {
    name: "web",
    about: "the npm package: made, asks its host for nothing but by wasm-bindgen, its types compiled, the scenario files under Node and in Chromium, and an app that installs it, built by Vite, webpack and esbuild",
    run: web,
};

fn web(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let tests = context.root.join("bindings/web/tests");
    let package = web::make(context, log)?;
    let mut asks = process::command("node");
    asks.args(["-e", ASKS]).arg(web::module(context, log)?);
    log.show(&mut asks)?;
    let script = |script: &str| {
        let mut script = npm::script(&tests, script);
        script.arg(&package);
        script
    };
    log.show(&mut script("node.mjs"))?;
    log.run(
        npm::script(&tests, "node_modules/typescript/bin/tsc")
            .args([
                "--strict", "--noEmit", "--target", "es2022", "--module", "es2022",
            ])
            .args(["--moduleResolution", "bundler", "--lib"])
            .args(["es2022,esnext.disposable,dom,dom.iterable", "types.ts"]),
    )?;
    let browser = chromium::ensure(log)?;
    log.show(script("browser.mjs").arg(&browser))?;
    let model = mock_llm::start(context, log, None)?;
    log.show(
        script("bundlers.mjs")
            .arg(context.scratch().join("web-bundled"))
            .arg(&browser)
            .arg(model.base_url()),
    )
}

/// Looks what a module asks of its host: no more than wasm-bindgen's, for `jsonschema` seeds its hash tables through the
/// browser. That it exports a machine shows that there is something in it.
const ASKS: &str = "
    const module = new WebAssembly.Module(require('fs').readFileSync(process.argv[1]));
    const asked = WebAssembly.Module.imports(module).filter((it) => !it.module.startsWith('__wbindgen_'));
    const machine = WebAssembly.Module.exports(module).filter((it) => it.name.startsWith('machine_'));
    console.log('it asks its host for', asked, 'and exports', machine.length, 'functions of a machine');
    process.exit(asked.length === 0 && machine.length > 0 ? 0 : 1);";

pub(super) const FLUTTER: Suite = Suite {
    name: "flutter",
    about: "the Dart sources, with those that are generated, pass a checker of ours, and send what is known to the library; no Dart is compiled",
    run: |context, log| {
        let plugin = context.root.join("bindings/flutter");
        let requirements = plugin.join("tool/requirements.txt");
        let venv = Venv::ensure(context, log, "venv-flutter", &requirements)?;
        context.build(log)?;
        bindings::generate(context, log, Language::Flutter)?;
        let header = context.root.join("bindings/c/include/stepwell.h");
        log.run(c_header().args(["-Wall", "-Werror"]).arg(header))?;
        // The checker finds what it should, before it is asked.
        log.run(venv.python().arg(plugin.join("tool/dart_rules_test.py")))?;
        log.show(
            venv.python()
                .arg(plugin.join("tool/check.py"))
                .arg(library(context, "stepwell_c"))
                .arg(&plugin)
                .arg(context.root.join("examples/flutter")),
        )
    },
};

pub(super) const SWIFT: Suite = Suite {
    name: "swift",
    about: "the bindings: generated, their public names as listed, their C header sound; nothing is compiled as Swift",
    run: |context, log| {
        bindings::generate(context, log, Language::Swift)?;
        let package = swift::package(context);
        // `cc` is there wherever Rust programs are linked; where it is gcc, it lacks clang's nullability.
        let header = swift::header(&package);
        log.run(c_header().args(["-D_Nonnull=", "-D_Nullable="]).arg(header))?;
        let count = swift::check_names(&package)?;
        ensure!(count > 0, "the library exports nothing");
        log.say(&format!("{count} public names"))
    },
};

/// A C compiler that reads a header.
fn c_header() -> Command {
    let mut cc = process::command("cc");
    cc.args(["-std=c11", "-fsyntax-only", "-x", "c"]);
    cc
}

/// A library of the dev profile.
fn library(context: &Context, name: &str) -> std::path::PathBuf {
    context
        .debug()
        .join(format!("{DLL_PREFIX}{name}{DLL_SUFFIX}"))
}
