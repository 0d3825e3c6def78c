//! The command, run in a folder of its own.
#![allow(missing_docs, dead_code, unreachable_pub)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

pub struct Run {
    folder: tempfile::TempDir,
}

impl Run {
    pub fn new() -> Self {
        Run { folder: tempfile::tempdir().expect("a folder") }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn put(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect("writes");
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mercer"));
        command.args(arguments).current_dir(self.path()).env("NO_COLOR", "1");
        command
    }

    pub fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("runs")
    }

    /// Standard output of a call that succeeds.
    pub fn ok(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Standard error of a call that fails with this exit code, having printed nothing else.
    pub fn fails(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let error = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty(), "{arguments:?} printed {:?}", String::from_utf8_lossy(&output.stdout));
        assert!(!error.contains("panicked"), "{error}");
        error
    }

    pub fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path())
            .expect("a folder")
            .map(|e| e.expect("an entry").file_name().into_string().expect("text"))
            .collect();
        names.sort();
        names
    }
}
