//! The name that was meant where an unknown one is given.

/// The most like of `names`: the one with the fewest edits from `word` (insertions, deletions, substitutions and swaps of
/// neighbours, after Damerau and Levenshtein), if they are at most a third of the word's letters. Of several that are as near, the
/// first.
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let most = (word.chars().count() / 3).max(1);
    let edits = names.into_iter().map(|name| (strsim::damerau_levenshtein(&word.to_lowercase(), name), name));
    edits.min_by_key(|(edits, _)| *edits).filter(|(edits, _)| *edits <= most).map(|(_, name)| name)
}

/// The part of an error's text that names what was meant by the unknown `word`, followed by a space: `did you mean "cubic"? `.
/// Empty if no name is near.
pub fn meant<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    nearest(word, names).map_or_else(String::new, |name| format!("did you mean {name:?}? "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_with_the_fewest_edits() {
        let names = ["newreno", "cubic", "cdg", "bbr", "bbr3"];
        let of = |word| nearest(word, names);
        assert_eq!(
            [of("cubik"), of("cuibc"), of("CUBIC"), of("newrneo")],
            [Some("cubic"), Some("cubic"), Some("cubic"), Some("newreno")]
        );
        assert_eq!([of("bbr4"), of("xyz"), of("")], [Some("bbr"), None, None]);
        assert_eq!((meant("cubik", names).as_str(), meant("xyz", names).as_str()), ("did you mean \"cubic\"? ", ""));
    }
}
