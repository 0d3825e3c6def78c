//! The report: one self-contained HTML page.

use std::fmt::Write;

use base64::Engine;
use mercer::certificate::{BoundKind, Confidence};
use mercer::widths::sweep;
use mercer::{AnyModel, Certificate, Exec, Gamma, Kernel, KernelPca, Pca, Points, Result};

use crate::agreement::{LabelAgreement, agreement};
use crate::colour::Colour;
use crate::draw::ImageFormat;
use crate::figure::{Figure, spread};
use crate::kinds::{Axes, Look, PLOT_KINDS, Subject, Unavailable, scores as scores_of};
use crate::tables::standardised;
use crate::text::{component, count, describe, eigenvalue_meaning, percent, plural, rounded, short, shown_eigenvalues};

const STYLE: &str = include_str!("report.css");
/// Components in tables at most.
const MOST_ROWS: usize = 20;
/// Points that the other method of the comparison is fitted to at most.
const MOST_COMPARED: usize = 5000;

/// A fitted model with the points that it was fitted to, or that it is shown on.
#[derive(Clone, Copy)]
pub struct ReportedFit<'a> {
    /// The name of the data.
    pub source: &'a str,
    /// Names of the columns that were used.
    pub columns: &'a [String],
    /// The points.
    pub points: &'a Points<f64>,
    /// The model.
    pub model: &'a AnyModel,
    /// The scores of the points.
    pub scores: &'a Points<f64>,
    /// What the colours of the points mean.
    pub colour: &'a Colour,
}

impl<'a> ReportedFit<'a> {
    /// Returns it as something to draw.
    pub fn subject(&self) -> Subject<'a> {
        let ReportedFit { source, columns, points, model, scores, colour } = *self;
        Subject { source, columns, points: Some(points), model: Some(model), scores: Some(scores), colour }
    }
}

impl<'a> TryFrom<Subject<'a>> for ReportedFit<'a> {
    type Error = Unavailable;

    /// Fails without a model or its points.
    fn try_from(subject: Subject<'a>) -> std::result::Result<Self, Unavailable> {
        let Subject { source, columns, scores, colour, .. } = subject;
        let (model, points) = (subject.model()?, subject.points()?);
        let scores = scores.ok_or(Unavailable::NoPoints)?;
        Ok(ReportedFit { source, columns, points, model, scores, colour })
    }
}

/// The contents of a report.
pub struct Report<'a> {
    /// The model and the points.
    pub fitted: ReportedFit<'a>,
    /// Notes about the data, and automatic choices made during the fit.
    pub notes: Vec<String>,
    /// The plan, line by line; empty for a model from a file.
    pub plan: String,
    /// The commands that reproduce the report.
    pub commands: Vec<String>,
}

/// One of the methods that are compared.
struct ComparedMethod {
    name: String,
    shares: Vec<f64>,
    agreement: Option<LabelAgreement>,
    figure: Figure,
}

