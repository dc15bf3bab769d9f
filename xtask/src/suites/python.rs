use super::Suite;
use crate::{
    bindings,
    context::Context,
    installs,
    log::Log,
    packages::python,
    tools::{chromium, mock_llm},
};

pub(super) const SUITE: Suite = Suite {
    name: "python",
    about: "the wheel: built, installed as a user does, run alone, tested, its types checked, and the notebook's widget tried in JupyterLab",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let package = context.root.join("bindings/python");
    let venv = python::venv(context, log)?;
    let folder = context.scratch().join("wheels");
    let wheel = {
        let _sources = bindings::python::SOURCES.lock();
        python::wheel(context, log, &venv, "dev", &folder)?
    };
    installs::one(context, log, &installs::PIP, &wheel)?;
    venv.install(context, log, |uv| {
        uv.args(["--reinstall", "--no-deps"]).arg(&wheel)
    })?;

    let mut pytest = venv.python();
    pytest
        .args(["-m", "pytest", "tests"])
        .current_dir(&package)
        // The plug-in must be there, as installed.
        .env("STEPWELL_WHEEL", &wheel);
    let program = mock_llm::build(context, log)?;
    pytest.env(mock_llm::VARIABLE, program);
    log.run(&mut pytest)?;
    for what in [
        &["-p", "stepwell", "-p", "pytest_stepwell"][..],
        &[
            "tests",
            "bench.py",
            "../../examples/python/ask.py",
            "../../examples/python/tokens.py",
            "../../examples/python/budget.py",
            "../../examples/python/guard.py",
            "../../examples/python/hello.py",
            "../../examples/python/look.py",
            "../../examples/python/scripted.py",
            "../../examples/python/ship.py",
            "../../examples/python/serve.py",
            "../../examples/python/own_client.py",
            "../../examples/python/own_store.py",
            "../../examples/python/stored.py",
            "../../examples/python/traced.py",
            "../../examples/python/trip.py",
        ],
    ] {
        log.run(
            venv.python()
                .args(["-m", "mypy", "--strict"])
                .args(what)
                .current_dir(&package),
        )?;
    }
    // Last: where no browser can be had, all else was tried.
    let chromium = chromium::ensure(log)?;
    log.run(
        venv.python()
            .args(["-m", "pytest", "tests/test_jupyterlab.py"])
            .current_dir(&package)
            .env("STEPWELL_CHROMIUM", chromium),
    )
}
