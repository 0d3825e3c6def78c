//! What is read, and how its input is made.

mod models;
mod page;
mod states;
mod tables;
mod texts;

use std::fs;
use std::path::Path;

use crate::dice::Dice;

/// Something that reads bytes which may be damaged.
pub trait Target {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Returns an input: a valid one, changed by these choices.
    fn input(&self, dice: &mut Dice) -> Vec<u8>;

    /// Reads an input, uses what was read, and returns whether it was accepted.
    ///
    /// # Errors
    /// With a finding: what was accepted is wrong, or two ways of reading differ.
    fn read(&self, input: &[u8]) -> Result<bool, String>;
}

/// Returns all targets.
pub fn all() -> Vec<Box<dyn Target>> {
    let mut targets: Vec<Box<dyn Target>> = Vec::new();
    targets.extend(tables::targets());
    targets.extend(models::targets());
    targets.extend(states::targets());
    targets.extend(texts::targets());
    targets.extend(page::targets());
    targets
}

/// Writes a file anew. Some systems wait for the disk when a file is truncated and written again.
fn put(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let _ = fs::remove_file(path);
    fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}
