//! Choosing columns by name, range or type.

use crate::error::Result;
use crate::table::Table;

/// Keeps the columns that `selection` names: a list of items between commas, each
/// a name (`age`), a range of names or numbers (`a:f`, `2:5`), a number counted from 1, `@numbers` or `@text`;
/// an item with `!` before it takes away. A selection that only takes away starts from all columns.
///
/// # Errors
/// When a name does not exist.
pub fn select(mut table: Table, selection: &str) -> Result<Table> {
    let items: Vec<&str> = selection.split(',').map(str::trim).filter(|s| !s.is_empty()).collect();
    let mut chosen: Vec<usize> = Vec::new();
    if items.iter().all(|item| item.starts_with('!')) {
        chosen.extend(0..table.columns.len());
    }
    for item in items {
        let (takes_away, item) = match item.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, item),
        };
        for place in places(&table, item)? {
            chosen.retain(|c| *c != place);
            if !takes_away {
                chosen.push(place);
            }
        }
    }
    let mut columns: Vec<Option<_>> = std::mem::take(&mut table.columns).into_iter().map(Some).collect();
    table.columns = chosen.into_iter().filter_map(|c| columns[c].take()).collect();
    Ok(table)
}

fn places(table: &Table, item: &str) -> Result<Vec<usize>> {
    // A column may be named like anything; the name itself comes first.
    if let Some(place) = table.columns.iter().position(|c| c.name == item) {
        return Ok(vec![place]);
    }
    let of_type = |numeric| (0..table.columns.len()).filter(|&c| table.columns[c].is_numeric() == numeric).collect();
    match item {
        "@numbers" => return Ok(of_type(true)),
        "@text" => return Ok(of_type(false)),
        _ => {}
    }
    if let Some((from, to)) = item.split_once(':') {
        let (from, to) = (place(table, from)?, place(table, to)?);
        return Ok(if from <= to { (from..=to).collect() } else { (to..=from).rev().collect() });
    }
    Ok(vec![place(table, item)?])
}

fn place(table: &Table, item: &str) -> Result<usize> {
    match item.parse::<usize>() {
        Ok(number) if (1..=table.columns.len()).contains(&number) && table.position(item).is_err() => Ok(number - 1),
        _ => table.position(item),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    fn table() -> Table {
        let number = |name: &str| Column::numbers(name, vec![1.0]);
        let columns = vec![number("a"), number("b"), Column::text("who", vec!["x".into()]), number("c-d"), number("e")];
        Table::new("t", columns).expect("names differ")
    }

    #[test]
    fn items_add_and_take_away_in_order() {
        let chosen = |s: &str| select(table(), s).expect(s).names().join(" ");
        assert_eq!(chosen("e,a"), "e a");
        assert_eq!(chosen("!b"), "a who c-d e");
        assert_eq!(chosen("a:who"), "a b who");
        assert_eq!(chosen("4:5"), "c-d e");
        assert_eq!(chosen("@numbers,!2"), "a c-d e");
        assert_eq!(chosen("c-d"), "c-d");
        assert_eq!(chosen("@text"), "who");
        assert!(select(table(), "unknown").is_err());
        assert!(select(table(), "9").is_err());
    }
}
