use super::Suite;
use crate::{
    bindings,
    context::Context,
    log::Log,
    packages::kotlin as package,
    process,
    tools::{Unavailable, apt, mock_llm},
};
use anyhow::{Context as _, ensure};
use serde_json::json;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Stdio,
};

pub(super) const SUITE: Suite = Suite {
    name: "android",
    about: "the example app: compiled, and driven on Android's framework under Robolectric; what R8 leaves of the package",
    run,
};

/// What needs the framework alone.
const FRAMEWORK_SOURCES: [&str; 2] = [
    "bindings/android/stepwell/src/main/kotlin",
    "examples/android/app/src/main/kotlin/dev/stepwell/example/NetworkWatch.kt",
];

/// The rest of the app, and what drives it.
const SOURCES: [&str; 4] = [
    "examples/android/app/src/main/kotlin",
    "examples/android/chat/src/main/kotlin",
    "examples/android/robolectric/src",
    "bindings/kotlin/src/test/kotlin/dev/stepwell/MockLlm.kt",
];

/// What the compiler does besides for the app.
const PLUG_INS: [&str; 2] = ["kotlin-compose-compiler", "kotlin-serialization-compiler"];

/// The framework under which Robolectric runs the app: as its tests name it, and as the JDK can load it.
const INSTRUMENTED: &str = "org.robolectric:android-all-instrumented:15-robolectric-13954326-i7";

/// The newest framework whose resources Debian's `aapt2` can read.
const LINKED: &str = "org.robolectric:android-all:12-robolectric-7732740";

