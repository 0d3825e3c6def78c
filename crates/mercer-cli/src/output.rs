//! What is shown, where it goes, and what can go wrong with that.

use std::io::{self, BufWriter, Write};

use anstream::{AutoStream, ColorChoice};
use mercer_view::printable;

use crate::args::Color;
use crate::{remedy, stdout};

/// How a command ended well.
pub(crate) enum Outcome {
    Done,
    DoesNotHold,
    /// The claims of a model do not hold.
    Refuted,
}

/// How a command ended otherwise.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The call was wrong: exit code 2.
    Usage(String),
    /// Anything else: exit code 1.
    Error { message: String, help: Option<String> },
    /// Stopped by Ctrl-C or SIGTERM: exit code 130 or 143.
    Interrupted { message: String, help: Option<String> },
    /// The reader of the output is gone.
    Pipe,
}

pub(crate) type Result<T = Outcome> = std::result::Result<T, Failure>;

impl From<mercer::Error> for Failure {
    fn from(e: mercer::Error) -> Self {
        Failure::Error { message: e.to_string(), help: help(&e) }
    }
}

/// What to do about an error of the library, with the flags of the command.
pub(crate) fn help(e: &mercer::Error) -> Option<String> {
    match e.kind() {
        mercer::ErrorKind::Memory { remedy, .. } => Some(format!("{remedy}; --memory sets the budget")),
        _ => e.help(),
    }
}

impl From<mercer_io::Error> for Failure {
    fn from(e: mercer_io::Error) -> Self {
        match e {
            mercer_io::Error::Library(e) => return e.into(),
            mercer_io::Error::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => return Failure::Pipe,
            _ => {}
        }
        Failure::Error { message: e.to_string(), help: e.remedy().as_ref().map(remedy::with_flags) }
    }
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        if e.kind() == io::ErrorKind::BrokenPipe {
            return Failure::Pipe;
        }
        Failure::Error { message: format!("cannot write the output: {e}"), help: None }
    }
}

impl Failure {
    /// The same failure, with the file that it is about.
    pub(crate) fn about(self, source: &str) -> Self {
        match self {
            Failure::Error { message, help } => Failure::Error { message: format!("{source}: {message}"), help },
            other => other,
        }
    }
}

/// Standard output and standard error, with colour where it is wanted.
pub(crate) struct Terminal {
    pub(crate) out: BufWriter<Out>,
    pub(crate) err: AutoStream<io::Stderr>,
    quiet: bool,
}

/// Standard output, which fails if it was closed from the start.
pub(crate) struct Out(AutoStream<io::Stdout>);

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        stdout::check_open()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Terminal {
    pub(crate) fn new(color: Color, quiet: bool) -> Self {
        let choice = match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        Terminal {
            out: BufWriter::new(Out(AutoStream::new(io::stdout(), choice))),
            err: AutoStream::new(io::stderr(), choice),
            quiet,
        }
    }

    /// Whether standard output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.out.get_ref().0.is_terminal()
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Summaries go to standard output, or to standard error when data goes to standard output.
    pub(crate) fn summary(&mut self, data_on_stdout: bool) -> Box<dyn Write + '_> {
        match (self.quiet, data_on_stdout) {
            (true, _) => Box::new(io::sink()),
            (false, true) => Box::new(&mut self.err),
            (false, false) => Box::new(&mut self.out),
        }
    }

    /// Writes data to standard output as it is, without removing colours from it.
    pub(crate) fn data(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.flush()?;
        stdout::check_open()?;
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        Ok(out.flush()?)
    }

    pub(crate) fn finish(&mut self) -> std::result::Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}

/// `name      text`, the name in bold.
pub(crate) fn line(out: &mut dyn Write, name: &str, text: impl std::fmt::Display) -> io::Result<()> {
    let bold = anstyle::Style::new().bold();
    writeln!(out, "{bold}{name:<10}{bold:#} {}", printable(&text.to_string()))
}

/// Text as a JSON value, for machines.
pub(crate) fn json(out: &mut dyn Write, value: &serde_json::Value) -> Result {
    serde_json::to_writer_pretty(&mut *out, value).map_err(|e| Failure::from(io::Error::from(e)))?;
    writeln!(out)?;
    Ok(Outcome::Done)
}

/// A table: columns of numbers to the right, columns of words to the left.
pub(crate) fn table(out: &mut dyn Write, header: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let header: Vec<String> = header.iter().map(|cell| printable(cell)).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| printable(cell)).collect()).collect();
    let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).chain([header[c].chars().count()]).max();
    let widths: Vec<usize> = (0..header.len()).map(|c| width(c).unwrap_or(0)).collect();
    let is_number = |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let to_the_right: Vec<bool> = (0..header.len()).map(|c| rows.iter().all(|r| is_number(&r[c]))).collect();
    let mut print = |cells: Vec<&str>| {
        let mut text = String::from(" ");
        for (c, cell) in cells.iter().enumerate() {
            let gap = " ".repeat(widths[c] - cell.chars().count());
            text += if c == 0 { " " } else { "   " };
            text += &if to_the_right[c] { format!("{gap}{cell}") } else { format!("{cell}{gap}") };
        }
        writeln!(out, "{}", text.trim_end())
    };
    print(header.iter().map(String::as_str).collect())?;
    rows.iter().try_for_each(|row| print(row.iter().map(String::as_str).collect()))
}
