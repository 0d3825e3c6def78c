//! The text of an NPY header.
//!
//! It is a dictionary of Python with three keys. Only the few forms that arrays of numbers have are read, each byte
//! once, so that no header takes longer than its length allows.

/// What the three keys say.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Keys<'a> {
    /// The type of the values, such as `<f8`; `None` for a structured one.
    pub(super) descr: Option<&'a str>,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<u64>,
}

/// Reads `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`: the keys in any order, each once.
pub(super) fn parse(text: &[u8]) -> Result<Keys<'_>, String> {
    let mut rest = Rest { text, at: 0 };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    rest.expect(b'{')?;
    while !rest.found(b'}') {
        let key = rest.quoted()?;
        rest.expect(b':')?;
        let repeated = match key {
            "descr" if rest.next_is(b'[') => {
                // The fields of a structured type are not read: its values are no numbers.
                return Ok(Keys { descr: None, fortran_order: false, shape: Vec::new() });
            }
            "descr" => descr.replace(rest.quoted()?).is_some(),
            "fortran_order" => fortran_order.replace(rest.boolean()?).is_some(),
            "shape" => shape.replace(rest.tuple()?).is_some(),
            _ => return Err(format!("its header has the key '{key}', which no array has")),
        };
        if repeated {
            return Err(format!("its header has the key '{key}' twice"));
        }
        if !rest.found(b',') {
            rest.expect(b'}')?;
            break;
        }
    }
    rest.end()?;
    let (Some(descr), Some(fortran_order), Some(shape)) = (descr, fortran_order, shape) else {
        return Err("its header has not all of the keys 'descr', 'fortran_order' and 'shape'".into());
    };
    Ok(Keys { descr: Some(descr), fortran_order, shape })
}

/// The part of a header that is not read yet.
struct Rest<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Rest<'a> {
    fn left(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    fn wrong(&self, expected: &str) -> String {
        format!("its header has no {expected} at byte {}", self.at)
    }

    /// Skips what belongs to `class`, and returns it.
    fn take_while(&mut self, class: impl Fn(u8) -> bool) -> &'a [u8] {
        let left = self.left();
        let taken = &left[..left.iter().position(|b| !class(*b)).unwrap_or(left.len())];
        self.at += taken.len();
        taken
    }

    /// Whether this is the next byte that is not a space.
    fn next_is(&mut self, byte: u8) -> bool {
        self.take_while(|b| b.is_ascii_whitespace());
        self.left().first() == Some(&byte)
    }

    /// Skips this byte if it is the next one.
    fn found(&mut self, byte: u8) -> bool {
        let found = self.next_is(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        if self.found(byte) { Ok(()) } else { Err(self.wrong(&format!("'{}'", char::from(byte)))) }
    }

    /// A text of printable characters, without escapes, in quotes of either kind.
    fn quoted(&mut self) -> Result<&'a str, String> {
        let quote = if self.next_is(b'"') { b'"' } else { b'\'' };
        self.expect(quote)?;
        let inner = self.take_while(|b| (b.is_ascii_graphic() || b == b' ') && b != quote && b != b'\\');
        if self.left().first() != Some(&quote) {
            return Err(self.wrong("closing quote"));
        }
        self.at += 1;
        Ok(std::str::from_utf8(inner).expect("ASCII is UTF-8"))
    }

    fn boolean(&mut self) -> Result<bool, String> {
        self.take_while(|b| b.is_ascii_whitespace());
        match self.take_while(|b| b.is_ascii_alphabetic()) {
            b"True" => Ok(true),
            b"False" => Ok(false),
            _ => Err(self.wrong("True or False")),
        }
    }

    /// A tuple of lengths: `()`, `(3,)`, `(3, 4)`.
    fn tuple(&mut self) -> Result<Vec<u64>, String> {
        let mut lengths = Vec::new();
        self.expect(b'(')?;
        while !self.found(b')') {
            lengths.push(self.length()?);
            if !self.found(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(lengths)
    }

    fn length(&mut self) -> Result<u64, String> {
        self.take_while(|b| b.is_ascii_whitespace());
        let digits = self.take_while(|b| b.is_ascii_digit());
        let value = digits.iter().try_fold(0u64, |value, digit| {
            value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0')))
        });
        let value = value.filter(|_| !digits.is_empty()).ok_or_else(|| self.wrong("length of an array"))?;
        // Python 2 wrote long integers as 3L.
        self.at += usize::from(self.left().first() == Some(&b'L'));
        Ok(value)
    }

    /// Fails when anything but spaces is left.
    fn end(&mut self) -> Result<(), String> {
        self.take_while(|b| b.is_ascii_whitespace());
        if self.left().is_empty() { Ok(()) } else { Err(self.wrong("end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_as_they_are_written() {
        let keys = |descr, fortran_order, shape: &[u64]| Keys { descr, fortran_order, shape: shape.to_vec() };
        for (text, expected) in [
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }      \n", keys(Some("<f8"), false, &[3, 4])),
            (r#"{"shape":(3,),"fortran_order":True,"descr":"|u1"}"#, keys(Some("|u1"), true, &[3])),
            (" { 'descr' : '>i2' , 'fortran_order' : True , 'shape' : ( ) } ", keys(Some(">i2"), true, &[])),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (20L, 1L), }", keys(Some("<f4"), false, &[20, 1])),
            ("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }", keys(None, false, &[])),
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<f8', 'fortran_order': False}",
            "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (3,)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'more': 1}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)} x",
            "{'descr': '<f8', 'fortran_order': False, 'shape': ((3,))}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3 4)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (,)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': 3}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551616,)}",
            "{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}",
            "{'descr': '<f8, 'fortran_order': False, 'shape': (3,)}",
            "{'descr': '<f8\\', 'fortran_order': False, 'shape': (3,)}",
            "{'descr': {'descr': '<f8'}, 'fortran_order': False, 'shape': (3,)}",
            "('descr', '<f8')",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(b"{'descr': '\xff', ").is_err());
    }
}
