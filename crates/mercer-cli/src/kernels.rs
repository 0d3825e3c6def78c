//! `mercer kernels`: the registry as a table.

use std::io::Write;

use mercer::kernel::registry::{Domain, Entry, KERNELS, entry};
use serde_json::json;

use crate::args::KernelsArgs;
use crate::output::{Failure, Outcome, Result, Terminal, json, line, table};

pub(crate) fn run(args: &KernelsArgs, terminal: &mut Terminal) -> Result {
    let out = &mut terminal.out;
    let entries: Vec<&Entry> = match &args.name {
        Some(name) => vec![entry(name).map_err(|e| {
            let help = e.help().map(|h| format!("; {h}")).unwrap_or_default();
            Failure::Usage(format!("{e}{help}"))
        })?],
        None => KERNELS.iter().collect(),
    };
    if args.json {
        return json(out, &json!(entries.iter().map(|e| as_json(e)).collect::<Vec<_>>()));
    }
    if let (Some(_), [entry]) = (&args.name, entries.as_slice()) {
        line(out, "kernel", entry.name)?;
        line(out, "formula", entry.formula)?;
        line(out, "about", entry.about)?;
        line(out, "definite", if entry.psd { "yes: a Mercer kernel" } else { "no" })?;
        if !entry.aliases.is_empty() {
            line(out, "also", entry.aliases.join(", "))?;
        }
        for p in entry.parameters {
            let default = if p.default.is_empty() { String::new() } else { format!(" [default: {}]", p.default) };
            line(out, "", format!("{}: {}{default}", p.name, p.about))?;
        }
        return Ok(Outcome::Done);
    }
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|e| {
            let parameters: Vec<String> = e
                .parameters
                .iter()
                .filter(|p| !p.default.is_empty())
                .map(|p| format!("{}={}", p.name, p.default))
                .collect();
            let also = if e.aliases.is_empty() { String::new() } else { format!(" ({})", e.aliases.join(", ")) };
            let mercer = if e.psd { "" } else { "   (not a Mercer kernel)" };
            vec![format!("{}{also}", e.name), parameters.join(", "), format!("{}{mercer}", e.formula)]
        })
        .collect();
    table(out, &["kernel", "parameters", "formula"], &rows)?;
    writeln!(
        out,
        "\nAdd, multiply and weight them: '0.5*gaussian(gamma=median) + linear'; normalised(k) makes k(x,x) = 1."
    )?;
    writeln!(out, "`mercer kernels NAME` shows the parameters of a kernel.")?;
    Ok(Outcome::Done)
}

fn as_json(e: &Entry) -> serde_json::Value {
    json!({
        "name": e.name, "aliases": e.aliases, "formula": e.formula, "positive_semi_definite": e.psd,
        "domain": match e.domain {
            Domain::NonNegative => "values >= 0",
            _ => "all points",
        },
        "about": e.about,
        "parameters": e.parameters.iter().map(|p| json!({
            "name": p.name, "default": p.default, "constraint": p.constraint, "range": p.range, "about": p.about,
        })).collect::<Vec<_>>(),
    })
}
