//! The report: one page with everything in it, for people who were not there.

use std::fmt::Write;

use base64::Engine;
use mercer::{AnyModel, Certificate, Exec, Gamma, Kernel, KernelPca, Kind, Pca, Points, Result, sweep};

use crate::agreement::{Agreed, agreement};
use crate::colour::Colour;
use crate::contours::{contours, on_points};
use crate::draw::ImageFormat;
use crate::figure::{Figure, spread};
use crate::gram::gram;
use crate::loadings::loadings;
use crate::reconstruction::{reconstruction, widest};
use crate::scores::{Axes, scores as scores_of};
use crate::scree::scree;
use crate::tables::standardised;
use crate::text::{component, count, describe, eigenvalue_meaning, percent, plural, rounded, short, shown_eigenvalues};

const STYLE: &str = include_str!("report.css");
/// Components in tables.
const MOST_ROWS: usize = 20;

/// Points that the other method of the comparison is fitted to at most.
const MOST_COMPARED: usize = 5000;

/// A fitted model with what it was fitted to, or shown on.
#[derive(Clone, Copy)]
pub struct Fitted<'a> {
    /// What the data is called.
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

/// What a report tells.
pub struct Report<'a> {
    /// The model and the points.
    pub fitted: Fitted<'a>,
    /// What was found out about the data and decided on the way.
    pub notes: Vec<String>,
    /// The plan, line by line; empty for a model from a file.
    pub plan: String,
    /// The commands that make all of this again.
    pub commands: Vec<String>,
}

/// One of the methods that are compared.
struct Method {
    name: String,
    shares: Vec<f64>,
    agreed: Option<Agreed>,
    figure: Figure,
}

