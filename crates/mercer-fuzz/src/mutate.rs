//! Changes of valid input: of bytes, of words, of numbers, of the parts of a JSON text.

use serde_json::{Map, Value, json};

use crate::dice::Dice;

/// The longest input.
const LONGEST: usize = 1 << 18;

/// Numbers at the limits of their types.
const NUMBERS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1e-300,
    -1e-310,
    5e-324,
    1e139,
    1e141,
    -1.7e270,
    1e308,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Lengths at the limits of their types.
const LENGTHS: &[u64] =
    &[0, 1, 2, 7, 8, 255, 256, 65_535, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 53, i64::MAX as u64, 1 << 63, u64::MAX];

/// Changes bytes in a few places; `others` are inputs to take parts from.
pub(crate) fn bytes(dice: &mut Dice, input: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
    let mut out = input.to_vec();
    for _ in 0..1 + dice.below(4) {
        change(dice, &mut out, others);
    }
    out.truncate(LONGEST);
    out
}

fn change(dice: &mut Dice, out: &mut Vec<u8>, others: &[Vec<u8>]) {
    let at = dice.below(out.len() + 1);
    let end = (at + 1 + dice.below(16)).min(out.len()).max(at);
    match dice.below(10) {
        0..3 if at < out.len() => out[at] ^= 1 << dice.below(8),
        3 if at < out.len() => out[at] = *dice.pick(&[0, 1, 0x7f, 0x80, 0xff, b'{', b'"', b'\n', b'0']),
        4 => overwrite(out, at, &dice.pick(LENGTHS).to_le_bytes()[..1 << dice.below(4)]),
        5 => overwrite(out, at, &dice.pick(NUMBERS).to_le_bytes()),
        6 => drop(out.drain(at..end)),
        7 => {
            let part: Vec<u8> = out[at..end].repeat(1 << dice.below(8));
            out.splice(at..at, part);
        }
        8 if dice.one_in(4) => out.truncate(at),
        8 => out.insert(at, dice.below(256) as u8),
        _ if !others.is_empty() => {
            let other = dice.pick(others);
            let from = dice.below(other.len() + 1);
            let to = (from + dice.below(64)).min(other.len());
            out.splice(at..end, other[from..to].iter().copied());
        }
        _ => {}
    }
}

fn overwrite(out: &mut [u8], at: usize, with: &[u8]) {
    out[at..].iter_mut().zip(with).for_each(|(to, from)| *to = *from);
}

/// Changes a text: words are put in, in place of others or repeated; sometimes bytes are changed.
pub(crate) fn text(dice: &mut Dice, input: &[u8], words: &[&[u8]]) -> Vec<u8> {
    let mut out = input.to_vec();
    for _ in 0..1 + dice.below(4) {
        let at = dice.below(out.len() + 1);
        let end = (at + dice.below(8)).min(out.len());
        match dice.below(8) {
            0..4 => drop(out.splice(at..at, dice.pick(words).iter().copied())),
            4 => drop(out.splice(at..end, dice.pick(words).iter().copied())),
            5 => {
                let most = if dice.one_in(8) { 14 } else { 6 };
                let times = 1 << dice.below(most);
                let part = if dice.one_in(2) { out[at..end].to_vec() } else { dice.pick(words).to_vec() };
                out.splice(at..at, part.repeat(times));
            }
            6 => change(dice, &mut out, &[]),
            _ => {
                // A line, or what stands for one, is moved or taken out.
                let line = out[at..].iter().position(|b| *b == b'\n').map_or(out.len(), |end| at + end + 1);
                let part: Vec<u8> = out.drain(at..line).collect();
                if dice.one_in(2) {
                    let to = dice.below(out.len() + 1);
                    out.splice(to..to, part);
                }
            }
        }
    }
    out.truncate(LONGEST);
    out
}

/// Changes some of the numbers in an array of f64.
pub(crate) fn numbers(dice: &mut Dice, bytes: &mut [u8]) {
    let count = bytes.len() / 8;
    for _ in 0..1 + dice.below(3) {
        let at = 8 * dice.below(count);
        let Some(number) = bytes.get_mut(at..at + 8) else { return };
        match dice.below(3) {
            0 => number[dice.below(8)] ^= 1 << dice.below(8),
            _ => number.copy_from_slice(&dice.pick(NUMBERS).to_le_bytes()),
        }
    }
}

/// Changes a value somewhere inside a JSON value.
pub(crate) fn value(dice: &mut Dice, value: &mut Value) {
    let down = !dice.one_in(6);
    match value {
        Value::Object(map) if down && !map.is_empty() => {
            let key = map.keys().nth(dice.below(map.len())).cloned().unwrap_or_default();
            if dice.one_in(12) {
                map.remove(&key);
            } else if dice.one_in(16) {
                let moved = map.remove(&key).unwrap_or_default();
                map.insert(key + "x", moved);
            } else if let Some(inner) = map.get_mut(&key) {
                self::value(dice, inner);
            }
        }
        Value::Array(list) if down && !list.is_empty() => {
            let at = dice.below(list.len());
            match dice.below(8) {
                0 => drop(list.remove(at)),
                1 => list.insert(at, list[at].clone()),
                _ => self::value(dice, &mut list[at]),
            }
        }
        Value::String(text) if down => {
            let words: &[&[u8]] = &[b"(", b")", b",", b"=", b"1e308", b"-", b"linear", b"median", b"\\", b"0", b"9"];
            *text = String::from_utf8_lossy(&self::text(dice, text.as_bytes(), words)).into_owned();
        }
        Value::Number(number) if down => {
            let now = number.as_f64().unwrap_or(0.0);
            *value = match dice.below(7) {
                0 => json!(now + 1.0),
                1 => json!(-now),
                2 => json!((now as i64).wrapping_add(1)),
                3 => json!((now as i64).wrapping_sub(1)),
                4 => json!(dice.pick(LENGTHS)),
                _ => json!(dice.pick(NUMBERS)),
            };
        }
        other => *other = leaf(dice),
    }
}

fn leaf(dice: &mut Dice) -> Value {
    match dice.below(9) {
        0 => Value::Null,
        1 => json!(dice.one_in(2)),
        2 => json!(dice.pick(LENGTHS)),
        3 => json!(-(dice.below(5) as i64)),
        4 => json!(dice.pick(NUMBERS)),
        5 => json!("text"),
        6 => json!([]),
        7 => Value::Object(Map::new()),
        // Deeper than a parser that calls itself should follow.
        _ => (0..dice.below(200)).fold(json!(1), |inner, _| json!([inner])),
    }
}