impl Report<'_> {
    /// Returns the page: self-contained, without scripts, and without requests to anywhere.
    ///
    /// # Errors
    /// When the method to compare with cannot be fitted, a plot cannot be drawn, or the work is cancelled.
    pub fn html(&self, exec: &Exec) -> Result<String> {
        let ReportedFit { source, points, model, .. } = self.fitted;
        let title = format!("{source}: {}", crate::text::title(model));
        let (n, k) = (count(points.n()), model.components());
        let mut body = String::new();
        let _ = write!(
            body,
            "<header><h1>{}</h1><p>{}</p></header>",
            escape(&title),
            escape(&format!(
                "{n} rows, {}; {}{}.",
                plural(points.d(), "numeric column"),
                plural(k, "component"),
                self.explained()
            ))
        );
        self.what_was_done(&mut body);
        for figure in self.figures(exec)? {
            picture(&figure, &mut body)?;
        }
        self.components(&mut body);
        self.numerical_error(&mut body);
        self.comparison(exec, &mut body)?;
        self.dependence_on_width(exec, &mut body)?;
        body += "<section><h2>How to reproduce this report</h2><p>Run this in a shell, in the folder from which the data was read:</p>";
        for command in &self.commands {
            let _ = write!(body, "<pre><code>{}</code></pre>", escape(command));
        }
        let version = env!("CARGO_PKG_VERSION");
        let _ = write!(
            body,
            "<p>mercer {version}. The same command gives bit-identical numbers with any number of threads.</p></section>"
        );
        Ok(format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\
             <title>{}</title><style>{STYLE}</style></head><body><main>{body}</main></body></html>\n",
            escape(&title)
        ))
    }

    /// Every kind of plot that can be drawn of this model.
    fn figures(&self, exec: &Exec) -> Result<Vec<Figure>> {
        let subject = self.fitted.subject();
        let mut figures = Vec::new();
        for kind in PLOT_KINDS {
            match kind.draw(subject, &Look::titled(kind.title), exec) {
                Ok(figure) => figures.push(figure),
                Err(Unavailable::Failed(e)) => return Err(e),
                Err(_) => {}
            }
        }
        Ok(figures)
    }

    /// This model, and the other of PCA and kernel PCA with as many components; the other on a sample of many points.
    fn methods(&self, exec: &Exec) -> Result<Vec<ComparedMethod>> {
        let ReportedFit { points, model, scores, colour, .. } = self.fitted;
        let method = |model: &AnyModel,
                      scores: &Points<f64>,
                      colour: &Colour,
                      sampled: bool|
         -> Result<Option<ComparedMethod>> {
            if scores.d() == 0 {
                return Ok(None);
            }
            let mut name = crate::text::title(model);
            if sampled {
                name += &format!(", of {} points", count(scores.n()));
            }
            Ok(Some(ComparedMethod {
                shares: model.spectrum().map(|s| s.ratios()).unwrap_or_default(),
                agreement: agreement(scores, colour, exec)?,
                figure: Figure {
                    compact: true,
                    ..scores_of(&name, scores, Some(model), colour, Axes::default(), None)
                },
                name,
            }))
        };
        let own = method(model, scores, colour, false)?;
        let some = spread(points.n(), MOST_COMPARED);
        let x = Points::from_fn(some.len(), points.d(), |i, j| points.row(some[i])[j]);
        let components = x.n().min(2);
        let (other, z) = match model {
            AnyModel::KernelPca(kernel) if kernel.kernel().is_some() => {
                let pca = Pca::new().components(components.min(x.d())).standardise(kernel.is_standardised());
                let fitted = pca.fit_with(&x, exec)?;
                let z = fitted.transform_with(&x, exec)?;
                (AnyModel::Pca(fitted), z)
            }
            AnyModel::Pca(pca) => {
                let kernel = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(components);
                let fitted = kernel.standardise(pca.is_standardised()).fit_with(&x, exec)?;
                let z = fitted.scores();
                (AnyModel::KernelPca(fitted), z)
            }
            _ => return Ok(Vec::new()),
        };
        let other = method(&other, &z, &colour.take(&some), some.len() < points.n())?;
        let both = if matches!(model, AnyModel::Pca(_)) { [own, other] } else { [other, own] };
        Ok(both.into_iter().flatten().collect())
    }

    /// The share of the variance that the components explain, as the end of a sentence.
    fn explained(&self) -> String {
        match self.fitted.model.spectrum().map(|s| s.cumulative()) {
            Some(sums) if !sums.is_empty() => {
                let verb = if sums.len() == 1 { "explains" } else { "explain" };
                format!(" {verb} {} of the variance", percent(sums[sums.len() - 1]))
            }
            _ => String::new(),
        }
    }

    fn what_was_done(&self, body: &mut String) {
        let ReportedFit { source, columns, points, model, .. } = self.fitted;
        *body += "<section><h2>What was done, and why</h2><dl>";
        let mut fact = |name: &str, text: &str| {
            let _ = write!(body, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(text));
        };
        let shown = columns.iter().take(12).cloned().collect::<Vec<_>>().join(", ");
        let more = if columns.len() > 12 { ", ..." } else { "" };
        fact("data", &format!("{source}: {} rows; columns {shown}{more}", count(points.n())));
        match self.fitted.colour {
            Colour::None => {}
            Colour::Classes { name, names, .. } => {
                fact("labels", &format!("column {name}, {}; not used in the fit", classes(names.len())));
            }
            Colour::Number { name, .. } => fact("colours", &format!("column {name}")),
        }
        fact("model", &describe(model));
        if let AnyModel::KernelPca(model) = model {
            for choice in model.choices() {
                fact("automatic choice", &choice.to_string());
            }
        }
        for line in self.plan.lines() {
            let (name, text) = line.split_once(' ').unwrap_or((line, ""));
            fact(name, text.trim());
        }
        for note in &self.notes {
            fact("note", note);
        }
        *body += "</dl></section>";
    }

    fn components(&self, body: &mut String) {
        let model = self.fitted.model;
        let Some(spectrum) = model.spectrum() else { return };
        let (values, ratios, sums) = (shown_eigenvalues(model), spectrum.ratios(), spectrum.cumulative());
        let rows = (0..values.len().min(MOST_ROWS))
            .map(|j| vec![component(j), short(values[j]), percent(ratios[j]), percent(sums[j])]);
        *body += "<section><h2>Components</h2>";
        table(&["component", "eigenvalue", "explained", "cumulative"], rows, body);
        let indefinite = matches!(model, AnyModel::KernelPca(m) if m.definiteness().is_some_and(mercer::diagnose::Definiteness::is_indefinite));
        let _ = write!(body, "<p>Eigenvalue: {}. ", escape(eigenvalue_meaning(model)));
        if indefinite {
            *body += "Some eigenvalues are negative: shares are relative to the sum of all magnitudes.</p></section>";
            return;
        }
        let unit = self.unit();
        let _ = write!(
            body,
            "Shares are relative to the total variance: all eigenvalues sum to {}, of which {} is not explained by these \
             components.</p></section>",
            short(unit * spectrum.total()),
            short(unit * spectrum.discarded().max(0.0)),
        );
    }

    /// The factor by which eigenvalues are multiplied where they are shown: those of PCA are shown as variances.
    fn unit(&self) -> f64 {
        match self.fitted.model {
            AnyModel::Pca(m) => 1.0 / m.spectrum().divisor(),
            _ => 1.0,
        }
    }

    fn numerical_error(&self, body: &mut String) {
        let (Some(spectrum), Some(c)) = (self.fitted.model.spectrum(), self.fitted.model.certificate()) else { return };
        *body += "<section><h2>Numerical error</h2><p>The certificate bounds the numerical error: how far the numbers here \
                  can be from those of exact arithmetic on the same data. It says nothing about sampling: how far they are \
                  from those of other data of the same origin.</p>";
        for sentence in in_words(c, self.unit()) {
            let _ = write!(body, "<p>{}</p>", escape(&sentence));
        }
        let values = spectrum.eigenvalues();
        if c.kind() != BoundKind::Unknown && !values.is_empty() {
            let rows = (0..values.len().min(MOST_ROWS)).map(|j| {
                let (below, above) = c.enclosure(j);
                let cluster = c.clusters().iter().find(|k| (k.first..=k.last).contains(&j));
                let angle = match cluster {
                    Some(k) if k.sine >= 1.0 => "not determined".into(),
                    Some(k) => format!("{:.1e}", k.sine.asin()),
                    None => String::new(),
                };
                let end = |v: f64, up: bool| outward(self.unit() * v, up);
                vec![component(j), end(values[j] - below, false), end(values[j] + above, true), angle]
            });
            *body += "<h3>Error bounds</h3>";
            table(&["component", "eigenvalue at least", "at most", "angle at most (rad)"], rows, body);
        }
        *body += "</section>";
    }

    fn comparison(&self, exec: &Exec, body: &mut String) -> Result<()> {
        let methods = self.methods(exec)?;
        if methods.len() < 2 {
            return Ok(());
        }
        *body += "<section><h2>PCA and kernel PCA side by side</h2>";
        let labelled = methods.iter().any(|m| m.agreement.is_some());
        let rows = methods.iter().map(|m| {
            let share = |j: usize| m.shares.get(j).map_or("-".to_string(), |s| percent(*s));
            let mut row = vec![rounded(&m.name), share(0), share(1)];
            if labelled {
                let right = |a: Option<&mercer::k_means::Agreement>| {
                    a.map_or("-".into(), |a| format!("{} of {}", a.correct, a.n))
                };
                row.push(right(m.agreement.as_ref().map(|a| &a.first)));
                row.push(right(m.agreement.as_ref().and_then(|a| a.both.as_ref())));
            }
            row
        });
        let header = ["method", "PC1 explains", "PC2 explains", "k-means on PC1", "on PC1 and PC2"];
        table(&header[..if labelled { 5 } else { 3 }], rows, body);
        if labelled {
            *body += "<p>k-means does not use the labels; the table counts the points whose cluster matches their label.</p>";
        }
        *body += "<div class=\"pair\">";
        for method in &methods {
            picture(&method.figure, body)?;
        }
        *body += "</div></section>";
        Ok(())
    }

    fn dependence_on_width(&self, exec: &Exec, body: &mut String) -> Result<()> {
        let AnyModel::KernelPca(model) = self.fitted.model else { return Ok(()) };
        let Some(kernel) = model.kernel() else { return Ok(()) };
        let points = self.fitted.points;
        let seen = if model.is_standardised() { &standardised(points, exec)? } else { points };
        let Some(sweep) = sweep(kernel, seen, exec)? else { return Ok(()) };
        let text = match sweep.interval {
            Some((low, high)) => {
                let (first, last) = (sweep.steps.first(), sweep.steps.last());
                let (first, last) = (first.map_or(low, |s| s.value), last.map_or(high, |s| s.value));
                let ends = match (low <= first, high >= last) {
                    (false, false) => "outside this range, a step of a factor 1.4 changes it by less than 5 %",
                    (false, true) => {
                        "below, a step of a factor 1.4 changes it by less than 5 %; larger values were not tried"
                    }
                    (true, false) => {
                        "above, a step of a factor 1.4 changes it by less than 5 %; smaller values were not tried"
                    }
                    (true, true) => "values outside this range were not tried",
                };
                format!(
                    "{} values of {} were tried, from {} to {}. The plot of the first two components changes between {} \
                     and {}; {ends}.",
                    sweep.steps.len(),
                    sweep.parameter,
                    short(first),
                    short(last),
                    short(low),
                    short(high)
                )
            }
            None => format!("No step of {} changes the plot by more than 5 %.", sweep.parameter),
        };
        let _ = write!(
            body,
            "<section><h2>Dependence on {}</h2><p>{} Computed on {} points.</p></section>",
            escape(sweep.parameter),
            escape(&text),
            count(sweep.sampled)
        );
        Ok(())
    }
}

