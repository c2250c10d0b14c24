//! Where a value stands in a TOML text.

use toml_edit::{Document, Item};

/// Line and column, from 1, of the value at `path` (`flows[0].contender`), or of the nearest parent that has a place.
pub(crate) fn of(text: &str, path: &str) -> (usize, usize) {
    let Ok(document) = Document::parse(text) else { return (1, 1) };
    let mut place = None;
    let mut at: Option<&Item> = Some(document.as_item());
    for step in steps(path) {
        at = at.and_then(|item| match &step {
            Step::Key(key) => {
                let table = item.as_table_like()?;
                if let Some((k, _)) = table.get_key_value(key) {
                    place = k.span().or(place.clone());
                }
                table.get(key)
            }
            Step::Index(index) => item.get(*index),
        });
        let Some(item) = at else { break };
        place = item.span().filter(|_| item.is_value() || matches!(step, Step::Index(_))).or(place);
    }
    position(text, place.map_or(0, |p| p.start))
}

enum Step {
    Key(String),
    Index(usize),
}

/// `flows[0].contender` as `flows`, 0, `contender`.
fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in path.split('.') {
        let mut rest = part.split('[');
        if let Some(key) = rest.next().filter(|k| !k.is_empty()) {
            steps.push(Step::Key(key.to_string()));
        }
        steps.extend(rest.filter_map(|i| i.trim_end_matches(']').parse().ok()).map(Step::Index));
    }
    steps
}

fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}
