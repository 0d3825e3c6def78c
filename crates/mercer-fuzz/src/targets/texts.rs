//! Texts that users write: kernels, embeddings, selections of columns, and specs in JSON.

use mercer::{Embedding, Exec, Kernel, KernelPca, Landmarks, Pca, Source, Spec};
use mercer_io::{Column, Table, select};
use serde_json::Value;

use super::Target;
use super::models::points;
use crate::dice::Dice;
use crate::mutate;

pub(super) fn targets() -> Vec<Box<dyn Target>> {
    let of = |name, valid, words, read| Box::new(Text { name, valid, words, read }) as Box<dyn Target>;
    vec![
        of("kernel", KERNELS, KERNEL_WORDS, kernel),
        of("embedding", EMBEDDINGS, KERNEL_WORDS, embedding),
        of("select", SELECTIONS, SELECT_WORDS, selection),
        Box::new(SpecJson { valid: specs() }),
    ]
}

const KERNELS: &[&str] = &[
    "gaussian",
    "gaussian(gamma=0.5)",
    "gaussian(length=[1, 0.5, 2])",
    "0.1*gaussian(gamma=scale) + linear * matern(nu=5/2)",
    "normalised(polynomial(degree=3, coef0=0.7)) + 2*laplacian",
    "sigmoid(gamma=0.05, coef0=-1)",
    "periodic(period=2) * rational_quadratic(alpha=1)",
    "chi2(gamma=1)",
    "gamma_exponential(exponent=1.5)",
    "tanimoto + cosine",
];

const EMBEDDINGS: &[&str] =
    &["identity", "monomials(degree=2)", "monomials_up_to(degree=3, offset=0.5)", "monomials(2)", "monomials_up_to(2)"];

const SELECTIONS: &[&str] = &["a,b", "!b", "a:who", "4:5", "@numbers,!2", "@text", "c-d,e:a", "1,1,1"];

const KERNEL_WORDS: &[&[u8]] = &[
    b"(",
    b")",
    b"+",
    b"*",
    b",",
    b"=",
    b"[",
    b"]",
    b"/",
    b"-",
    b" ",
    b"1e308",
    b"-1",
    b"0",
    b"nan",
    b"inf",
    b"1e-320",
    b"99999999999",
    b"gamma",
    b"degree",
    b"median",
    b"linear",
    b"gaussian",
    b"normalised(",
    b"monomials",
    b"\xc3\xa9",
];

const SELECT_WORDS: &[&[u8]] =
    &[b",", b"!", b":", b"@", b"a", b"who", b"1", b"0", b"-1", b"99", b"18446744073709551616", b" ", b"\xc3\xa9"];

struct Text {
    name: &'static str,
    valid: &'static [&'static str],
    words: &'static [&'static [u8]],
    read: fn(&str) -> Result<bool, String>,
}

impl Target for Text {
    fn name(&self) -> &'static str {
        self.name
    }

    fn input(&self, dice: &mut Dice) -> Vec<u8> {
        let text = *dice.pick(self.valid);
        mutate::text(dice, text.as_bytes(), self.words)
    }

    fn read(&self, input: &[u8]) -> Result<bool, String> {
        // Arguments of the command and of Python are UTF-8 already.
        (self.read)(&String::from_utf8_lossy(input))
    }
}

fn kernel(text: &str) -> Result<bool, String> {
    let Ok(kernel) = text.parse::<Kernel>() else { return Ok(false) };
    let again = kernel.to_string().parse::<Kernel>();
    if again.as_ref() != Ok(&kernel) {
        return Err(format!("{kernel} is read as {again:?}"));
    }
    let _ = KernelPca::new(kernel).components(2).fit(&points(6, 3));
    Ok(true)
}

fn embedding(text: &str) -> Result<bool, String> {
    let Ok(embedding) = text.parse::<Embedding>() else { return Ok(false) };
    let again = embedding.to_string().parse::<Embedding>().map(|e| e.to_string());
    if again != Ok(embedding.to_string()) {
        return Err(format!("{embedding} is read as {again:?}"));
    }
    if embedding.features(3).is_some_and(|features| features < 10_000) {
        let _ = Pca::new().embed(embedding).components(1).fit(&points(6, 3));
    }
    Ok(true)
}

fn selection(text: &str) -> Result<bool, String> {
    let number = |name: &str| Column::numbers(name, vec![1.0, 2.0]);
    let words = Column::text("who", vec!["x".into(), "y".into()]);
    let columns = vec![number("a"), number("b"), words, number("c-d"), number("e")];
    let table = Table::new("t", columns).expect("different names");
    let Ok(chosen) = select(table, text) else { return Ok(false) };
    let mut names = chosen.names();
    names.sort_unstable();
    match names.windows(2).any(|pair| pair[0] == pair[1]) {
        true => Err(format!("a column is chosen twice: {names:?}")),
        false => Ok(true),
    }
}

fn specs() -> Vec<Value> {
    let kernel = |text: &str| KernelPca::new(text.parse::<Kernel>().expect(text));
    let specs: Vec<Spec> = vec![
        Pca::new().components(2).standardise(true).into(),
        Pca::new().embed(Embedding::monomials_up_to(2, 0.3)).center(false).into(),
        kernel("gaussian(gamma=median)").components(2).tolerance(1e-3).into(),
        kernel("linear + 0.5*matern(nu=3/2)").landmarks(Landmarks::KMeans(3)).into(),
        kernel("gaussian(gamma=1)").landmarks(Landmarks::Given(points(3, 3))).standardise(true).into(),
    ];
    specs.iter().map(|spec| serde_json::to_value(spec).expect("a spec of numbers and texts")).collect()
}

/// Specs in JSON, as Python and the page send them.
struct SpecJson {
    valid: Vec<Value>,
}

impl Target for SpecJson {
    fn name(&self) -> &'static str {
        "spec"
    }

    fn input(&self, dice: &mut Dice) -> Vec<u8> {
        let mut spec = dice.pick(&self.valid).clone();
        mutate::value(dice, &mut spec);
        match dice.one_in(6) {
            true => mutate::bytes(dice, spec.to_string().as_bytes(), &[]),
            false => spec.to_string().into_bytes(),
        }
    }

    fn read(&self, input: &[u8]) -> Result<bool, String> {
        let Ok(spec) = serde_json::from_slice::<Spec>(input) else { return Ok(false) };
        let text = serde_json::to_string(&spec).map_err(|e| e.to_string())?;
        match serde_json::from_str::<Spec>(&text) {
            Ok(again) if again == spec => {}
            other => return Err(format!("{text} is read as {other:?}")),
        }
        let (x, exec) = (points(8, 3), Exec::new());
        let _ = spec.plan(&Source::points(&x), &exec);
        let _ = spec.fit(Source::points(&x), &exec);
        Ok(true)
    }
}
