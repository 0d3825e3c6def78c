//! Text and numbers as all fronts show them.

pub use mercer::text::short;
use mercer::{AnyModel, Embedding, Kernel, Spec, Spectrum};

/// Returns the name of component j, counted from 0.
pub fn component(j: usize) -> String {
    format!("PC{}", j + 1)
}

/// Formats a count with separated thousands.
pub fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    text
}

/// Returns the eigenvalues as they are shown: variances for PCA, eigenvalues of HKH for kernel PCA.
pub fn shown_eigenvalues(model: &AnyModel) -> Vec<f64> {
    model.spectrum().map_or_else(Vec::new, Spectrum::shown)
}

/// Describes what [`shown_eigenvalues`] returns.
pub fn eigenvalue_meaning(model: &AnyModel) -> &'static str {
    model.spectrum().map_or("", Spectrum::meaning)
}

/// Describes a model.
pub fn describe(model: &AnyModel) -> String {
    match model {
        AnyModel::Pca(m) => {
            let words = describe_pca(m.is_centered(), m.is_standardised(), m.is_whitened(), m.embedding());
            format!("{words}, by the {} route", m.route().name())
        }
        AnyModel::KernelPca(m) => describe_kernel(m.kernel(), m.is_standardised()),
        AnyModel::Nystroem(m) => {
            format!("features of the kernel {} from {} landmarks", m.kernel(), count(m.landmarks().n()))
        }
        _ => "unknown kind of model".into(),
    }
}

/// Describes what is to be fitted.
pub fn describe_spec(spec: &Spec) -> String {
    match spec {
        Spec::Pca(p) => describe_pca(p.get_center(), p.get_standardise(), p.get_whiten(), p.get_embedding()),
        Spec::KernelPca(k) => describe_kernel(k.get_kernel(), k.get_standardise()),
        _ => "unknown kind of model".into(),
    }
}

/// Describes a kernel model; no kernel means a given Gram matrix.
pub fn describe_kernel(kernel: Option<&Kernel>, scaled: bool) -> String {
    match kernel {
        None => "kernel PCA of a given Gram matrix".into(),
        Some(kernel) if scaled => format!("kernel PCA, {kernel}, columns divided by their standard deviation"),
        Some(kernel) => format!("kernel PCA, {kernel}"),
    }
}

/// Describes a PCA.
pub fn describe_pca(centered: bool, scaled: bool, whitened: bool, embedding: &Embedding) -> String {
    let mut text = String::from(if centered { "PCA, centred" } else { "PCA, not centred" });
    if scaled {
        text += ", columns divided by their standard deviation";
    }
    if whitened {
        text += ", whitened";
    }
    if *embedding != Embedding::Identity {
        text += &format!(", of {embedding}");
    }
    text
}

/// Returns a short name of a model for titles, with numbers to four digits.
pub fn title(model: &AnyModel) -> String {
    match model {
        AnyModel::Pca(m) if *m.embedding() == Embedding::Identity => "PCA".into(),
        AnyModel::Pca(m) => format!("PCA of {}", m.embedding()),
        AnyModel::KernelPca(m) => match m.kernel() {
            Some(kernel) => format!("kernel PCA, {}", rounded(&kernel.to_string())),
            None => "kernel PCA of a given Gram matrix".into(),
        },
        other => describe(other),
    }
}

/// Rounds the long numbers in a text to four significant digits.
pub fn rounded(text: &str) -> String {
    let mut out = String::new();
    let mut number = String::new();
    let flush = |number: &mut String, out: &mut String| {
        match number.parse::<f64>() {
            Ok(v) if number.len() > 6 && v != 0.0 => {
                let figures = 10f64.powi(3 - v.abs().log10().floor() as i32);
                let v = (v * figures).round() / figures;
                *out += &if (1e-4..1e7).contains(&v.abs()) { format!("{v}") } else { format!("{v:e}") };
            }
            _ => *out += number,
        }
        number.clear();
    };
    for c in text.chars() {
        let of_number = c.is_ascii_digit()
            || (c == '.' && !number.is_empty())
            || (c == 'e' && number.ends_with(|d: char| d.is_ascii_digit()))
            || (c == '-' && number.ends_with('e'));
        if !of_number {
            flush(&mut number, &mut out);
            out.push(c);
        } else {
            number.push(c);
        }
    }
    flush(&mut number, &mut out);
    out
}

/// Formats a count with its noun: `1 component`, `3 components`.
pub fn plural(n: usize, word: &str) -> String {
    format!("{} {word}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Formats a fraction of one as percent.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Returns a text that is safe to show on a terminal: control characters other than line breaks are written as escapes.
/// Names of files and columns may have any.
pub fn printable(text: &str) -> String {
    let escaped = |c: char| c.is_control() && c != '\n';
    if !text.contains(escaped) {
        return text.into();
    }
    let one = |c: char| if escaped(c) { c.escape_debug().to_string() } else { c.to_string() };
    text.chars().map(one).collect()
}

/// Joins words into a line for a shell, quoted where needed.
pub fn shell(words: &[String]) -> String {
    let plain = |w: &String| !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c));
    let quoted = words.iter().map(|w| if plain(w) { w.clone() } else { format!("'{}'", w.replace('\'', "'\\''")) });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_not_printed() {
        assert_eq!(printable("a\u{1b}[2J\u{7}\u{9b}1m\u{7f}\tb\nc é"), "a\\u{1b}[2J\\u{7}\\u{9b}1m\\u{7f}\\tb\nc é");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(4.228241706), "4.22824");
        assert_eq!(short(150.0), "150");
        assert_eq!(short(0.0), "0");
        assert_eq!(short(-0.05), "-0.05");
        assert_eq!(short(1.5e-9), "1.50000e-9");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(12), "12");
        assert_eq!(rounded("gaussian(gamma=0.123456789) + x1"), "gaussian(gamma=0.1235) + x1");
        assert_eq!(rounded("matern(nu=3/2, length=123456.789)"), "matern(nu=3/2, length=123500)");
        assert_eq!(rounded("laplacian(gamma=1.23456789e-9)"), "laplacian(gamma=1.235e-9)");
    }
}