impl Report<'_> {
    /// The page, complete in itself: no scripts, and nothing is fetched from anywhere.
    ///
    /// # Errors
    /// What fitting the method to compare with says, when the work is cancelled, and when a picture cannot be drawn.
    pub fn html(&self, exec: &Exec) -> Result<String> {
        let Fitted { source, points, model, .. } = self.fitted;
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
                self.kept()
            ))
        );
        self.done(&mut body);
        for figure in self.figures(exec)? {
            picture(&figure, &mut body)?;
        }
        self.spectrum(&mut body);
        self.certificate(&mut body);
        self.compared(exec, &mut body)?;
        self.swept(exec, &mut body)?;
        body += "<section><h2>Make it again</h2><p>In a shell, where the data is found under this name:</p>";
        for command in &self.commands {
            let _ = write!(body, "<pre><code>{}</code></pre>", escape(command));
        }
        let version = env!("CARGO_PKG_VERSION");
        let _ = write!(
            body,
            "<p>mercer {version}. The same command gives the same numbers, to the last bit, on any number of threads.</p></section>"
        );
        Ok(format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\
             <title>{}</title><style>{STYLE}</style></head><body><main>{body}</main></body></html>\n",
            escape(&title)
        ))
    }

    /// What there is to see of this model.
    fn figures(&self, exec: &Exec) -> Result<Vec<Figure>> {
        let Fitted { columns, points, model, scores, colour, .. } = self.fitted;
        if scores.d() == 0 {
            return Ok(Vec::new());
        }
        let mut figures = vec![scores_of("Scores", scores, Some(model), colour, Axes::default(), None)];
        figures.extend(scree("Shares of the variance", model));
        if let AnyModel::Pca(pca) = model {
            let names = pca.embedding().names(columns);
            figures.push(loadings("Scores and loadings", pca, &names, Some(scores), colour, Axes::default()));
        }
        if points.d() == 2 && on_points(model) {
            figures.push(contours("Each component over the plane of the data", model, points, columns, colour, exec)?);
        }
        if let AnyModel::KernelPca(kernel) = model {
            figures.extend(gram("Gram matrix", kernel, points, scores, colour, exec)?);
        }
        if points.d() >= 2 {
            figures.extend(reconstruction(
                "Data, and what is kept of it",
                model,
                points,
                columns,
                widest(points),
                exec,
            )?);
        }
        Ok(figures)
    }

    /// This model, and the other of PCA and kernel PCA with as many components; the other on a sample of many points.
    fn methods(&self, exec: &Exec) -> Result<Vec<Method>> {
        let Fitted { points, model, scores, colour, .. } = self.fitted;
        let method =
            |model: &AnyModel, scores: &Points<f64>, colour: &Colour, sampled: bool| -> Result<Option<Method>> {
                if scores.d() == 0 {
                    return Ok(None);
                }
                let mut name = crate::text::title(model);
                if sampled {
                    name += &format!(", of {} points", count(scores.n()));
                }
                Ok(Some(Method {
                    shares: model.spectrum().map(|s| s.ratios()).unwrap_or_default(),
                    agreed: agreement(scores, colour, exec)?,
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

    fn kept(&self) -> String {
        match self.fitted.model.spectrum().map(|s| s.cumulative()) {
            Some(sums) if !sums.is_empty() => {
                let verb = if sums.len() == 1 { "explains" } else { "explain" };
                format!(" {verb} {} of the variance", percent(sums[sums.len() - 1]))
            }
            _ => String::new(),
        }
    }

    fn done(&self, body: &mut String) {
        let Fitted { source, columns, points, model, .. } = self.fitted;
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
                fact("labels", &format!("column {name}, {} of them: not computed with", names.len()));
            }
            Colour::Number { name, .. } => fact("colours", &format!("column {name}")),
        }
        fact("model", &describe(model));
        if let AnyModel::KernelPca(model) = model {
            for choice in model.choices() {
                fact("chosen", &format!("{choice}, since no number was given"));
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

    fn spectrum(&self, body: &mut String) {
        let model = self.fitted.model;
        let Some(spectrum) = model.spectrum() else { return };
        let (values, ratios, sums) = (shown_eigenvalues(model), spectrum.ratios(), spectrum.cumulative());
        let rows = (0..values.len().min(MOST_ROWS))
            .map(|j| vec![component(j), short(values[j]), percent(ratios[j]), percent(sums[j])]);
        *body += "<section><h2>Components</h2>";
        table(&["component", "eigenvalue", "explained", "cumulative"], rows, body);
        let indefinite = matches!(model, AnyModel::KernelPca(m) if m.definiteness().is_some_and(mercer::Definiteness::is_indefinite));
        let _ = write!(body, "<p>Eigenvalue: {}. ", escape(eigenvalue_meaning(model)));
        if indefinite {
            *body += "Some eigenvalues are negative: shares are of the sum of all magnitudes.</p></section>";
            return;
        }
        let unit = self.unit();
        let _ = write!(
            body,
            "Shares are of the whole variance, not of what was kept: {} of {}, the sum of all eigenvalues, is left out.</p></section>",
            short(unit * spectrum.discarded().max(0.0)),
            short(unit * spectrum.total()),
        );
    }

    /// What eigenvalues are multiplied by where they are shown: those of PCA are shown as variances.
    fn unit(&self) -> f64 {
        match self.fitted.model {
            AnyModel::Pca(m) => 1.0 / m.spectrum().divisor(),
            _ => 1.0,
        }
    }

    fn certificate(&self, body: &mut String) {
        let (Some(spectrum), Some(c)) = (self.fitted.model.spectrum(), self.fitted.model.certificate()) else { return };
        *body += "<section><h2>How far this can be from the truth</h2>";
        for sentence in in_words(c, self.unit()) {
            let _ = write!(body, "<p>{}</p>", escape(&sentence));
        }
        let values = spectrum.eigenvalues();
        if c.kind() != Kind::Unknown && !values.is_empty() {
            let rows = (0..values.len().min(MOST_ROWS)).map(|j| {
                let (below, above) = c.enclosure(j);
                let cluster = c.clusters().iter().find(|k| (k.first..=k.last).contains(&j));
                let angle = match cluster {
                    Some(k) if k.sine >= 1.0 => "open".into(),
                    Some(k) => format!("{:.1e}", k.sine.asin()),
                    None => String::new(),
                };
                let end = |v: f64| format!("{:.7e}", self.unit() * v);
                vec![component(j), end(values[j] - below), end(values[j] + above), angle]
            });
            *body += "<h3>The bounds in numbers</h3>";
            table(&["component", "eigenvalue at least", "at most", "angle at most (rad)"], rows, body);
        }
        *body += "</section>";
    }

    fn compared(&self, exec: &Exec, body: &mut String) -> Result<()> {
        let methods = self.methods(exec)?;
        if methods.len() < 2 {
            return Ok(());
        }
        *body += "<section><h2>PCA and kernel PCA side by side</h2>";
        let labelled = methods.iter().any(|m| m.agreed.is_some());
        let rows = methods.iter().map(|m| {
            let share = |j: usize| m.shares.get(j).map_or("-".to_string(), |s| percent(*s));
            let mut row = vec![rounded(&m.name), share(0), share(1)];
            if labelled {
                let right =
                    |a: Option<&mercer::Agreement>| a.map_or("-".into(), |a| format!("{} of {}", a.correct, a.n));
                row.push(right(m.agreed.as_ref().map(|a| &a.first)));
                row.push(right(m.agreed.as_ref().and_then(|a| a.both.as_ref())));
            }
            row
        });
        let header = ["method", "PC1 explains", "PC2 explains", "k-means on PC1", "on PC1 and PC2"];
        table(&header[..if labelled { 5 } else { 3 }], rows, body);
        if labelled {
            *body += "<p>k-means knows nothing of the labels; what is counted is how many points fall into the right cluster.</p>";
        }
        *body += "<div class=\"pair\">";
        for method in &methods {
            picture(&method.figure, body)?;
        }
        *body += "</div></section>";
        Ok(())
    }

    fn swept(&self, exec: &Exec, body: &mut String) -> Result<()> {
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
                    (false, false) => "outside, a step of a factor 1.4 changes it by less than 5 %",
                    (false, true) => {
                        "below, a step of a factor 1.4 changes it by less than 5 %; above, nothing was tried"
                    }
                    (true, false) => {
                        "above, a step of a factor 1.4 changes it by less than 5 %; below, nothing was tried"
                    }
                    (true, true) => "beyond, nothing was tried",
                };
                format!(
                    "{} values of {} were tried, from {} to {}. The picture of the first two components changes between {} \
                     and {}; {ends}.",
                    sweep.steps.len(),
                    sweep.parameter,
                    short(first),
                    short(last),
                    short(low),
                    short(high)
                )
            }
            None => format!("The picture does not change with {} by more than 5 % a step.", sweep.parameter),
        };
        let _ = write!(
            body,
            "<section><h2>How it depends on {}</h2><p>{} Seen on {} points.</p></section>",
            escape(sweep.parameter),
            escape(&text),
            count(sweep.sampled)
        );
        Ok(())
    }
}

/// A certificate in whole sentences: what is a theorem, what is likely, and what is an estimate.
fn in_words(c: &Certificate, unit: f64) -> Vec<String> {
    if c.kind() == Kind::Unknown {
        return vec![format!("{c}.")];
    }
    let mut said = vec![format!("In short: {c}.")];
    said.push(match c.kind() {
        Kind::AllPairs => "All eigenvalues were computed, so that none can have been missed: certain.".to_string(),
        Kind::Trace => "The sum of all eigenvalues is known and none is negative, so that no larger one can have been missed: certain.".into(),
        Kind::Frobenius => "The sum of the squares of all eigenvalues is known, so that no larger one can have been missed: certain.".into(),
        Kind::Probes { failure } => format!(
            "That no larger eigenvalue was missed was found out with random vectors; it holds but for a chance of {failure:.0e}."
        ),
        Kind::Unknown => String::new(),
    });
    said.push(format!(
        "How far an eigenvalue can be off follows from the measured residuals by theorems. An allowance of {:.1e} for rounding \
         is in every bound; it is an estimate of first order with generous constants, not a proof.",
        unit * c.rounding()
    ));
    said
}

fn picture(figure: &Figure, body: &mut String) -> Result<()> {
    // Pictures of many marks are smaller as pixels.
    let (kind, format) = if figure.marks() > 3000 { ("png", ImageFormat::Png) } else { ("svg+xml", ImageFormat::Svg) };
    // Small, so that letters can be read on a phone.
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

/// Text that a browser shows as it is.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}
