//! The options of the command, each defined once.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use mercer::{Components, Embedding, Kernel};
use mercer_io::{FORMATS, Format, Header, Missing};

/// PCA and kernel PCA done right.
#[derive(Debug, Parser)]
#[command(name = "mercer", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = data_help())]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Say nothing but the data and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Colours
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Fit PCA, or kernel PCA with --kernel, and write scores and model
    Fit(FitArgs),
    /// Scores of new data by a fitted model
    Transform(TransformArgs),
    /// Data back from scores, or the part of data that a model keeps: by PCA, or by the gaussian kernel's pre-images
    Reconstruct(ReconstructArgs),
    /// What a model file holds
    Info(InfoArgs),
    /// Cluster the scores of PCA and of kernel PCA, and compare with labels
    Compare(CompareArgs),
    /// Check Mercer's conditions: symmetric, positive semi-definite
    Check(CheckArgs),
    /// Pictures: scores, scree, loadings, kernel matrix, contours, reconstruction
    Plot(PlotArgs),
    /// One HTML page that tells what was found, for people who were not there
    Report(ReportArgs),
    /// A page in the browser, on this machine only, where moving a slider refits the model
    Explore(ExploreArgs),
    /// Every step of the textbook on a few rows, with its equation
    Steps(StepsArgs),
    /// The kernels, their parameters and formulas
    Kernels(KernelsArgs),
    /// The embedded data sets
    Data(DataSetArgs),
    /// PCA against kernel PCA on embedded data, with pictures
    Demo(DemoArgs),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// Threads; results do not depend on it [default: one per core]
    #[arg(short = 'j', long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub(crate) threads: Option<u16>,
    /// Memory that may be used, as 500M or 8G [default: 60 % of what is free]
    #[arg(long, global = true, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Seed of whatever is drawn at random
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
}

/// Which data, and how it is read.
#[derive(Args, Debug)]
pub(crate) struct DataArgs {
    /// Files of the same columns, a folder of them, - for standard input, or embedded set
    #[arg(required = true)]
    pub(crate) data: Vec<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// Columns to use: names, ranges a:f, numbers from 1, @numbers, @text; !x leaves out
    #[arg(short, long, value_name = "LIST")]
    pub(crate) select: Option<String>,
    /// Column of labels: kept, not computed with
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,
    /// Column of identifiers: kept as written, not computed with
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Vec<String>,
    /// Missing values: refuse, fill with the column's mean, or drop the row
    #[arg(long, value_enum, default_value = "error", value_name = "WHAT")]
    pub(crate) missing: MissingArg,
    /// What stands between fields [default: what the first line has most of]
    #[arg(short, long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// Whether the first line has names
    #[arg(long, value_enum, default_value = "auto", value_name = "WHETHER")]
    pub(crate) header: HeaderArg,
    /// The first line has no names: --header no
    #[arg(short = 'n', long, conflicts_with = "header")]
    pub(crate) no_headers: bool,
    /// Lines to pass over at the start
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) skip: usize,
    /// Format of the data [default: by name or content]
    #[arg(long, value_parser = formats(), value_name = "FORMAT")]
    pub(crate) input_format: Option<Format>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MissingArg {
    Error,
    Mean,
    Drop,
}

