//! Kernels as text: `0.5*gaussian(gamma=median) + linear` and back.
//!
//! ```text
//! sum     := product ('+' product)*
//! product := factor ('*' factor)*                 numbers among the factors are the weight
//! factor  := NUMBER | '(' sum ')' | 'normalised' '(' sum ')' | NAME [ '(' NAME '=' VALUE (',' NAME '=' VALUE)* ')' ]
//! VALUE   := NUMBER | WORD | '[' NUMBER (',' NUMBER)* ']'
//! ```

use std::fmt;
use std::str::FromStr;

use super::Kernel;
use super::registry;
use crate::error::{Error, ErrorKind, Result};
use crate::real::shortest;

/// The deepest nesting allowed. It bounds the recursion of reader and printer, and is deeper than any useful expression.
pub(super) const MAX_DEPTH: usize = 64;
/// More leaves than anyone writes; keeps the work for one pair of points bounded.
pub(super) const MAX_LEAVES: usize = 100;
/// Bytes of text outside lists: enough to print any kernel within the other limits. A list is as long as the points have
/// columns.
const MAX_TEXT: usize = 500_000;

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kernel::Sum(terms) => list(f, terms, " + ", |k| matches!(k, Kernel::Sum(_))),
            Kernel::Product(factors) => {
                list(f, factors, " * ", |k| matches!(k, Kernel::Sum(_) | Kernel::Product(_) | Kernel::Scaled(..)))
            }
            Kernel::Scaled(w, k) => match **k {
                Kernel::Sum(_) | Kernel::Scaled(..) => write!(f, "{}*({k})", shortest(*w)),
                Kernel::Leaf(_) | Kernel::Product(_) | Kernel::Normalised(_) => write!(f, "{}*{k}", shortest(*w)),
            },
            Kernel::Normalised(k) => write!(f, "normalised({k})"),
            Kernel::Leaf(leaf) => {
                let arguments = leaf.arguments();
                f.write_str(leaf.entry().name)?;
                for (at, (parameter, value)) in arguments.iter().enumerate() {
                    write!(f, "{}{parameter}={value}", if at == 0 { "(" } else { ", " })?;
                }
                f.write_str(if arguments.is_empty() { "" } else { ")" })
            }
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, ks: &[Kernel], between: &str, parenthesised: fn(&Kernel) -> bool) -> fmt::Result {
    for (at, k) in ks.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { between })?;
        if parenthesised(k) { write!(f, "({k})")? } else { write!(f, "{k}")? }
    }
    Ok(())
}

impl From<Kernel> for String {
    fn from(kernel: Kernel) -> String {
        kernel.to_string()
    }
}

impl TryFrom<String> for Kernel {
    type Error = Error;

    fn try_from(text: String) -> Result<Kernel> {
        text.parse()
    }
}

