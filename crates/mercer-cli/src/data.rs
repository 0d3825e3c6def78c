//! `mercer data`: the embedded data sets.

use mercer_io::{DATA_SETS, read};

use crate::args::DataSetArgs;
use crate::output::{Failure, Outcome, Result, Terminal, table};
use crate::transform::write;
use mercer_view::count;

pub(crate) fn run(args: &DataSetArgs, terminal: &mut Terminal) -> Result {
    let Some(name) = &args.name else {
        let rows: Vec<Vec<String>> = DATA_SETS
            .iter()
            .map(|s| vec![s.name.into(), count(s.rows), s.columns.to_string(), s.label.into(), s.about.into()])
            .collect();
        table(&mut terminal.out, &["name", "rows", "columns", "label", "what it is"], &rows)?;
        return Ok(Outcome::Done);
    };
    let Some(set) = DATA_SETS.iter().find(|s| s.name == name) else {
        let nearest = mercer::text::nearest(name, DATA_SETS.iter().map(|s| s.name));
        let help = match nearest {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("known: {}", DATA_SETS.iter().map(|s| s.name).collect::<Vec<_>>().join(", ")),
        };
        return Err(Failure::Usage(format!("'{name}' is not an embedded data set; {help}")));
    };
    write(&read(set.name)?, &args.output, terminal)?;
    Ok(Outcome::Done)
}
