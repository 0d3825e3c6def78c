//! `mercer demo`: the main job on embedded data. PCA against kernel PCA, on rings and on Iris.

use std::fs;
use std::io::Write;
use std::path::Path;

use mercer::k_means::{Agreement, KMeans};
use mercer::{Exec, Gamma, Kernel, KernelPca, Pca, Points};
use mercer_io::{Column, Format, Outputs, Table, read, write_table};

use crate::args::{DemoArgs, RunArgs};
use crate::input::exec;
use crate::output::{Failure, Outcome, Result, Terminal, line, table};
use mercer_view::{Axes, Colour, component, scores as scores_of};

const PLOT_COLUMNS: usize = 80;
const PLOT_ROWS: usize = 18;

/// A data set, the kernels it is shown with, and the number of clusters to look for.
struct Scene {
    name: &'static str,
    label: &'static str,
    clusters: usize,
    kernels: Vec<Kernel>,
    about: &'static str,
}

pub(crate) fn run(args: &DemoArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    let exec = exec(run);
    let over = |s: f64| Kernel::gaussian(Gamma::OverSigma2(s));
    let scenes = [
        Scene {
            name: "rings",
            label: "ring",
            clusters: 2,
            kernels: vec![Kernel::gaussian(Gamma::Value(3.0))],
            about: "Two rings: no straight line parts them, so PCA cannot. The first kernel component does.",
        },
        Scene {
            name: "iris",
            label: "class",
            clusters: 3,
            kernels: vec![over(150.0), over(2.0)],
            about: "Iris: a wide kernel is nearly linear and clusters as PCA does; a narrow one does better.",
        },
    ];
    let folder = Path::new(&args.output);
    fs::create_dir_all(folder).map_err(|e| Failure::Error {
        message: format!("{}: cannot make the folder: {e}", folder.display()),
        help: Some("name another with --output".into()),
    })?;
    let mut outputs = Outputs::new();
    let mut files = Vec::new();
    for scene in &scenes {
        show(scene, folder, &mut outputs, &mut files, &exec, terminal)?;
    }
    outputs.commit()?;
    let out = &mut terminal.out;
    line(out, "wrote", format!("{} files to {}/: {}", files.len(), folder.display(), files.join("  ")))?;
    line(
        out,
        "next",
        "mercer explore   |   mercer fit YOUR.csv --kernel gaussian -o out   |   mercer steps iris --kernel gaussian",
    )?;
    Ok(Outcome::Done)
}

fn show(
    scene: &Scene,
    folder: &Path,
    outputs: &mut Outputs,
    files: &mut Vec<String>,
    exec: &Exec,
    terminal: &mut Terminal,
) -> Result<()> {
    let data = read(scene.name)?;
    let label = data.column(scene.label)?.clone();
    let (classes, _) = label.classes();
    let colour = Colour::of(&label);
    let x = data.points()?;
    let pca = Pca::new().components(2).fit_with(&x, exec)?;
    let mut shown = vec![("PCA".to_string(), "pca".to_string(), pca.transform_with(&x, exec)?, pca.spectrum().clone())];
    for (i, kernel) in scene.kernels.iter().enumerate() {
        let model = KernelPca::new(kernel.clone()).components(2).fit_with(&x, exec)?;
        let file = if i == 0 { "kernel-pca".to_string() } else { format!("kernel-pca-{}", i + 1) };
        shown.push((kernel.to_string(), file, model.scores(), model.spectrum().clone()));
    }
    let right = |scores: &Points<f64>| -> Result<String> {
        let found = KMeans::new(scene.clusters).fit_with(scores, exec)?;
        let agreement = Agreement::of(&classes, &found.labels)?;
        Ok(format!("{} of {}", agreement.correct, agreement.n))
    };
    let mut rows = Vec::new();
    for (name, _, scores, spectrum) in &shown {
        let percent = |v: f64| format!("{:.1} %", 100.0 * v);
        let ratios = spectrum.ratios();
        rows.push(vec![
            name.clone(),
            percent(ratios[0]),
            percent(ratios[1]),
            right(&scores.first_columns(1))?,
            right(scores)?,
        ]);
    }
    let out = &mut terminal.out;
    let bold = anstyle::Style::new().bold();
    writeln!(out, "{bold}{}{bold:#}\n{}\n", scene.name, scene.about)?;
    table(out, &["scores of", "PC1 explains", "PC2 explains", "k-means on PC1", "on PC1 and PC2"], &rows)?;
    writeln!(out)?;
    for (at, (name, file, scores, _)) in shown.iter().enumerate() {
        let title = format!("{}: {name}", scene.name);
        let picture = scores_of(&title, scores, None, &colour, Axes::default(), None);
        // The picture that PCA fails on, and the last one.
        if at + 1 == shown.len() || shown.len() == 2 {
            writeln!(out, "{}", picture.terminal(PLOT_COLUMNS, PLOT_ROWS))?;
        }
        let mut stage = |end: &str, bytes: Vec<u8>| -> Result<()> {
            let file = format!("{}-{file}.{end}", scene.name);
            outputs.stage(folder.join(&file), bytes)?;
            files.push(file);
            Ok(())
        };
        stage("svg", picture.svg().into_bytes())?;
        let columns: Vec<Column> =
            std::iter::once(label.clone()).chain(Table::of_points(scores, component).columns).collect();
        stage("scores.csv", write_table(&Table::new(&title, columns)?, Format::CSV)?)?;
    }
    Ok(())
}
