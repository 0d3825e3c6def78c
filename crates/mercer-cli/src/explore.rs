//! `mercer explore`: a page in the browser, served on this machine only.

use std::io::Write;
use std::process::{Command, Stdio};

use mercer_io::select;
use mercer_serve::{Given, Server, ServerOptions};

use crate::args::{DataArgs, ExploreArgs, HeaderArg, ReadArgs, RunArgs};
use crate::input::{self, exec};
use crate::output::{Failure, Outcome, Result, Terminal};

pub(crate) fn run(args: &ExploreArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    let given = match &args.data {
        // An embedded set is there in any case; given by name, it is shown first.
        Some(name) => Some(given(name, &args.read, run)?),
        None => None,
    };
    let server =
        Server::new(ServerOptions { given, exec: exec(run), port: args.port }).map_err(|e| Failure::Error {
            message: format!("cannot listen on port {}: {e}", args.port),
            help: Some("name another with --port, or none for one that is free".into()),
        })?;
    let url = server.url();
    writeln!(terminal.out, "{url}")?;
    terminal.finish()?;
    // Kept as long as the browser may want to read it.
    let opened = if args.no_open { None } else { open(&url) };
    if !terminal.is_quiet() {
        let told = if opened.is_some() { "opened in the browser" } else { "open the address above in a browser" };
        writeln!(terminal.err, "{told}; only this machine can reach it, and Ctrl-C ends it")?;
    }
    server.run()?;
    Ok(Outcome::Done)
}

fn given(name: &str, read: &ReadArgs, run: &RunArgs) -> Result<Given> {
    let data = DataArgs { data: vec![name.into()], read: read.clone() };
    let (table, kept) = input::read(&data, run)?;
    for name in &kept {
        table.position(name)?;
    }
    let columns = match &read.select {
        None => Vec::new(),
        Some(list) => {
            let chosen = select(table.clone(), list)?.columns;
            chosen.into_iter().filter(|c| c.is_numeric()).map(|c| c.name).collect()
        }
    };
    let label = read.label.clone().or_else(|| kept.iter().find(|k| !read.id.contains(k)).cloned());
    // Identifiers stand among the options.
    let as_text = kept.into_iter().filter(|k| !read.id.contains(k)).collect();
    let how = input::read_options(read, Vec::new(), None);
    Ok(Given {
        table,
        name: name.into(),
        columns,
        label,
        as_text,
        missing: read.missing.into(),
        how,
        options: options(read),
    })
}

/// The options that say how the file is read, as words.
fn options(read: &ReadArgs) -> Vec<String> {
    let mut words = Vec::new();
    let mut add = |option: &str, value: Option<String>| {
        words.push(option.to_string());
        words.extend(value);
    };
    read.id.iter().for_each(|id| add("--id", Some(id.clone())));
    if let Some(delimiter) = read.delimiter {
        let shown = if delimiter == b'\t' { "\\t".to_string() } else { char::from(delimiter).to_string() };
        add("--delimiter", Some(shown));
    }
    match read.header {
        _ if read.no_headers => add("--no-headers", None),
        HeaderArg::Auto => {}
        HeaderArg::Yes => add("--header", Some("yes".into())),
        HeaderArg::No => add("--header", Some("no".into())),
    }
    if read.skip > 0 {
        add("--skip", Some(read.skip.to_string()));
    }
    if let Some(format) = read.input_format {
        add("--input-format", Some(format.name().to_string()));
    }
    words
}

/// Asks a browser to open an address, by a page that only this user can read: the arguments of a program are seen by all
/// users of a machine, and the address has the token. Where nobody looks at a screen there is no browser to ask.
fn open(url: &str) -> Option<tempfile::NamedTempFile> {
    let has = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ if has("DISPLAY") || has("WAYLAND_DISPLAY") => ("xdg-open", &[]),
        _ => return None,
    };
    let mut page = tempfile::Builder::new().prefix("mercer-").suffix(".html").tempfile().ok()?;
    let text = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url={url}\"><a href=\"{url}\">mercer explore</a>"
    );
    page.write_all(text.as_bytes()).and_then(|()| page.flush()).ok()?;
    let mut command = Command::new(program);
    command.args(arguments).arg(page.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C is for the server, not for a browser that it started.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().ok()?;
    std::thread::spawn(move || child.wait());
    Some(page)
}
