//! The Python package: its environment, its tests, its pages. All of it lies under target/python.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::told;

/// Runs every check of the package, and then those on a Spark cluster.
pub(crate) fn test_all() -> Result<(), String> {
    let place = Place::set_up()?;
    test_in(&place)?;
    spark_in(&place)
}

/// Builds and installs the package, and runs every check of it.
pub(crate) fn test() -> Result<(), String> {
    test_in(&Place::set_up()?)
}

fn test_in(place: &Place) -> Result<(), String> {
    let python = |what: &str, arguments: &[&str]| told(what, place.python().args(arguments));
    python("Python format", &["-m", "ruff", "format", "--check", "python", "docs", "benchmarks"])?;
    python("Python lints", &["-m", "ruff", "check", "python", "docs", "benchmarks"])?;
    python("Python stubs", &["-m", "mypy.stubtest", "mercer._mercer", "mercer.kernels"])?;
    let tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not spark", "python/tests"];
    python("Python tests", &tests)?;
    place.docs()
}

/// The tests on a Spark cluster of two executors, which need Java.
pub(crate) fn spark() -> Result<(), String> {
    spark_in(&Place::set_up()?)
}

fn spark_in(place: &Place) -> Result<(), String> {
    if Command::new("java").arg("-version").output().is_err() {
        eprintln!("== Spark: skipped, since there is no Java here");
        return Ok(());
    }
    place.install("python/requirements-spark.txt", "spark.txt", &["--no-binary=pyspark"])?;
    let tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "spark", "python/tests"];
    told("Spark tests", place.python().args(tests))
}

/// Builds the pages, running every example in them.
pub(crate) fn docs() -> Result<(), String> {
    Place::set_up()?.docs()
}

struct Place {
    folder: PathBuf,
}

impl Place {
    fn set_up() -> Result<Self, String> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or(crate::root().join("target"), PathBuf::from);
        let place = Place { folder: target.join("python") };
        if !place.executable().exists() {
            told("Python environment", Command::new("python3").args(["-m", "venv"]).arg(place.folder.join("venv")))?;
        }
        place.install("python/requirements-test.txt", "installed.txt", &[])?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "."];
        // The profile of the Rust tests is optimised, and its dependencies are built already.
        told("Python package", place.python().args(install).env("MATURIN_PEP517_ARGS", "--profile dev"))?;
        Ok(place)
    }

    /// Installs what a list names, unless the very same list was installed before.
    fn install(&self, list: &str, note: &str, options: &[&str]) -> Result<(), String> {
        let done = self.folder.join(note);
        let wanted = fs::read_to_string(crate::root().join(list)).map_err(|e| format!("{list}: {e}"))?;
        if fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
            return Ok(());
        }
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"];
        told("Python requirements", self.python().args(install).args(options).args(["-r", list]))?;
        fs::write(&done, wanted).map_err(|e| format!("{}: {e}", done.display()))
    }

    fn docs(&self) -> Result<(), String> {
        // Warnings are errors, and every cell is run: a page that is built is right.
        let sphinx = ["-m", "sphinx", "-W", "--keep-going", "-q", "-j", "2", "-b", "html", "docs"];
        told("pages", self.python().args(sphinx).arg(self.folder.join("docs")))
    }

    fn executable(&self) -> PathBuf {
        self.folder.join("venv/bin/python")
    }

    fn python(&self) -> Command {
        let mut command = Command::new(self.executable());
        command.current_dir(crate::root()).env("PYTHONDONTWRITEBYTECODE", "1");
        // Tools of the environment, such as the kernel that runs the pages, are found before others.
        let bin = self.folder.join("venv/bin");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(bin).chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(paths) {
            command.env("PATH", path);
        }
        command
    }
}