/// A certificate in sentences: what is proved, what is likely, and what is an estimate.
fn in_words(c: &Certificate, unit: f64) -> Vec<String> {
    let mut said: Vec<String> = c
        .statements()
        .iter()
        .map(|statement| {
            let mut letters = statement.text.chars();
            let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
            format!("{first}{}. {}", letters.as_str(), kind_in_words(statement.confidence))
        })
        .collect();
    if c.kind() != BoundKind::Unknown {
        said.push(format!("Every bound includes an allowance of {:.1e} for rounding.", unit * c.rounding()));
    }
    said
}

/// How sure a statement is, as a sentence.
fn kind_in_words(confidence: Confidence) -> String {
    match confidence {
        Confidence::Theorem => "This is a theorem.".into(),
        Confidence::Probability { failure } => {
            format!("This holds except with probability {failure:.0e} over the random probes.")
        }
        _ => "This is an estimate.".into(),
    }
}

/// The end of an enclosure with eight digits, rounded away from the enclosed number: down, or up.
fn outward(v: f64, up: bool) -> String {
    let text = format!("{v:.7e}");
    let shown: f64 = text.parse().unwrap_or(v);
    let inside = if up { shown < v } else { shown > v };
    if !inside || !v.is_finite() || v == 0.0 {
        return text;
    }
    // One unit of the last digit.
    let step = 10f64.powi(v.abs().log10().floor() as i32 - 7);
    format!("{:.7e}", if up { shown + step } else { shown - step })
}

