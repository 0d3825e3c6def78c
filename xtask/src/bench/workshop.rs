//! What the engines need: a virtual environment, built programs, data. All of it lies under target/bench.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::cases::{Case, Definitions, Kind, Task, benchmarks, read_toml};
use super::machine::Limits;
use crate::root;

const PYTHON_PACKAGES: [&str; 4] = ["numpy", "scipy", "scikit-learn", "threadpoolctl"];

pub(crate) struct Workshop {
    target: PathBuf,
    data: PathBuf,
}

impl Workshop {
    /// Makes ready the Python environment, and our package in it if wanted.
    pub(crate) fn of_python(with_our_package: bool) -> Result<Self, String> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
        let data = std::env::var_os("MERCER_BENCH_DATA").map_or(target.join("bench/data"), PathBuf::from);
        let workshop = Workshop { target, data };
        fs::create_dir_all(&workshop.data).map_err(|e| format!("{}: {e}", workshop.data.display()))?;
        workshop.set_up_python()?;
        if with_our_package {
            workshop.install_our_package()?;
        }
        Ok(workshop)
    }

    /// Makes ready what these cases need; what is there already stays.
    pub(crate) fn set_up(definitions: &Definitions, cases: &[&Case]) -> Result<Self, String> {
        let workshop = Workshop::of_python(false)?;
        if definitions.need(Kind::Python, cases) {
            workshop.install_our_package()?;
        }
        workshop.build_engine("mercer-engine", "release")?;
        if definitions.need(Kind::Rust, cases)
            && let Err(message) = workshop.build_engine("peers", "peers")
        {
            eprintln!("{message}; going on without the Rust peers");
        }
        if cases.iter().any(|case| case.task == Task::Command) {
            told(Command::new(cargo()).current_dir(root()).args(["build", "--release", "--package", "mercer-cli"]))?;
        }
        Ok(workshop)
    }

    fn set_up_python(&self) -> Result<(), String> {
        let ready = Command::new(self.python()).args(["-c", "import sklearn, threadpoolctl"]).output();
        if ready.is_ok_and(|output| output.status.success()) {
            return Ok(());
        }
        told(Command::new("python3").args(["-m", "venv"]).arg(self.target.join("bench/venv")))?;
        let install = ["-m", "pip", "install", "--quiet", "--only-binary=:all:"];
        told(Command::new(self.python()).args(install).args(PYTHON_PACKAGES))
    }

    /// Builds and installs our own Python package, as it is now.
    fn install_our_package(&self) -> Result<(), String> {
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "."];
        told(Command::new(self.python()).current_dir(root()).args(install))
    }

    fn build_engine(&self, package: &str, profile: &str) -> Result<(), String> {
        let target = self.target.join("bench/engines");
        let build = ["build", "--profile", profile, "--package", package, "--target-dir"];
        told(Command::new(cargo()).current_dir(rust_engines()).args(build).arg(target))
    }

    /// The package as it was at a commit, installed in a folder of its own.
    pub(crate) fn package_of(&self, revision: &str) -> Result<PathBuf, String> {
        let git = || {
            let mut git = Command::new("git");
            git.current_dir(root());
            git
        };
        let commit = said(git().args(["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")]))?;
        if commit.is_empty() {
            return Err(format!("--compare {revision}: no such commit"));
        }
        let place = self.target.join("bench/compare");
        let (source, package) = (place.join("source"), place.join(&commit));
        if !package.exists() {
            let archive = place.join("source.tar");
            let _ = fs::remove_dir_all(&source);
            fs::create_dir_all(&source).map_err(|e| format!("{}: {e}", source.display()))?;
            told(git().args(["archive", "--format=tar", "-o"]).arg(&archive).arg(&commit))?;
            told(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&source))?;
            let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"];
            let mut pip = Command::new(self.python());
            pip.current_dir(&source).env("CARGO_TARGET_DIR", place.join("target"));
            told(pip.args(install).arg(&package).arg("."))?;
        }
        Ok(package)
    }

    /// The interpreter of the environment.
    pub(crate) fn python(&self) -> PathBuf {
        self.target.join("bench/venv/bin/python")
    }

    /// The command of an engine, its placeholders filled in.
    pub(crate) fn command(&self, run: &[String]) -> Command {
        let iris = root().join("crates/mercer-io/data/iris.csv");
        let places = [
            ("{python}", self.python()),
            ("{scripts}", scripts()),
            ("{engine}", self.target.join("bench/engines/release/mercer-engine")),
            ("{limits}", self.target.join("bench/engines/release/machine-limits")),
            ("{peers}", self.target.join("bench/engines/peers/peers")),
            ("{mercer}", self.target.join("release/mercer")),
            ("{iris}", iris),
        ];
        let fill = |word: &String| {
            places.iter().fold(word.clone(), |word, (name, path)| word.replace(name, &path.to_string_lossy()))
        };
        let mut words = run.iter().map(fill);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// The file of n points, made when missing. Seed 0 is for fits, 1 for new points.
    pub(crate) fn points(&self, data: &str, n: usize, d: usize, seed: u64) -> Result<PathBuf, String> {
        let path = self.data.join(format!("{data}-{n}-{d}-{seed}.npy"));
        if !path.exists() {
            let words = [data, &n.to_string(), &d.to_string(), &seed.to_string()];
            told(Command::new(self.python()).arg(scripts().join("data.py")).args(words).arg(&path))?;
        }
        Ok(path)
    }

    pub(crate) fn limits(&self) -> Result<Limits, String> {
        eprintln!("== machine limits");
        let output = self.command(&["{limits}".into()]).output();
        let output = output.map_err(|e| format!("machine-limits: {e}"))?;
        serde_json::from_slice(&output.stdout).map_err(|e| format!("machine-limits: {e}"))
    }

    /// A message without the paths of this machine.
    pub(crate) fn without_paths(&self, message: &str) -> String {
        let paths = [&self.data, &self.target, &root()];
        paths.iter().fold(message.to_string(), |text, path| text.replace(&format!("{}/", path.display()), ""))
    }

    /// The versions of Python, of its packages, of the compiler and of the Rust peers.
    pub(crate) fn versions(&self, definitions: &Definitions) -> Result<BTreeMap<String, String>, String> {
        #[derive(Deserialize)]
        struct Lock {
            package: Vec<Package>,
        }
        #[derive(Deserialize)]
        struct Package {
            name: String,
            version: String,
        }
        let mut versions = BTreeMap::new();
        versions.insert("python".into(), said(Command::new(self.python()).arg("--version"))?.replace("Python ", ""));
        let of_package = "import sys, importlib.metadata as m; print(*[m.version(p) for p in sys.argv[1:]])";
        let python = said(Command::new(self.python()).args(["-c", of_package]).args(PYTHON_PACKAGES))?;
        versions.extend(PYTHON_PACKAGES.map(String::from).into_iter().zip(python.split(' ').map(String::from)));
        let rustc = said(Command::new("rustc").arg("--version"))?;
        versions.insert("rustc".into(), rustc.split(' ').nth(1).unwrap_or_default().into());
        let lock: Lock = read_toml(&rust_engines().join("Cargo.lock"))?;
        let peers: Vec<&str> = definitions.engines.values().filter_map(|engine| engine.package.as_deref()).collect();
        let locked = lock.package.into_iter().filter(|package| peers.contains(&package.name.as_str()));
        versions.extend(locked.map(|package| (package.name, package.version)));
        Ok(versions)
    }
}

fn rust_engines() -> PathBuf {
    benchmarks().join("engines/rust")
}

fn scripts() -> PathBuf {
    benchmarks().join("engines/python")
}

fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// Runs a command whose output is shown.
pub(crate) fn told(command: &mut Command) -> Result<(), String> {
    let words: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    eprintln!("== {program} {}", words.join(" "));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program}: failed with {status}")),
        Err(e) => Err(format!("{program}: cannot be started: {e}")),
    }
}

/// What a command says, without the end of its line.
pub(crate) fn said(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("{program}: {e}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}
