//! The command-line options, each defined once.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use mercer::{Components, Embedding, Kernel};
use mercer_io::{FORMATS, Format, Header, Missing};
use mercer_view::{PLOT_KINDS, PlotKind};

/// Compute PCA and kernel PCA.
#[derive(Debug, Parser)]
#[command(name = "mercer", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = data_help())]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Print no summaries and notes
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Use colours in the output
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Fit PCA, or kernel PCA with --kernel; write scores and model
    Fit(FitArgs),
    /// Compute the scores of new data with a fitted model
    Transform(TransformArgs),
    /// Reconstruct data from scores, or project data onto a model
    ///
    /// Works for PCA, and for kernel PCA with the gaussian kernel (by pre-images)
    Reconstruct(ReconstructArgs),
    /// Show the contents of a model file
    Info(InfoArgs),
    /// Check the claims of a model by an independent computation on its data
    ///
    /// The kernel is evaluated by its definition for all pairs of points, or the rows are summed again. Nothing else of the
    /// fit is used
    Verify(VerifyArgs),
    /// Cluster the scores of PCA and kernel PCA; compare with labels
    Compare(CompareArgs),
    /// Check that a kernel is symmetric and positive semi-definite
    Check(CheckArgs),
    /// Plot scores, scree, loadings, kernel matrix, contours or reconstruction
    Plot(PlotArgs),
    /// Write a self-contained HTML report
    Report(ReportArgs),
    /// Open a local web page to explore kernels with sliders
    Explore(ExploreArgs),
    /// Print each step of the derivation on a few rows
    Steps(StepsArgs),
    /// List the kernels with their parameters and formulas
    Kernels(KernelsArgs),
    /// List the embedded data sets, or print one
    Data(DataSetArgs),
    /// Compare PCA and kernel PCA on embedded data, with plots
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
    /// Number of threads; results do not depend on it [default: one per core]
    #[arg(short = 'j', long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub(crate) threads: Option<u16>,
    /// Limit memory use, as in 500M or 8G [default: 60 % of free memory]
    ///
    /// Data that does not fit is read batch by batch. Work that needs more memory is refused before it starts. The free
    /// memory is that of the machine, or what the limits of a container or of `ulimit -v` leave if that is less
    #[arg(long, global = true, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Random seed
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// The memory budget, found out once.
    #[arg(skip)]
    pub(crate) budget: std::sync::OnceLock<u64>,
}

/// The data and how to read it.
#[derive(Args, Clone, Debug)]
pub(crate) struct DataArgs {
    /// Files, a folder, - (standard input), or an embedded data set
    ///
    /// Several files, or the files of a folder, must have the same columns
    #[arg(required = true)]
    pub(crate) data: Vec<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// Use only these columns [default: all numeric columns]
    ///
    /// A list of names, ranges (a:f), column numbers from 1, @numbers or @text; !x excludes column x
    #[arg(short, long, value_name = "LIST")]
    pub(crate) select: Option<String>,
    /// Copy this label column to the output; do not use it in the fit
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,
    /// Copy this identifier column unchanged to the output; do not use it in the fit
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Vec<String>,
    /// Handle missing values: error, mean of the column, or drop the row
    #[arg(long, value_enum, default_value = "error", value_name = "WHAT")]
    pub(crate) missing: MissingArg,
    /// Field delimiter [default: detected from the first line]
    #[arg(short, long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// Read column names from the first line
    #[arg(long, value_enum, default_value = "auto", value_name = "WHETHER")]
    pub(crate) header: HeaderArg,
    /// Same as --header no
    #[arg(short = 'n', long, conflicts_with = "header")]
    pub(crate) no_headers: bool,
    /// Skip this many leading lines
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) skip: usize,
    /// Input format [default: detected from the name or content]
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