fn picture(figure: &Figure, body: &mut String) -> Result<()> {
    // A plot of many marks is a smaller file as PNG.
    let (kind, format) = if figure.marks() > 3000 { ("png", ImageFormat::Png) } else { ("svg+xml", ImageFormat::Svg) };
    // Drawn small, so that the text is large enough to read on a phone.
    let small = Figure { compact: true, ..figure.clone() };
    let data = base64::engine::general_purpose::STANDARD.encode(small.file(format)?);
    let class = if figure.panels.len() > 1 { " class=\"panels\"" } else { "" };
    let says = if figure.note.is_empty() { figure.title.clone() } else { format!("{}: {}", figure.title, figure.note) };
    let _ =
        write!(body, "<figure{class}><img alt=\"{}\" src=\"data:image/{kind};base64,{data}\"></figure>", escape(&says));
    Ok(())
}

fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>, body: &mut String) {
    *body += "<div class=\"wide\"><table><thead><tr>";
    for name in header {
        let _ = write!(body, "<th scope=\"col\">{}</th>", escape(name));
    }
    *body += "</tr></thead><tbody>";
    for row in rows {
        *body += "<tr>";
        for cell in row {
            let _ = write!(body, "<td>{}</td>", escape(&cell));
        }
        *body += "</tr>";
    }
    *body += "</tbody></table></div>";
}

/// A number of classes with its word.
fn classes(n: usize) -> String {
    format!("{} {}", count(n), if n == 1 { "class" } else { "classes" })
}

/// Text as HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::outward;

    #[test]
    fn ends_of_enclosures_are_rounded_outwards() {
        for v in [1.23456789, -1.23456789, 9.99999999, 3.3e-300, 1.0, -0.1, 123456.789, 0.0] {
            let (low, high): (f64, f64) =
                (outward(v, false).parse().expect("a number"), outward(v, true).parse().expect("a number"));
            assert!(low <= v && v <= high, "{low} {v} {high}");
            assert!(high - low <= 2.1e-7 * v.abs(), "{low} {v} {high}");
        }
    }
}
