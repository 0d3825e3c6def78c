//! "Copy as": commands and code that give the result of the page.

use std::collections::HashMap;
use std::fmt::Write;

use mercer::{Kernel, Spec};
use mercer_io::{Format, Header, ReadOptions};
use mercer_view::shell;

use crate::data::{MissingChoice, Origin};
use crate::selection::Selection;

/// What was fitted to what.
pub(crate) struct Texts<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) selection: &'a Selection,
    /// Components that were found.
    pub(crate) found: usize,
    pub(crate) seed: u64,
}

impl Texts<'_> {
    /// Whether the columns are all numeric ones but the label.
    fn are_usual(&self) -> bool {
        let Selection { data, choice, columns, .. } = self.selection;
        data.usual_columns(choice.label.as_deref()) == *columns
    }

    /// What must be done first, as a comment.
    fn first(&self) -> Option<String> {
        (self.selection.data.name == "-")
            .then(|| format!("# the data was read from standard input: save it as {} first", self.file()))
    }

    /// The file name of the data.
    fn file(&self) -> String {
        match self.selection.data.name.as_str() {
            "-" => "data.csv".into(),
            name if name.starts_with('-') => format!("./{name}"),
            name => name.into(),
        }
    }

    /// The spec and the choice of data as options of the command.
    fn options(&self) -> Vec<String> {
        let Texts { spec, selection: Selection { data, choice, columns, .. }, .. } = self;
        let mut words = Vec::new();
        // A value that begins with a hyphen is joined to its option by an equals sign.
        let mut add = |option: &str, value: &str| match value.starts_with('-') {
            true => words.push(format!("{option}={value}")),
            false => words.extend([option.to_string(), value.to_string()]),
        };
        let usual = self.are_usual();
        if !usual {
            // A name that has another meaning in a list is given by its number.
            let plain = |name: &String| !name.is_empty() && !name.contains([',', ':', '!', '@']) && name.trim() == name;
            let names = data.table.columns.iter().enumerate();
            let places: HashMap<&str, usize> = names.map(|(place, c)| (c.name.as_str(), place)).collect();
            let item = |name: &String| match places.get(name.as_str()) {
                Some(place) if !plain(name) || name.parse::<usize>().is_ok() => (place + 1).to_string(),
                _ => name.clone(),
            };
            add("--select", &columns.iter().map(item).collect::<Vec<_>>().join(","));
        }
        // The command knows the label of an embedded data set, unless columns or another label are chosen.
        let known = data.origin == Origin::Embedded && usual;
        match &choice.label {
            Some(label) if !(known && data.label == choice.label) => add("--label", label),
            _ => {}
        }
        let kept = data.as_text.iter().filter(|name| choice.label.as_ref() != Some(name));
        for name in kept.filter(|_| !(known && choice.label.is_none())) {
            add("--id", name);
        }
        match choice.missing {
            MissingChoice::Error => {}
            MissingChoice::Mean => add("--missing", "mean"),
            MissingChoice::Drop => add("--missing", "drop"),
        }
        if let Some(kernel) = spec.kernel() {
            add("--kernel", &short(kernel));
        }
        if spec.is_standardised() {
            words.push("--scale".into());
        }
        words.extend(["-k".into(), spec.components().to_string()]);
        if self.seed != 0 {
            words.extend(["--seed".into(), self.seed.to_string()]);
        }
        if let Origin::File { options, .. } = &data.origin {
            words.extend(options.iter().cloned());
        }
        words
    }

    /// Returns a command, `fit` or `report`, for the same result.
    pub(crate) fn command(&self, verb: &str, output: &str) -> String {
        let mut words = vec!["mercer".to_string(), verb.into(), self.file()];
        words.extend(self.options());
        words.extend(["-o".to_string(), output.into()]);
        self.first().into_iter().chain([shell(&words)]).collect::<Vec<_>>().join("\n")
    }

    /// Returns Python code for the same result.
    pub(crate) fn python(&self) -> String {
        let Texts { spec, selection: Selection { data, choice, columns, .. }, found, .. } = self;
        let k = found.max(&1);
        // A JSON string is also a Python string.
        let quote = |text: &str| serde_json::to_string(text).unwrap_or_default();
        let list = |names: &[String]| names.iter().map(|n| quote(n)).collect::<Vec<_>>().join(", ");
        let names: Vec<String> = data.table.columns.iter().map(|c| c.name.clone()).collect();
        let mut text = String::from("import mercer\n");
        let mut file = self.file();
        let mut also = String::new();
        match &data.origin {
            Origin::Embedded => {
                also = format!("# mercer data {file} -o {file}.csv\n");
                file += ".csv";
            }
            Origin::File { .. } | Origin::Dropped => {}
        }
        also.extend(self.first().map(|line| line + "\n"));
        let how = match &data.origin {
            // As `mercer data` writes it.
            Origin::Embedded => ReadOptions { delimiter: Some(b','), ..ReadOptions::default() },
            Origin::File { .. } | Origin::Dropped => data.how.clone(),
        };
        let format = how.format.or_else(|| Format::of_name(&file)).unwrap_or(Format::CSV);
        let read = format.pandas(&file, &names, &how);
        text += &read.imports;
        let read = read.expression;
        let _ = writeln!(text, "import pandas as pd\n\n{also}table = {read}");
        let text_columns = data.table.columns.iter().any(|c| !c.is_numeric() && Some(&c.name) != choice.label.as_ref());
        let _ = match &choice.label {
            Some(label) if self.are_usual() && !text_columns => {
                writeln!(text, "X = table.drop(columns={})", quote(label))
            }
            None if self.are_usual() && !text_columns => writeln!(text, "X = table"),
            _ => writeln!(text, "X = table[[{}]]", list(columns)),
        };
        match choice.missing {
            MissingChoice::Error => {}
            MissingChoice::Mean => text += "X = X.fillna(X.mean())\n",
            MissingChoice::Drop => text += "X = X.dropna()\n",
        }
        let seed = if self.seed == 0 { String::new() } else { format!(", random_state={}", self.seed) };
        let scale = spec.is_standardised();
        let _ = match spec.kernel() {
            Some(kernel) => {
                if scale {
                    text += "X = (X - X.mean()) / X.std().replace(0, 1)\n";
                }
                // In Python a bare name has scikit-learn's defaults, so all parameters are written out.
                writeln!(text, "model = mercer.KernelPCA({k}, kernel={}{seed})", quote(&kernel.to_string()))
            }
            None if scale => writeln!(text, "model = mercer.PCA({k}, scale=True)"),
            None => writeln!(text, "model = mercer.PCA({k})"),
        };
        text += "scores = model.fit_transform(X)\nprint(model.certificate_)\n";
        text
    }

    /// Returns Rust code for the same result.
    pub(crate) fn rust(&self) -> String {
        let Texts { spec, selection: Selection { data, choice, columns, .. }, .. } = self;
        let k = spec.components();
        let mut text = self.first().map(|line| line.replace('#', "//") + "\n").unwrap_or_default();
        let exec = if self.seed == 0 { "" } else { "Exec, " };
        let _ = match spec.kernel() {
            Some(_) => writeln!(text, "use mercer::{{{exec}Kernel, KernelPca}};"),
            None => writeln!(text, "use mercer::Pca;"),
        };
        let missing = match choice.missing {
            MissingChoice::Error => None,
            MissingChoice::Mean => Some("Mean"),
            MissingChoice::Drop => Some("Drop"),
        };
        let how = &data.how;
        let mut options = Vec::new();
        if let Some(format) = how.format {
            options.push(format!("format: Some(Format::{})", format.name().to_uppercase()));
        }
        if let Some(delimiter) = how.delimiter {
            options.push(format!("delimiter: Some(b{:?})", char::from(delimiter)));
        }
        if how.header != Header::Auto {
            options.push(format!("header: Header::{:?}", how.header));
        }
        if how.skip > 0 {
            options.push(format!("skip: {}", how.skip));
        }
        let mut uses = vec!["Table"];
        uses.extend(how.format.map(|_| "Format"));
        uses.extend((how.header != Header::Auto).then_some("Header"));
        uses.extend(missing.map(|_| "Missing"));
        uses.extend(if options.is_empty() { &["read"][..] } else { &["ReadOptions", "read_with"] });
        uses.sort_by_key(|name| (name.starts_with('r'), *name));
        let _ = writeln!(text, "use mercer_io::{{{}}};\n", uses.join(", "));
        let file = self.file();
        let _ = match options.is_empty() {
            true => writeln!(text, "let table = read({file:?})?;"),
            false => {
                let options = options.join(", ");
                let _ = writeln!(text, "let options = ReadOptions {{ {options}, ..Default::default() }};");
                writeln!(text, "let table = read_with({file:?}, &options)?;")
            }
        };
        let names: Vec<String> = columns.iter().map(|c| format!("{c:?}")).collect();
        let _ = writeln!(text, "let columns = [{}];", names.join(", "));
        text += "let columns = columns.iter().map(|c| table.column(c).cloned()).collect::<Result<_, _>>()?;\n";
        let _ = match missing {
            None => writeln!(text, "let x = Table::new(\"x\", columns)?.points()?;"),
            Some(missing) => {
                text += "let mut x = Table::new(\"x\", columns)?;\n";
                let _ = writeln!(text, "x.resolve_missing(Missing::{missing}, &mut Table::new(\"\", vec![])?)?;");
                writeln!(text, "let x = x.points()?;")
            }
        };
        let scale = if spec.is_standardised() { ".standardise(true)" } else { "" };
        match spec.kernel() {
            Some(kernel) => {
                let fit = match self.seed {
                    0 => "fit(&x)".to_string(),
                    seed => format!("fit_with(&x, &Exec::new().seed({seed}))"),
                };
                let _ = writeln!(text, "let kernel: Kernel = {:?}.parse()?;", short(kernel));
                let _ = writeln!(text, "let model = KernelPca::new(kernel).components({k}){scale}.{fit}?;");
                text += "let scores = model.scores();\n";
            }
            None => {
                let _ = writeln!(text, "let model = Pca::new().components({k}){scale}.fit(&x)?;");
                text += "let scores = model.transform(&x)?;\n";
            }
        }
        text += "println!(\"{}\", model.certificate());\n";
        text
    }
}

/// The text of a kernel: its name alone where that means the same.
fn short(kernel: &Kernel) -> String {
    let text = kernel.to_string();
    match text.split_once('(') {
        Some((name, _)) if name.parse().as_ref() == Ok(kernel) => name.into(),
        _ => text,
    }
}