/// A kernel and its most common parameters.
#[derive(Args, Debug)]
#[command(next_help_heading = "Kernel")]
pub(crate) struct KernelArgs {
    /// Kernel: a name, an expression, or precomputed
    ///
    /// An expression looks like '0.5*gaussian(gamma=median) + linear'. precomputed means that DATA is a Gram matrix.
    /// `mercer kernels` lists the kernels. Without --kernel, a model is linear PCA
    #[arg(long, value_name = "KERNEL")]
    pub(crate) kernel: Option<String>,
    /// Set gamma of the kernel: a number, median, scale or 1/d
    #[arg(long, requires = "kernel", value_name = "GAMMA", allow_hyphen_values = true)]
    pub(crate) gamma: Option<String>,
    /// Set degree of the kernel
    #[arg(long, requires = "kernel", value_name = "N")]
    pub(crate) degree: Option<String>,
    /// Set coef0 of the kernel
    #[arg(long, requires = "kernel", value_name = "X", allow_hyphen_values = true)]
    pub(crate) coef0: Option<String>,
}

/// The model to fit.
#[derive(Args, Debug)]
pub(crate) struct ModelArgs {
    /// Number of components, share of the variance (0.95), or all [default: up to 10]
    #[arg(help_heading = "Model", short = 'k', long, value_name = "K", value_parser = components)]
    pub(crate) components: Option<Components>,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    /// Embed the points first: monomials:M or monomials:M:OFFSET
    ///
    /// monomials:M uses all monomials of degree M; monomials:M:OFFSET uses those of degree up to M
    #[arg(help_heading = "Model", long, value_name = "EMBEDDING", value_parser = embedding, conflicts_with = "kernel")]
    pub(crate) embed: Option<Embedding>,
    /// Divide each column by its standard deviation
    #[arg(help_heading = "Model", long)]
    pub(crate) scale: bool,
    /// Do not subtract the mean: decompose (1/n) sum x x'
    #[arg(help_heading = "Model", long, conflicts_with = "kernel")]
    pub(crate) no_center: bool,
    /// Divide the scores by their standard deviation
    #[arg(help_heading = "Model", long, conflicts_with = "kernel")]
    pub(crate) whiten: bool,
    /// Stop at this residual, relative to the largest eigenvalue [default: 1e-6]
    ///
    /// Applies to fits by passes over the Gram matrix. Forces exact components: landmarks are not used
    #[arg(help_heading = "Model", long, value_name = "TOL", requires = "kernel")]
    pub(crate) tolerance: Option<f64>,
    /// Use Nystroem landmarks: auto, none, nystroem or nystroem=M
    ///
    /// none is exact. nystroem=M uses M landmarks. auto is exact unless that exceeds --memory or would take more than
    /// about 30 minutes on two cores; it is always exact if --tolerance is given
    #[arg(help_heading = "Model", long, value_name = "HOW", requires = "kernel", default_value = "auto", value_parser = approx)]
    pub(crate) approx: ApproxArg,
    /// Choose landmarks by kmeans, uniform or rpcholesky, or read a file [default: kmeans]
    #[arg(help_heading = "Model", long, value_name = "HOW", requires = "kernel")]
    pub(crate) landmarks: Option<String>,
    /// Add landmarks until they lose at most this share of the variance
    #[arg(help_heading = "Model", long, value_name = "SHARE", requires = "kernel", conflicts_with = "landmarks")]
    pub(crate) trace_error: Option<f64>,
    /// Choose the matrix to decompose
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

/// Whether kernel PCA is exact or approximate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApproxArg {
    Auto,
    None,
    /// With this many landmarks, or the usual number.
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
    /// Write files that begin with PREFIX, or scores to standard output (-)
    ///
    /// The files are PREFIX.scores.csv, PREFIX.eigenvalues.csv, PREFIX.loadings.csv (linear models only) and
    /// PREFIX.mercer.safetensors (the model)
    #[arg(help_heading = "Output", short, long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) output: Option<String>,
    /// Output format of scores, eigenvalues and loadings
    #[arg(help_heading = "Output", long, value_parser = formats(), default_value = "csv", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Enclose all rounding in the error bounds (up to 5,000 points)
    ///
    /// The kernel, the sums and the residuals are computed again in twice the precision, with bounds on their own errors.
    /// Nothing is assumed but correctly rounded arithmetic. For PCA, up to 5,000 points or columns, whichever is less
    #[arg(help_heading = "Model", long)]
    pub(crate) rigorous: bool,
    /// Print the result as JSON
    #[arg(help_heading = "Output", long)]
    pub(crate) json: bool,
    /// Print the plan and exit without fitting
    #[arg(help_heading = "Output", long)]
    pub(crate) explain: bool,
    /// Do not write scores (saves one pass when streaming)
    #[arg(help_heading = "Output", long)]
    pub(crate) no_scores: bool,
    /// Read the data batch by batch even if it fits in memory
    #[arg(help_heading = "Reading", long)]
    pub(crate) stream: bool,
    /// Do not plot the scores on the terminal after the fit
    #[arg(help_heading = "Output", long)]
    pub(crate) no_plot: bool,
    /// Save each finished pass to this folder until the fit ends
    #[arg(help_heading = "Long runs", long, value_name = "DIR", requires = "kernel")]
    pub(crate) checkpoint: Option<String>,
    /// Resume from the checkpoint; the result is identical
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
    /// Add a column with the squared reconstruction error of each point
    #[arg(help_heading = "Output", long)]
    pub(crate) errors: bool,
    /// Read the data batch by batch even if it fits in memory
    #[arg(help_heading = "Reading", long)]
    pub(crate) stream: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// Write to this file, or to standard output (-)
    #[arg(help_heading = "Output", short, long, default_value = "-", value_name = "FILE")]
    pub(crate) output: String,
    /// Output format [default: from the file name, else csv]
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
    /// Treat DATA as scores (PC1, PC2, ...) or as points
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
#[command(after_help = "\
DATA is what the model was fitted to, with the same rows in the same order.
The exit code is 0 if no claim is refuted, 1 for an error, and 3 if a claim is refuted.")]
pub(crate) struct VerifyArgs {
    /// Model file
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Number of passes; more give sharper bounds on what was missed
    #[arg(help_heading = "Verification", long, value_name = "N", default_value_t = PASSES, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) passes: u16,
    /// Print as JSON
    #[arg(help_heading = "Output", long)]
    pub(crate) json: bool,
}

/// The default number of passes of `verify`.
const PASSES: u16 = mercer::verify::Verify::PASSES as u16;

#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Number of clusters [default: number of distinct labels]
    #[arg(help_heading = "Comparison", long = "k", value_name = "N")]
    pub(crate) clusters: Option<usize>,
    /// Compare this kernel with PCA; repeatable [default: Gaussians of several widths]
    #[arg(help_heading = "Comparison", long, value_name = "KERNEL", value_parser = kernel)]
    pub(crate) kernel: Vec<Kernel>,
    /// Divide each column by its standard deviation
    #[arg(help_heading = "Comparison", long)]
    pub(crate) scale: bool,
    /// Number of k-means starts; the best one is used
    #[arg(help_heading = "Comparison", long, default_value_t = mercer::k_means::KMeans::RESTARTS, value_name = "N")]
    pub(crate) restarts: usize,
    /// Print as JSON
    #[arg(help_heading = "Output", long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "The exit code is 0 if the kernel is positive semi-definite on the data, and 1 if not.")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    /// Divide each column by its standard deviation
    #[arg(help_heading = "Kernel", long)]
    pub(crate) scale: bool,
    /// Print as JSON
    #[arg(help_heading = "Output", long)]
    pub(crate) json: bool,
}

