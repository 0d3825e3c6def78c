//! Every kind of picture, in every format, of pleasant and of nasty models.
#![allow(missing_docs)]

use mercer::{AnyModel, Exec, Gamma, Kernel, KernelPca, Pca, Points, Result};
use mercer_io::Column;
use mercer_view::{
    Axes, Colour, Figure, ImageFormat, Look, PLOT_KINDS, PlotKind, Report, ReportedFit, Subject, Unavailable,
};

/// Data, and all that can be drawn of it.
struct Case {
    points: Points<f64>,
    columns: Vec<String>,
    colour: Colour,
}

impl Case {
    fn embedded(name: &str, label: &str) -> Self {
        let table = mercer_io::read(name).expect(name);
        let colour = Colour::of(table.column(label).expect(label));
        let columns = table.columns.iter().filter(|c| c.is_numeric() && c.name != label).cloned().collect();
        let table = mercer_io::Table::new(name, columns).expect(name);
        let columns = table.names().iter().map(|n| n.to_string()).collect();
        Case { points: table.points().expect(name), columns, colour }
    }

    fn made(n: usize, d: usize, value: impl FnMut(usize, usize) -> f64) -> Self {
        let columns = (0..d).map(|j| format!("<x{j}> & $y$ \"{j}\"")).collect();
        Case { points: Points::from_fn(n, d, value), columns, colour: Colour::None }
    }

    fn pca(&self) -> Result<(AnyModel, Points<f64>)> {
        let model = Pca::new().components(self.points.d().min(self.points.n()).min(4)).fit(&self.points)?;
        let scores = model.transform(&self.points)?;
        Ok((AnyModel::Pca(model), scores))
    }

    fn kernel(&self) -> Result<(AnyModel, Points<f64>)> {
        let model = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(4).fit(&self.points)?;
        let scores = model.scores();
        Ok((AnyModel::KernelPca(model), scores))
    }

    fn subject<'a>(&'a self, model: &'a AnyModel, scores: &'a Points<f64>) -> Subject<'a> {
        let Case { points, columns, colour } = self;
        Subject { source: "data", columns, points: Some(points), model: Some(model), scores: Some(scores), colour }
    }

    /// Every kind that can be drawn, the density of scores, and loadings without scores.
    fn figures(&self, model: &AnyModel, scores: &Points<f64>) -> Result<Vec<Figure>> {
        let (subject, look) = (self.subject(model, scores), Look::titled("a <title> & $more$"));
        let plain = Subject { model: None, colour: &Colour::None, ..subject };
        let density = Look { density: Some(true), ..look.clone() };
        let mut figures = Vec::new();
        let mut draw = |kind: &PlotKind, subject, look| match kind.draw(subject, look, &Exec::new()) {
            Ok(figure) => {
                assert!(kind.check(subject, look).is_ok(), "{}", kind.name);
                figures.push(figure);
                Ok(())
            }
            Err(Unavailable::Failed(e)) => Err(e),
            Err(why) => {
                let checked = kind.check(subject, look).expect_err(kind.name);
                assert_eq!(format!("{checked:?}"), format!("{why:?}"), "{}", kind.name);
                Ok(())
            }
        };
        for kind in PLOT_KINDS {
            draw(kind, subject, &look)?;
        }
        draw(PlotKind::named("scores").expect("a kind"), plain, &density)?;
        draw(PlotKind::named("loadings").expect("a kind"), Subject { scores: None, ..subject }, &look)?;
        Ok(figures)
    }
}

fn check(figure: &Figure) {
    let svg = figure.svg();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{}", &svg[..200]);
    for word in ["NaN", "inf", "<title>", "<x0>"] {
        assert!(!svg.contains(word), "{word} in the SVG of {}", figure.title);
    }
    assert!(figure.file(ImageFormat::Png).expect("a PNG").starts_with(b"\x89PNG"));
    let text = figure.terminal(60, 16);
    assert!(text.lines().count() >= 3 && !text.contains("NaN"), "{text}");
}

#[test]
fn embedded_sets_have_all_their_pictures() -> Result<()> {
    for (name, label, of_pca, of_kernel) in
        [("rings", "ring", 7, 6), ("iris", "class", 6, 5), ("wine", "class", 6, 5), ("digits", "class", 6, 5)]
    {
        let case = Case::embedded(name, label);
        for (fitted, expected) in [(case.pca()?, of_pca), (case.kernel()?, of_kernel)] {
            let figures = case.figures(&fitted.0, &fitted.1)?;
            assert_eq!(figures.len(), expected, "{name}");
            figures.iter().for_each(check);
        }
    }
    Ok(())
}

#[test]
fn nasty_data_is_drawn_all_the_same() -> Result<()> {
    let nasty = [
        Case::made(2, 2, |i, j| (i * j) as f64),
        Case::made(3, 1, |i, _| i as f64),
        Case::made(5, 2, |i, j| if i == 4 { 1e9 } else { j as f64 * 1e-9 * i as f64 }),
        Case::made(30, 2, |_, _| 1.0),
        Case::made(30, 2, |i, j| if j == 0 { 7.0 } else { i as f64 }),
        Case::made(40, 3, |i, j| 1e12 + ((i * (j + 3)) % 7) as f64),
        Case::made(40, 30, |i, j| 1e-12 * ((i * (j + 3)) % 7) as f64),
    ];
    for (at, case) in nasty.iter().enumerate() {
        for fitted in [case.pca(), case.kernel()] {
            // What cannot be fitted need not be drawn.
            let Ok((model, scores)) = fitted else { continue };
            let figures = case.figures(&model, &scores).unwrap_or_else(|e| panic!("{at}: {e}"));
            figures.iter().for_each(check);
        }
    }
    Ok(())
}

