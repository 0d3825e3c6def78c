//! Damaged input for everything that mercer reads: tables, model files, states, checkpoints, and texts of users.
//!
//! A [`Target`] makes inputs from valid ones and reads them. Input `index` of a target follows from the seed alone, so that
//! a finding is repeated by its three names. A finding is a panic, a difference between two ways of reading, something
//! accepted that is wrong, or an input that takes more time or memory than its size explains.
//!
//! ```
//! let targets = mercer_fuzz::targets();
//! let csv = targets.iter().find(|t| t.name() == "csv").expect("a target");
//! let tally = mercer_fuzz::run(csv.as_ref(), 1, 0..20, |_| true);
//! assert!(tally.inputs == 20 && tally.findings.is_empty());
//! ```

mod dice;
mod memory;
mod mutate;
mod run;
mod targets;

pub use dice::Dice;
pub use run::{Finding, MEMORY, SECONDS, Tally, input, run};
pub use targets::{Target, all as targets};