/// The input of `plot` and `report`: a model, scores, or data to fit.
#[derive(Args, Debug)]
pub(crate) struct ShownArgs {
    /// Model file, table of scores (with column PC1), or data
    pub(crate) input: String,
    /// Data for a model file
    pub(crate) data: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Colour points by this label or numeric column [default: label column]
    #[arg(help_heading = "Plot", long, value_name = "COLUMN")]
    pub(crate) by: Option<String>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Without -o the plot is drawn as text on a terminal, or written as SVG to a pipe.
A PCA model file does not contain the points: give the data after it.")]
pub(crate) struct PlotArgs {
    #[command(flatten)]
    pub(crate) shown: ShownArgs,
    /// Choose the kind of plot
    #[arg(help_heading = "Plot", long, value_parser = plot_kinds(), default_value = "scores", value_name = "KIND")]
    pub(crate) kind: &'static PlotKind,
    /// Plot these two components, as in 1,3 [default: 1,2]
    ///
    /// For --kind reconstruction: two columns by name [default: the two with the largest variance]
    #[arg(help_heading = "Plot", long, value_name = "A,B")]
    pub(crate) axes: Option<String>,
    /// Plot density instead of points [default: if over 20,000 points, uncoloured]
    #[arg(help_heading = "Plot", long)]
    pub(crate) density: bool,
    /// Draw as text
    #[arg(help_heading = "Output", long, conflicts_with_all = ["output", "format"])]
    pub(crate) terminal: bool,
    /// Write to this .svg, .png or .pdf file, or standard output (-)
    #[arg(help_heading = "Output", short, long, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Image format [default: from the file name, else svg]
    #[arg(help_heading = "Output", long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<ImageArg>,
}

/// The kinds of plots by name, each with its help.
fn plot_kinds() -> impl TypedValueParser<Value = &'static PlotKind> {
    let one = |kind: &&PlotKind| PossibleValue::new(kind.name).help(format!("{}; needs {}", kind.about, kind.needs));
    PossibleValuesParser::new(PLOT_KINDS.iter().map(one))
        .try_map(|name| PlotKind::named(&name).ok_or("not a kind of plot"))
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
    /// Write to this file, or to standard output (-)
    #[arg(help_heading = "Output", short, long, default_value = "report.html", value_name = "FILE")]
    pub(crate) output: String,
}