/// Whether `aapt2` can be run. Unlike other programs, `aapt2` has a subcommand for its version and no option.
fn has_aapt2() -> bool {
    let mut version = process::command("aapt2");
    let version = version.arg("version").stdout(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    package::ensure_tools(log)?;
    apt::ensure(log, &["jar"], &["default-jdk-headless"])?;
    let app = App::prepare(context, log)?;
    app.compile_framework_code(log)?;
    let libraries = app.libraries(log)?;
    apt::ensure_that(log, has_aapt2, "aapt2", &["aapt"])?;
    let resources = app.resources(log, &libraries)?;
    app.compile(log, &libraries, &resources)?;
    app.drive(context, log, &libraries, &resources)?;
    app.shrink(context, log, &libraries)
}

/// The app, and where it is built.
struct App {
    root: PathBuf,
    native: PathBuf,
    folder: PathBuf,
    /// Stepwell's own classes.
    stepwell: PathBuf,
    /// The compiler, with the libraries that code for the framework alone needs.
    compiler: Vec<PathBuf>,
}

/// What the app is compiled and run with.
struct Libraries {
    /// All of them, the AARs unpacked.
    jars: Vec<PathBuf>,
    /// The AARs, each in a folder.
    unpacked: Vec<PathBuf>,
}

struct Resources {
    /// The classes `R`.
    classes: PathBuf,
    manifest: PathBuf,
    apk: PathBuf,
}

impl App {
    fn prepare(context: &Context, log: &mut Log) -> anyhow::Result<Self> {
        let folder = context.scratch().join("android");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let stepwell = folder.join("stepwell");
        let sources = bindings::kotlin::SOURCES.lock();
        bindings::kotlin::generate(context, log)?;
        let bindings = context.root.join("bindings/kotlin");
        if !context.made.kotlin_classes.is_made() {
            log.build(
                process::command("mvn")
                    .args(["--batch-mode", "--no-transfer-progress", "compile"])
                    .current_dir(&bindings),
            )?;
        }
        log.run(
            process::command("cp")
                .arg("-r")
                .arg(bindings.join("target/classes"))
                .arg(&stepwell),
        )?;
        drop(sources);
        let mut app = Self {
            root: context.root.clone(),
            native: context.debug(),
            folder,
            stepwell,
            compiler: Vec::new(),
        };
        app.compiler = app.class_path(log, "framework.pom.xml")?;
        Ok(app)
    }

    /// The libraries that a project file names.
    fn class_path(&self, log: &mut Log, project: &str) -> anyhow::Result<Vec<PathBuf>> {
        let list = self.folder.join(format!("{project}.txt"));
        log.run(
            maven()
                .arg("dependency:build-classpath")
                .arg(format!("-Dmdep.outputFile={}", list.display()))
                .arg("-f")
                .arg(self.root.join("examples/android/robolectric").join(project)),
        )?;
        let listed = fs::read_to_string(list)?;
        Ok(env::split_paths(listed.trim()).collect())
    }

    /// Copies a library that stands on no class path.
    fn fetch(&self, log: &mut Log, artifact: &str, folder: &str) -> anyhow::Result<PathBuf> {
        let folder = self.folder.join(folder);
        log.run(
            maven()
                .arg("dependency:copy")
                .arg(format!("-Dartifact={artifact}"))
                .arg(format!("-DoutputDirectory={}", folder.display()))
                .current_dir(&self.folder),
        )?;
        Ok(folder)
    }

    fn libraries(&self, log: &mut Log) -> anyhow::Result<Libraries> {
        let found = self.class_path(log, "pom.xml").map_err(|error| {
            // Whether a mirror of Maven Central has androidx is for it to say.
            Unavailable(format!(
                "no repository that Maven asks has androidx ({error}): only what needs the framework alone was compiled"
            ))
        })?;
        let mut libraries = Libraries {
            jars: Vec::new(),
            unpacked: Vec::new(),
        };
        for library in found {
            if library
                .extension()
                .is_none_or(|extension| extension != "aar")
            {
                libraries.jars.push(library);
                continue;
            }
            let name = library.file_stem().context("a library without a name")?;
            let unpacked = self.folder.join("aar").join(name);
            fs::create_dir_all(&unpacked)?;
            log.run(
                process::command("jar")
                    .arg("xf")
                    .arg(&library)
                    .current_dir(&unpacked),
            )?;
            let classes = unpacked.join("classes.jar");
            if classes.exists() {
                libraries.jars.insert(0, classes);
            }
            libraries.unpacked.push(unpacked);
        }
        Ok(libraries)
    }

    /// The resources of the app and of its libraries, and the classes that name them.
    fn resources(&self, log: &mut Log, libraries: &Libraries) -> anyhow::Result<Resources> {
        let app = self.root.join("examples/android/app/src/main");
        let flat = self.folder.join("flat");
        fs::create_dir_all(&flat)?;
        let mut packages = Vec::new();
        let mut inputs = Vec::new();
        for folder in &libraries.unpacked {
            let manifest = fs::read_to_string(folder.join("AndroidManifest.xml"))?;
            let package = manifest
                .split_once("package=\"")
                .and_then(|(_, rest)| rest.split_once('"'));
            if let Some((package, _)) = package {
                packages.push(package.to_owned());
            }
            if folder.join("res").is_dir() {
                inputs.push(folder.join("res"));
            }
        }
        inputs.push(app.join("res"));
        let mut compiled = Vec::new();
        for (number, input) in inputs.iter().enumerate() {
            let output = flat.join(format!("{number}.zip"));
            log.run(
                process::command("aapt2")
                    .args(["compile", "--dir"])
                    .arg(input)
                    .arg("-o")
                    .arg(&output),
            )?;
            compiled.push(output);
        }
        let manifest = self.folder.join("AndroidManifest.xml");
        fs::write(
            &manifest,
            merged(&fs::read_to_string(app.join("AndroidManifest.xml"))?)?,
        )?;
        let framework = self.fetch(log, LINKED, "linked")?;
        let framework = only_file(&framework)?;
        let (java, apk) = (self.folder.join("java"), self.folder.join("app.ap_"));
        packages.sort();
        packages.dedup();
        log.run(
            process::command("aapt2")
                .arg("link")
                .arg("-I")
                .arg(framework)
                .arg("--manifest")
                .arg(&manifest)
                .arg("--java")
                .arg(&java)
                .args(["--extra-packages", &packages.join(":")])
                .arg("--auto-add-overlay")
                .arg("-o")
                .arg(&apk)
                .args(&compiled),
        )?;
        let classes = self.folder.join("r");
        let sources = files(&java)?;
        log.build(
            process::command("javac")
                .arg("-d")
                .arg(&classes)
                .args(sources),
        )?;
        Ok(Resources {
            classes,
            manifest,
            apk,
        })
    }

    fn compile_framework_code(&self, log: &mut Log) -> anyhow::Result<()> {
        let class_path = [&self.compiler[..], std::slice::from_ref(&self.stepwell)].concat();
        self.kotlinc(log, &FRAMEWORK_SOURCES, &class_path, &[], "framework")
    }

    fn compile(
        &self,
        log: &mut Log,
        libraries: &Libraries,
        resources: &Resources,
    ) -> anyhow::Result<()> {
        let mut class_path = vec![
            self.stepwell.clone(),
            self.folder.join("framework"),
            resources.classes.clone(),
        ];
        class_path.extend(libraries.jars.iter().cloned());
        self.kotlinc(log, &SOURCES, &class_path, &PLUG_INS, "classes")
    }

    fn kotlinc(
        &self,
        log: &mut Log,
        sources: &[&str],
        class_path: &[PathBuf],
        plug_ins: &[&str],
        output: &str,
    ) -> anyhow::Result<()> {
        let mut command = process::command("java");
        command
            .args(["-Xmx1g", "-cp"])
            .arg(env::join_paths(&self.compiler)?)
            .arg("org.jetbrains.kotlin.cli.jvm.K2JVMCompiler")
            .args(["-no-stdlib", "-no-reflect", "-jvm-target", "17", "-Werror"])
            .arg("-cp")
            .arg(env::join_paths(class_path)?);
        for plug_in in plug_ins {
            let is_it = |jar: &&PathBuf| {
                let name = jar.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with(plug_in)
            };
            let jar = self.compiler.iter().find(is_it).context("no plug-in")?;
            command.arg(format!("-Xplugin={}", jar.display()));
        }
        log.build(
            command
                .arg("-d")
                .arg(self.folder.join(output))
                .args(sources.iter().map(|source| self.root.join(source))),
        )
    }

    /// Runs the tests of the app.
    fn drive(
        &self,
        context: &Context,
        log: &mut Log,
        libraries: &Libraries,
        resources: &Resources,
    ) -> anyhow::Result<()> {
        let program = mock_llm::build(context, log)?;
        let pictures = self.folder.join("pictures");
        fs::create_dir_all(&pictures)?;
        let frameworks = self.fetch(log, INSTRUMENTED, "frameworks")?;
        let config = self.folder.join("config/com/android/tools");
        fs::create_dir_all(&config)?;
        fs::write(
            config.join("test_config.properties"),
            format!(
                "android_merged_manifest={}\nandroid_resource_apk={}\nandroid_custom_package=dev.stepwell.example\n",
                resources.manifest.display(),
                resources.apk.display()
            ),
        )?;
        let mut class_path = vec![
            self.folder.join("classes"),
            self.folder.join("framework"),
            self.folder.join("config"),
            self.stepwell.clone(),
            resources.classes.clone(),
        ];
        class_path.extend(libraries.jars.iter().cloned());
        log.run(
            process::command("java")
                .args(["-XX:TieredStopAtLevel=1", "-Drobolectric.offline=true"])
                .arg(format!(
                    "-Drobolectric.dependency.dir={}",
                    frameworks.display()
                ))
                .arg(format!("-Djna.library.path={}", self.native.display()))
                .arg(format!("-Dpictures={}", pictures.display()))
                .arg("-cp")
                .arg(env::join_paths(class_path)?)
                .args(["org.junit.runner.JUnitCore", "dev.stepwell.example.AppTest"])
                .env(mock_llm::VARIABLE, program),
        )?;
        let taken = fs::read_dir(&pictures)?.count();
        ensure!(
            taken == 8,
            "there are {taken} pictures of the screens, and should be 8"
        );
        log.say(&format!(
            "{taken} pictures of the screens are in {}",
            pictures.display()
        ))
    }

    /// Runs a program as R8 leaves it by the rules that the package brings.
    fn shrink(
        &self,
        context: &Context,
        log: &mut Log,
        libraries: &Libraries,
    ) -> anyhow::Result<()> {
        let shrunk = self.folder.join("shrunk.jar");
        let parts = [
            "kotlin-stdlib",
            "kotlinx-",
            "atomicfu",
            "jna-",
            "annotations-",
        ];
        let is_part = |jar: &&PathBuf| {
            let name = jar.file_name().unwrap_or_default().to_string_lossy();
            parts.iter().any(|part| name.starts_with(part)) && !name.contains("android")
        };
        let app = self.folder.join("shrunk-app.jar");
        log.run(
            process::command("jar")
                .arg("cf")
                .arg(&app)
                .arg("-C")
                .arg(self.folder.join("classes"))
                .arg("shrunk")
                .arg("-C")
                .arg(&self.stepwell)
                .arg("."),
        )?;
        let java = java_home()?;
        log.build(
            process::command("java")
                .args(["-Xmx1g", "-cp"])
                .arg(env::join_paths(&libraries.jars)?)
                .args([
                    "com.android.tools.r8.R8",
                    "--classfile",
                    "--release",
                    "--lib",
                ])
                .arg(java)
                .arg("--pg-conf")
                .arg(
                    self.root
                        .join("bindings/android/stepwell/consumer-rules.pro"),
                )
                .arg("--pg-conf")
                .arg(self.root.join("examples/android/robolectric/rules.pro"))
                .arg("--output")
                .arg(&shrunk)
                .arg(&app)
                .args(libraries.jars.iter().filter(is_part)),
        )?;
        let call = |name: &str, arguments: serde_json::Value| json!({"tool_call": {"name": name, "arguments": arguments}});
        let script = json!({"hops": [
            {"steps": [call("get_secret_number", json!({"name": "alice"})), call("ask", json!({}))]},
            {"steps": [{"text": "It is 42."}]},
            {"steps": [{"text": r#"{"city":"Oslo","days":3}"#}]},
            {"status": 401, "error": "No"},
        ]});
        let model = mock_llm::start(context, log, Some(&script.to_string()))?;
        let printed = log.read(
            process::command("java")
                .arg(format!("-Djna.library.path={}", self.native.display()))
                .arg("-cp")
                .arg(&shrunk)
                .arg("shrunk.ShrunkKt")
                .arg(model.base_url()),
        )?;
        let wanted = ["It is 42.", "3 days in Oslo", "AUTHENTICATION", "1", "true"];
        ensure!(
            printed.lines().eq(wanted),
            "what R8 left prints otherwise: {printed}"
        );
        log.say(&format!("R8 leaves {} bytes", fs::metadata(&shrunk)?.len()))
    }
}

fn maven() -> std::process::Command {
    let mut command = process::command("mvn");
    command.args(["--batch-mode", "--no-transfer-progress", "-q"]);
    command
}

/// The JDK that `java` is of.
fn java_home() -> anyhow::Result<PathBuf> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let java = env::split_paths(&paths)
        .map(|folder| folder.join("java"))
        .find(|java| java.exists())
        .context("there is no java")?;
    let java = fs::canonicalize(java)?;
    let home = java.parent().and_then(Path::parent);
    Ok(home.context("java lies in no JDK")?.to_owned())
}

/// The app's manifest with what the build of Android would add.
fn merged(manifest: &str) -> anyhow::Result<String> {
    let head = "<manifest ";
    let parts = manifest.split_once(head).zip(manifest.find("<application"));
    let ((before, _), at) = parts.context("the manifest has another form than it had")?;
    let begins = before.len() + head.len();
    let sdk = r#"<uses-sdk android:minSdkVersion="26" android:targetSdkVersion="35"/>"#;
    Ok(format!(
        "{}package=\"dev.stepwell.example\" {}{sdk}{}",
        &manifest[..begins],
        &manifest[begins..at],
        &manifest[at..]
    ))
}

/// All files below a folder.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn only_file(folder: &Path) -> anyhow::Result<PathBuf> {
    let found = files(folder)?;
    found.into_iter().next().context("nothing was fetched")
}