impl FromStr for Kernel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Kernel> {
        let mut in_list = false;
        let outside = |c: &u8| {
            in_list = *c == b'[' || (in_list && *c != b']');
            !in_list
        };
        let length = text.bytes().filter(outside).count();
        if length > MAX_TEXT {
            let constraint = format!("length <= {MAX_TEXT} bytes outside lists");
            return Err(Error::parameter("kernel text", "length", length, constraint));
        }
        let mut reader = Reader { text, at: 0, depth: 0 };
        let kernel = reader.sum()?;
        reader.skip_space();
        if reader.at < text.len() {
            return reader.expected("'+', '*' or the end");
        }
        kernel.validate()?;
        Ok(kernel)
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Takes `token` if it comes next.
    fn take(&mut self, token: char) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len_utf8();
        }
        found
    }

    /// Takes the longest run of characters that satisfy `belongs`.
    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        let run = &rest[..rest.find(|c| !belongs(c)).unwrap_or(rest.len())];
        self.at += run.len();
        run
    }

    fn expected<T>(&self, expected: &str) -> Result<T> {
        Err(ErrorKind::Syntax { text: self.text.into(), position: self.at, expected: expected.into() }.into())
    }

    fn require(&mut self, token: char) -> Result<()> {
        if self.take(token) { Ok(()) } else { self.expected(&format!("'{token}'")) }
    }

    fn sum(&mut self) -> Result<Kernel> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.expected(&format!("at most {MAX_DEPTH} levels of parentheses"));
        }
        let mut sum = self.product()?;
        while self.take('+') {
            sum = sum + self.product()?;
        }
        self.depth -= 1;
        Ok(sum)
    }

    fn product(&mut self) -> Result<Kernel> {
        let (mut weight, mut kernel): (Option<f64>, Option<Kernel>) = (None, None);
        loop {
            if let Some(number) = self.number() {
                weight = Some(weight.unwrap_or(1.0) * number);
            } else {
                let factor = self.factor()?;
                kernel = Some(match kernel {
                    Some(k) => k * factor,
                    None => factor,
                });
            }
            if !self.take('*') {
                break;
            }
        }
        match (weight, kernel) {
            (None, Some(k)) => Ok(k),
            (Some(w), Some(k)) => Ok(w * k),
            (_, None) => self.expected("'*' and a kernel"),
        }
    }

    /// A number, if one comes next.
    fn number(&mut self) -> Option<f64> {
        self.skip_space();
        let start = self.at;
        if !self.rest().starts_with(|c: char| c.is_ascii_digit() || ".-".contains(c)) {
            return None;
        }
        let mut run = self.take_while(|c| c.is_ascii_alphanumeric() || ".-".contains(c));
        // An exponent may carry a '+' which otherwise means a sum.
        if run.ends_with(['e', 'E']) && self.rest().starts_with('+') {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
            run = &self.text[start..self.at];
        }
        let value = run.parse().ok();
        if value.is_none() {
            self.at = start;
        }
        value
    }

    fn factor(&mut self) -> Result<Kernel> {
        if self.take('(') {
            let inner = self.sum()?;
            self.require(')')?;
            return Ok(inner);
        }
        let name = self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '-');
        if name.is_empty() {
            return self.expected("a kernel name, a number or '('");
        }
        if matches!(name, "normalised" | "normalized") {
            self.require('(')?;
            let inner = self.sum()?;
            self.require(')')?;
            return Ok(inner.normalised());
        }
        let mut arguments = Vec::new();
        if self.take('(') && !self.take(')') {
            loop {
                let parameter = self.take_while(|c| c.is_alphanumeric() || c == '_');
                if parameter.is_empty() {
                    return self.expected("a parameter name");
                }
                self.require('=')?;
                let value = self.value()?;
                if value.is_empty() {
                    return self.expected("a value");
                }
                arguments.push((parameter.to_string(), value.to_string()));
                if !self.take(',') {
                    self.require(')')?;
                    break;
                }
            }
        }
        registry::build(name, &arguments).map(Kernel::Leaf)
    }

    /// The text of a value: up to the next ',' or ')', or a list in brackets.
    fn value(&mut self) -> Result<&'a str> {
        self.skip_space();
        let start = self.at;
        if self.take('[') {
            self.take_while(|c| !"[]()=".contains(c));
            self.require(']')?;
            return Ok(&self.text[start..self.at]);
        }
        Ok(self.take_while(|c| !",()=[]".contains(c)).trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Gamma, Length, Nu};

    #[test]
    fn text_reads_back_as_the_same_value() {
        let gaussian = Kernel::gaussian(Gamma::Median);
        let matern = Kernel::matern(Nu::FiveHalves, Length::Value(0.1 + 0.2));
        for kernel in [
            Kernel::linear(),
            Kernel::cosine(),
            Kernel::polynomial(3, -1.5),
            Kernel::gaussian(Gamma::OverSigma2(150.0)),
            Kernel::gaussian(Gamma::Over2Sigma2(1e-40)),
            Kernel::laplacian(Gamma::Scale),
            Kernel::gaussian(Length::Median),
            Kernel::gaussian(vec![1.0, 2.0, 0.5]),
            Kernel::periodic(7.0, 0.3),
            matern.clone(),
            Kernel::sigmoid(Gamma::PerDimension, -1.0),
            0.5 * gaussian.clone() + Kernel::linear(),
            (gaussian.clone() + Kernel::linear()) * matern.clone(),
            1e150 * (gaussian.clone() * Kernel::cosine()),
            (2.0 * (gaussian.clone() + matern)).normalised() + Kernel::linear(),
        ] {
            let text = kernel.to_string();
            assert_eq!(text.parse::<Kernel>().as_ref(), Ok(&kernel), "{text}");
        }
    }

    #[test]
    fn spellings() {
        let same = |a: &str, b: &str| assert_eq!(a.parse::<Kernel>(), b.parse::<Kernel>(), "{a} and {b}");
        same("rbf", "gaussian(gamma=median)");
        same(" 2 * 3*linear ", "6*linear");
        same("linear*0.5", "0.5*linear");
        same("1e+2*linear+cosine", "100*linear + cosine");
        same("normalized(poly(degree=2))", "normalised(polynomial(gamma=1, coef0=0, degree=2))");
        same("(linear + cosine) + rbf", "linear + cosine + rbf");
    }

    #[test]
    fn the_size_of_a_kernel_is_limited() {
        let terms = |count: usize, between: &str| vec!["rbf(gamma=0.30000000000000004)"; count].join(between);
        for between in [" + ", " * ", "*1.5*"] {
            let most: Kernel = terms(MAX_LEAVES, between).parse().expect("as many as are allowed");
            assert_eq!(most.to_string().parse::<Kernel>().as_ref(), Ok(&most), "its text can be read, too");
            for count in [MAX_LEAVES + 1, 10_000] {
                let error = terms(count, between).parse::<Kernel>().expect_err("more").to_string();
                assert_eq!(error, format!("kernel: leaves = {count}; expected leaves <= 100"));
            }
        }
        // Kernels that are built without a text have the same limit.
        let built = Kernel::Sum(vec![Kernel::linear(); MAX_LEAVES + 1]).normalised();
        assert!(built.validate().is_err());
        // The longest texts of kernels within these limits can be read.
        let mut deep = Kernel::polynomial(3, -1e-300 / 3.0);
        while deep.depth() < MAX_DEPTH - 1 {
            deep = (1e-300 / 3.0) * deep.normalised();
        }
        let deep = Kernel::Sum(vec![deep; MAX_LEAVES]);
        assert_eq!(deep.validate(), Ok(()));
        assert_eq!(deep.to_string().parse::<Kernel>().as_ref(), Ok(&deep));
        // Lists are as long as points have columns.
        let wide = Kernel::gaussian(vec![0.1 + 0.2; 50_000]);
        assert_eq!(wide.to_string().parse::<Kernel>().as_ref(), Ok(&wide));
        for text in [terms(140_000, "+"), "1*".repeat(500_000) + "linear", " ".repeat(1_000_000), "]".repeat(1_000_000)]
        {
            let error = text.parse::<Kernel>().expect_err("too long").to_string();
            let stated = format!("length = {}; expected length <= 500000 bytes outside lists", text.len());
            assert_eq!(error, format!("kernel text: {stated}"));
        }
    }

    #[test]
    fn mistakes_are_explained() {
        let says = |text: &str, part: &str| {
            let error = text.parse::<Kernel>().expect_err(text);
            let all = format!("{error}; {}", error.help().unwrap_or_default());
            assert!(all.contains(part), "{text}: {all}");
        };
        says("guassian", "did you mean 'gaussian'?");
        says("gaussian(gama=1)", "did you mean 'gamma'?");
        says("gaussian(gamma=-1)", "gaussian: gamma = -1; expected gamma > 0");
        says("gaussian(sigma=2)", "over_2sigma2=S for exp(-d2/(2 S))");
        says("gaussian(gamma=1, over_sigma2=2)", "give one of them");
        says("polynomial(gamma=median)", "scale, 1/d");
        says("polynomial(degree=2.5)", "whole number");
        says("matern(nu=7)", "1/2, 3/2, 5/2");
        says("linear +", "expected a kernel name");
        says("3", "expected '*' and a kernel");
        says("-2*linear", "weight > 0");
        says("linear)", "position 6");
        says("gaussian(gamma=1", "expected ')'");
        says("", "expected a kernel name");
        says("linear(gamma=1)", "linear has no parameters");
        says(&"(".repeat(100_000), "64 levels");
        says("gaussian(gamma=nan)", "gamma > 0");
        says("gaussian(length=[1, -2])", "length > 0");
        says("gaussian(length=[1, x])", "[1, 2, 0.5]");
        says("gaussian(length=[])", "[1, 2, 0.5]");
        says("gaussian(length=[1, 2", "expected ']'");
        says("gamma_exponential(power=3)", "0 < power <= 2");
        says("λ", "'λ' is not a kernel");
    }
}