#[derive(Args, Debug)]
pub(crate) struct ExploreArgs {
    /// File, - (standard input), or embedded data set [default: all embedded sets]
    pub(crate) data: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// Listen on this port [default: any free port]
    #[arg(help_heading = "Page", long, default_value_t = 0, value_name = "N", hide_default_value = true)]
    pub(crate) port: u16,
    /// Print the address; do not open a browser
    #[arg(help_heading = "Page", long)]
    pub(crate) no_open: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StepsArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    /// Number of rows to use, evenly spaced
    #[arg(help_heading = "Steps", long, default_value_t = 6, value_name = "N")]
    pub(crate) rows: usize,
    /// Number of components to show
    #[arg(help_heading = "Steps", short = 'k', long, default_value_t = 2, value_name = "K")]
    pub(crate) components: usize,
    /// Project this new point [default: mean of the first two rows]
    #[arg(help_heading = "Steps", long, value_name = "X1,X2,...", allow_hyphen_values = true)]
    pub(crate) new: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct KernelsArgs {
    /// Show only this kernel, with details
    pub(crate) name: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DataSetArgs {
    /// Print this data set
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Write plots and scores to this folder
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
        "DATA is one or more files ({}, also as .gz or .zst; {}), a folder,\n\
         - for standard input, or an embedded data set (`mercer data`).",
        texts.join(", "),
        others.join(", ")
    )
}

/// The error message and its help on one line, as clap expects.
fn one_line(e: mercer::Error) -> String {
    match e.help() {
        Some(help) => format!("{e}; {help}"),
        None => e.to_string(),
    }
}

fn kernel(text: &str) -> Result<Kernel, String> {
    text.parse().map_err(one_line)
}

fn embedding(text: &str) -> Result<Embedding, String> {
    text.parse().map_err(one_line)
}

fn components(text: &str) -> Result<Components, String> {
    let wrong = || "expected a number from 1, a share like 0.95, or all".to_string();
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
        return Err("expected the beginning of file names, as in results/iris, or -".into());
    }
    Ok(text.into())
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "\\t" | "tab" => Ok(b'\t'),
        _ if text.len() == 1 => Ok(text.as_bytes()[0]),
        _ => Err("expected one character, or \\t".into()),
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
        _ => return Err("expected a size like 500M or 8G".into()),
    };
    match digits.parse::<f64>() {
        Ok(value) if value > 0.0 && value * unit < 1e18 => Ok((value * unit) as u64),
        _ => Err("expected a size like 500M or 8G".into()),
    }
}
