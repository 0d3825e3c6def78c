//! The page: that what the server embeds is what its source builds, and that it works in a real browser.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{cargo, root, told};

/// Where Debian and others put Chromium.
const BROWSERS: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/// Builds the page anew into the folder that the server embeds.
pub(crate) fn build() -> Result<(), String> {
    install()?;
    told("page", in_web("npm").args(["run", "--silent", "build"]))
}

/// Every check of the page.
pub(crate) fn test() -> Result<(), String> {
    install()?;
    told("page is built", in_web("node").args(["build.mjs", "--check"]))?;
    // Selected as for the tests, so that dependencies are not built again with other features.
    cargo("command", &["build", "--workspace", "--exclude", "mercer-py", "--bin", "mercer"], &[])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let browser = browser()?;
    told(
        "page in a browser",
        in_web("node").args(["--test", "test/"]).env("MERCER", target.join("debug/mercer")).env("CHROMIUM", browser),
    )
}

fn in_web(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root().join("web"));
    command
}

/// What web/package-lock.json names, and nothing of it run while it is installed.
fn install() -> Result<(), String> {
    told("packages of the page", in_web("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]))
        .map_err(|e| format!("{e}\nthe page's checks need Node.js 20 or later with npm"))
}

/// A browser: the one that CHROMIUM names, one that is there, or Debian's, installed.
fn browser() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Ok(named.into());
    }
    let found = || BROWSERS.iter().map(PathBuf::from).find(|path| path.exists());
    if let Some(browser) = found() {
        return Ok(browser);
    }
    if Path::new("/usr/bin/apt-get").exists() {
        let apt = |arguments: &[&str]| {
            told("browser", Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
        };
        apt(&["update", "-q"])?;
        apt(&["install", "-q", "-y", "--no-install-recommends", "chromium"])?;
    }
    found().ok_or_else(|| "no Chromium was found: install it, or name it in CHROMIUM".into())
}