impl From<MissingArg> for Missing {
    fn from(m: MissingArg) -> Self {
        match m {
            MissingArg::Error => Missing::Error,
            MissingArg::Mean => Missing::Mean,
            MissingArg::Drop => Missing::Drop,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum HeaderArg {
    Auto,
    Yes,
    No,
}

impl From<HeaderArg> for Header {
    fn from(h: HeaderArg) -> Self {
        match h {
            HeaderArg::Auto => Header::Auto,
            HeaderArg::Yes => Header::Yes,
            HeaderArg::No => Header::No,
        }
    }
}

/// A kernel by name or expression, and its most common parameters as options.
#[derive(Args, Debug)]
#[command(next_help_heading = "Kernel")]
pub(crate) struct KernelArgs {
    /// Kernel: a name, an expression like '0.5*gaussian(gamma=median) + linear', or precomputed
    #[arg(long, value_name = "KERNEL")]
    pub(crate) kernel: Option<String>,
    /// gamma of the kernel: a number, median, scale or 1/d
    #[arg(long, requires = "kernel", value_name = "GAMMA", allow_hyphen_values = true)]
    pub(crate) gamma: Option<String>,
    /// degree of the kernel
    #[arg(long, requires = "kernel", value_name = "N")]
    pub(crate) degree: Option<String>,
    /// coef0 of the kernel
    #[arg(long, requires = "kernel", value_name = "X", allow_hyphen_values = true)]
    pub(crate) coef0: Option<String>,
}

/// What is fitted.
#[derive(Args, Debug)]
pub(crate) struct ModelArgs {
    /// Components: a number, a share of the variance like 0.95, or all [default: 10, or as many as there are]
    #[arg(help_heading = "Model", short = 'k', long, value_name = "K", value_parser = components)]
    pub(crate) components: Option<Components>,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    /// PCA of an explicit embedding: monomials:M, or monomials:M:OFFSET for degrees up to M
    #[arg(help_heading = "Model", long, value_name = "EMBEDDING", value_parser = embedding, conflicts_with = "kernel")]
    pub(crate) embed: Option<Embedding>,
    /// Divide columns by their standard deviation
    #[arg(help_heading = "Model", long)]
    pub(crate) scale: bool,
    /// Do not subtract the mean: the plain correlation matrix (1/n) sum x x'
    #[arg(help_heading = "Model", long, conflicts_with = "kernel")]
    pub(crate) no_center: bool,
    /// Divide scores by their standard deviation
    #[arg(help_heading = "Model", long, conflicts_with = "kernel")]
    pub(crate) whiten: bool,
    /// Residual that is good enough, relative to the largest eigenvalue, where components are found by passes
    /// [default: 1e-6]. Components are then exact, never by landmarks
    #[arg(help_heading = "Model", long, value_name = "TOL", requires = "kernel")]
    pub(crate) tolerance: Option<f64>,
    /// Exact, or by landmarks: none, nystroem, nystroem=M for M landmarks, or auto, which takes landmarks where exact
    /// components would not fit the memory or take more than about half an hour on two cores, unless a tolerance is given
    #[arg(help_heading = "Model", long, value_name = "HOW", requires = "kernel", default_value = "auto", value_parser = approx)]
    pub(crate) approx: ApproxArg,
    /// How landmarks are chosen: kmeans, uniform, rpcholesky, or the file that has them [default: kmeans]
    #[arg(help_heading = "Model", long, value_name = "HOW", requires = "kernel")]
    pub(crate) landmarks: Option<String>,
    /// As many landmarks as leave at most this share of the variance
    #[arg(help_heading = "Model", long, value_name = "SHARE", requires = "kernel", conflicts_with = "landmarks")]
    pub(crate) trace_error: Option<f64>,
    /// Which matrix is decomposed
    #[arg(
        help_heading = "Model",
        long,
        value_enum,
        default_value = "auto",
        conflicts_with = "kernel",
        value_name = "ROUTE"
    )]
    pub(crate) route: RouteArg,
}

/// Whether components are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApproxArg {
    Auto,
    None,
    /// So many landmarks, or as many as are usual.
    Nystroem(Option<usize>),
}

fn approx(text: &str) -> Result<ApproxArg, String> {
    match text.split_once('=') {
        None if text == "auto" => Ok(ApproxArg::Auto),
        None if text == "none" => Ok(ApproxArg::None),
        None if text == "nystroem" => Ok(ApproxArg::Nystroem(None)),
        Some(("nystroem", m)) => match m.parse() {
            Ok(m) if m > 0 => Ok(ApproxArg::Nystroem(Some(m))),
            _ => Err(format!("'{m}' is not a number of landmarks: use nystroem=1000")),
        },
        _ => Err("expected auto, none, nystroem or nystroem=M".into()),
    }
}

#[derive(Args, Debug)]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Write PREFIX.scores.csv, PREFIX.eigenvalues.csv, PREFIX.loadings.csv (linear models) and
    /// PREFIX.mercer.safetensors; - writes the scores to standard output
    #[arg(help_heading = "Output", short, long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) output: Option<String>,
    /// Format of scores, eigenvalues and loadings
    #[arg(help_heading = "Output", long, value_parser = formats(), default_value = "csv", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Print the result as JSON
    #[arg(help_heading = "Output", long)]
    pub(crate) json: bool,
    /// Print the plan and stop
    #[arg(help_heading = "Output", long)]
    pub(crate) explain: bool,
    /// Write no scores: the model alone is had in fewer looks at data that is read batch by batch
    #[arg(help_heading = "Output", long)]
    pub(crate) no_scores: bool,
    /// Read the data batch by batch, also where it would fit the memory
    #[arg(help_heading = "Reading", long)]
    pub(crate) stream: bool,
    /// No picture of the scores after the fit; there is none either where the output is no terminal
    #[arg(help_heading = "Output", long)]
    pub(crate) no_plot: bool,
    /// Keep each finished pass of a long fit in this folder, until the fit is done
    #[arg(help_heading = "Long runs", long, value_name = "DIR", requires = "kernel")]
    pub(crate) checkpoint: Option<String>,
    /// Go on from the checkpoint, with the same result as if nothing had happened
    #[arg(help_heading = "Long runs", long, requires = "checkpoint")]
    pub(crate) resume: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RouteArg {
    Auto,
    Covariance,
    Gram,
    Svd,
}