#[test]
fn what_is_missing_is_told_as_data() -> Result<()> {
    let iris = Case::embedded("iris", "class");
    let ((pca, of_pca), (kernel, of_kernel)) = (iris.pca()?, iris.kernel()?);
    let why =
        |name: &str, subject, look: &Look| PlotKind::named(name).expect(name).check(subject, look).expect_err(name);
    let (linear, curved, look) = (iris.subject(&pca, &of_pca), iris.subject(&kernel, &of_kernel), Look::default());
    assert!(matches!(why("scree", Subject { model: None, ..linear }, &look), Unavailable::NoModel));
    assert!(matches!(why("scores", Subject { scores: None, ..linear }, &look), Unavailable::NoPoints));
    assert!(matches!(why("kernel", linear, &look), Unavailable::NoKernel));
    assert!(matches!(why("loadings", curved, &look), Unavailable::NotLinear));
    assert!(matches!(why("contours", curved, &look), Unavailable::TooManyColumns { found: 4, most: 2 }));
    let beyond = Look { axes: Some(Axes { x: 0, y: 98 }), ..look };
    assert!(matches!(why("scores", linear, &beyond), Unavailable::NoSuchAxis { count: 4, .. }));
    assert!(matches!(why("reconstruction", linear, &beyond), Unavailable::NoSuchAxis { count: 4, .. }));
    assert!(
        ReportedFit::try_from(linear).is_ok() && ReportedFit::try_from(Subject { points: None, ..linear }).is_err()
    );
    assert!(PLOT_KINDS.iter().all(|kind| PlotKind::named(kind.name).is_some_and(|found| found.title == kind.title)));
    Ok(())
}

#[test]
fn a_picture_has_a_mark_for_each_point_and_a_name_for_each_class() -> Result<()> {
    let case = Case::embedded("iris", "class");
    let (model, scores) = case.pca()?;
    let figure = mercer_view::scores("iris", &scores, Some(&model), &case.colour, Axes::default(), None);
    let svg = figure.svg();
    assert_eq!(svg.matches("<circle").count(), 150 + 3, "points and legend");
    for name in ["setosa", "versicolor", "virginica", "PC1 (92.46 %)"] {
        assert!(svg.contains(name), "{name}");
    }
    let text = figure.terminal(64, 18);
    assert!(text.contains("o setosa") && text.contains("x virginica"), "{text}");
    Ok(())
}

#[test]
fn many_points_are_a_density_or_a_sample() {
    let points = Points::from_fn(30_000, 2, |i, j| ((i * (7 + j * 4)) % 1009) as f64);
    let plain = mercer_view::scores("many", &points, None, &Colour::None, Axes::default(), None);
    assert!(plain.note.contains("density of 30,000 points") && plain.svg().len() < 1_500_000, "{}", plain.note);
    let colour = Colour::of(&Column::numbers("c", (0..30_000).map(|i| (i % 3) as f64).collect()));
    let sample = mercer_view::scores("many", &points, None, &colour, Axes::default(), None);
    assert!(sample.note.contains("20,000 of 30,000 points"), "{}", sample.note);
    check(&plain);
}

#[test]
fn columns_become_colours_that_can_be_told_apart() {
    let column = |values: Vec<f64>| Column::numbers("c", values);
    assert!(matches!(Colour::of(&column((0..50).map(f64::from).collect())), Colour::Number { .. }));
    assert!(matches!(Colour::of(&column((0..50).map(|i| f64::from(i % 5)).collect())), Colour::Classes { .. }));
    let text = |n: usize| Column::text("c", (0..100).map(|i| format!("name {}", i % n)).collect());
    assert!(matches!(Colour::of(&text(20)), Colour::Classes { .. }));
    assert!(matches!(Colour::of(&text(100)), Colour::None));
    // Labels that are read as text may be numbers.
    let written = Column::text("c", (0..40).map(|i| format!("{}.5", i)).collect());
    assert!(matches!(Colour::of(&written), Colour::Number { .. }));
}

#[test]
fn the_report_is_complete_in_itself() -> Result<()> {
    let exec = Exec::new();
    let iris = Case::embedded("iris", "class");
    let odd = Case::made(60, 2, |i, j| ((i * (3 + j)) % 17) as f64);
    for (case, fitted) in [(&iris, iris.kernel()?), (&iris, iris.pca()?), (&odd, odd.kernel()?)] {
        let (model, scores) = &fitted;
        let Case { points, columns, colour } = case;
        let fitted = ReportedFit { source: "<data> & more", columns, points, model, scores, colour };
        let notes = vec!["a <note>".to_string()];
        let commands = vec!["mercer report 'x & y' -o a.html".to_string()];
        let html = Report { fitted, notes, plan: "route      dense (why)".into(), commands }.html(&exec)?;
        assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
        // The bytes of pictures may read as anything.
        let words: String = html.split("base64,").map(|part| part.split_once('"').map_or(part, |p| p.1)).collect();
        for banned in ["http://", "https://", "<script", "<x0>", "<note>", "<data>", "NaN"] {
            assert!(!words.contains(banned), "{banned}");
        }
        for told in [
            "name=\"viewport\"",
            "@media print",
            "Eigenvalues accurate to",
            "It says nothing about sampling",
            "mercer report &#39;x &amp; y&#39;",
            "kernel PCA, gaussian(gamma=",
        ] {
            assert!(html.contains(told), "{told}");
        }
        assert!(html.matches("<img alt=").count() >= 5);
        assert_eq!(html.contains("k-means on PC1"), !matches!(colour, Colour::None));
    }
    Ok(())
}