#[derive(Args, Debug)]
pub(crate) struct TransformArgs {
    /// Model file
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Add a column with the squared error that the components leave of each point
    #[arg(help_heading = "Output", long)]
    pub(crate) errors: bool,
    /// Read the data batch by batch, also where it would fit the memory
    #[arg(help_heading = "Reading", long)]
    pub(crate) stream: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// File to write, - for standard output
    #[arg(help_heading = "Output", short, long, default_value = "-", value_name = "FILE")]
    pub(crate) output: String,
    /// Format of the output [default: by the file's name, else csv]
    #[arg(help_heading = "Output", long, value_parser = formats(), value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
}

impl OutputArgs {
    /// The format that is asked for, or else that of the file's name.
    pub(crate) fn format(&self) -> Format {
        self.format.or_else(|| Format::of_name(&self.output)).unwrap_or(Format::CSV)
    }
}

#[derive(Args, Debug)]
pub(crate) struct ReconstructArgs {
    /// Model file
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// What DATA has: scores (PC1, PC2, ...) or points (the columns that the model was fitted to)
    #[arg(long, value_enum, default_value = "auto", value_name = "WHAT")]
    pub(crate) from: FromArg,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FromArg {
    Auto,
    Scores,
    Points,
}

#[derive(Args, Debug)]
pub(crate) struct InfoArgs {
    /// Model file
    pub(crate) model: String,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Clusters [default: as many as there are labels]
    #[arg(help_heading = "Comparison", long = "k", value_name = "N")]
    pub(crate) clusters: Option<usize>,
    /// Kernel to compare with PCA, as often as wanted [default: Gaussians of several widths]
    #[arg(help_heading = "Comparison", long, value_name = "KERNEL", value_parser = kernel)]
    pub(crate) kernel: Vec<Kernel>,
    /// Divide columns by their standard deviation
    #[arg(help_heading = "Comparison", long)]
    pub(crate) scale: bool,
    /// Starts of k-means, of which the best counts
    #[arg(help_heading = "Comparison", long, default_value_t = mercer::KMeans::RESTARTS, value_name = "N")]
    pub(crate) restarts: usize,
    /// Print as JSON
    #[arg(help_heading = "Output", long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Exit code 0 when the conditions hold, 1 when they do not.")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    /// Divide columns by their standard deviation
    #[arg(help_heading = "Kernel", long)]
    pub(crate) scale: bool,
    /// Print as JSON
    #[arg(help_heading = "Output", long)]
    pub(crate) json: bool,
}

/// What is shown: a model, scores, or data that a model is fitted to.
#[derive(Args, Debug)]
pub(crate) struct ShownArgs {
    /// Model file, table of scores (with a column PC1), or data to fit
    pub(crate) input: String,
    /// Data to show a model on: file, -, or embedded set
    pub(crate) data: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Colour points by this column, of labels or of numbers [default: the labels]
    #[arg(help_heading = "Picture", long, value_name = "COLUMN")]
    pub(crate) by: Option<String>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Without -o the picture goes to the terminal in characters, or as SVG to whatever reads the standard output.
A model file of PCA does not hold its points: name the data after it.")]
pub(crate) struct PlotArgs {
    #[command(flatten)]
    pub(crate) shown: ShownArgs,
    /// What to draw
    #[arg(help_heading = "Picture", long, value_enum, default_value = "scores", value_name = "KIND")]
    pub(crate) kind: PlotKind,
    /// Two components to draw (as 1,3) or, of a reconstruction, two columns by name [default: the first two components; the two
    /// columns with most variance]
    #[arg(help_heading = "Picture", long, value_name = "A,B")]
    pub(crate) axes: Option<String>,
    /// How many points are where, in place of the points [default: above 20,000 points without colours]
    #[arg(help_heading = "Picture", long)]
    pub(crate) density: bool,
    /// Draw in characters
    #[arg(help_heading = "Output", long, conflicts_with_all = ["output", "format"])]
    pub(crate) terminal: bool,
    /// File to write: .svg, .png or .pdf; - for standard output
    #[arg(help_heading = "Output", short, long, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Format of the picture [default: by the file's name, else svg]
    #[arg(help_heading = "Output", long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<ImageArg>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotKind {
    /// Points in the plane of two components
    Scores,
    /// Shares of the variance, with the certificate's error bars
    Scree,
    /// Scores and an arrow per column, of a linear model
    Loadings,
    /// Gram matrix and centred Gram matrix, points in the order of their clusters
    Kernel,
    /// Each component over the plane of two-dimensional data
    Contours,
    /// Points, and what the components keep of them
    Reconstruction,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ImageArg {
    Svg,
    Png,
    Pdf,
}

#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) shown: ShownArgs,
    /// File to write, - for standard output
    #[arg(help_heading = "Output", short, long, default_value = "report.html", value_name = "FILE")]
    pub(crate) output: String,
}

#[derive(Args, Debug)]
pub(crate) struct ExploreArgs {
    /// File, - for standard input, or embedded set [default: the embedded sets]
    pub(crate) data: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// Port to listen on [default: one that is free]
    #[arg(help_heading = "Page", long, default_value_t = 0, value_name = "N", hide_default_value = true)]
    pub(crate) port: u16,
    /// Print the address and open no browser
    #[arg(help_heading = "Page", long)]
    pub(crate) no_open: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StepsArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    /// Rows to use, spread evenly over the data
    #[arg(help_heading = "Steps", long, default_value_t = 6, value_name = "N")]
    pub(crate) rows: usize,
    /// Components to show
    #[arg(help_heading = "Steps", short = 'k', long, default_value_t = 2, value_name = "K")]
    pub(crate) components: usize,
    /// A new point to project, values between commas [default: the mean of the first two rows]
    #[arg(help_heading = "Steps", long, value_name = "X1,X2,...", allow_hyphen_values = true)]
    pub(crate) new: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct KernelsArgs {
    /// One kernel in full
    pub(crate) name: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DataSetArgs {
    /// The set to print
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Folder for pictures and scores
    #[arg(short, long, default_value = "mercer-demo", value_name = "FOLDER")]
    pub(crate) output: String,
}

/// Formats of tables by name.
fn formats() -> impl TypedValueParser<Value = Format> {
    let names = PossibleValuesParser::new(FORMATS.iter().map(|f| f.name()));
    names.try_map(|name| Format::named(&name).ok_or("unknown format"))
}

fn data_help() -> String {
    let titles = |text: bool| FORMATS.iter().filter(move |f| f.is_text() == text).map(|f| f.title());
    let (texts, others) = (titles(true).collect::<Vec<_>>(), titles(false).collect::<Vec<_>>());
    format!(
        "DATA is a file ({}, also as .gz and .zst, {}), several, a folder of them, - for standard input,\n\
         or an embedded set (`mercer data`).",
        texts.join(", "),
        others.join(", ")
    )
}

/// The message of an error with its help, for the one line that clap has.
fn told(e: mercer::Error) -> String {
    match e.help() {
        Some(help) => format!("{e}; {help}"),
        None => e.to_string(),
    }
}

fn kernel(text: &str) -> Result<Kernel, String> {
    text.parse().map_err(told)
}

fn embedding(text: &str) -> Result<Embedding, String> {
    text.parse().map_err(told)
}

fn components(text: &str) -> Result<Components, String> {
    let wrong = || "a number from 1 on, a share like 0.95, or all".to_string();
    if text == "all" {
        return Ok(Components::All);
    }
    if let Ok(count) = text.parse::<usize>() {
        return if count > 0 { Ok(Components::Count(count)) } else { Err(wrong()) };
    }
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(Components::Share(share)),
        _ => Err(wrong()),
    }
}

fn prefix(text: &str) -> Result<String, String> {
    if text.is_empty() || text.ends_with('/') {
        return Err("a beginning of file names, as in results/iris, or -".into());
    }
    Ok(text.into())
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "\\t" | "tab" => Ok(b'\t'),
        _ if text.len() == 1 => Ok(text.as_bytes()[0]),
        _ => Err("one character, or \\t".into()),
    }
}

fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        _ => return Err("a size like 500M or 8G".into()),
    };
    match digits.parse::<f64>() {
        Ok(value) if value > 0.0 && value * unit < 1e18 => Ok((value * unit) as u64),
        _ => Err("a size like 500M or 8G".into()),
    }
}
