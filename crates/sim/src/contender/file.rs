//! Contenders that name files of code, or trained policies: `tcp/./mine.py+gain=1.5` as congestion control,
//! `mptcp/cubic+scheduler=./mine.py` as scheduler, `tcp/./policy.onnx`.
//!
//! Before a scenario is read, what it is read with puts the digest of the file's text behind its name (`./mine.py#3fa94c1b2d5e6f70`),
//! so that a scenario says what runs, and not only where it stood. The digest is not shown to people.

use haltere_net::registry::{DIGEST, is_file, shown};

/// How the names of files of code end.
pub const SUFFIXES: [&str; 5] = [".py", ".so", ".c", ".rs", ".onnx"];

/// The length of the name of a file at the start of a text, with its digest if it has one; `None` if the text names no file.
///
/// # Errors
///
/// If it begins as a file does, and does not end as one of code.
pub(super) fn length(text: &str) -> Result<Option<usize>, String> {
    if !is_file(text) {
        return Ok(None);
    }
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(['+', '-', DIGEST]);
    let end = SUFFIXES
        .iter()
        .flat_map(|suffix| text.match_indices(suffix).map(|(at, _)| at + suffix.len()))
        .filter(|end| ends(&text[*end..]))
        .min();
    let Some(end) = end else {
        let suffixes = SUFFIXES.join(", ");
        return Err(format!("names the file {:?}, which ends in none of {suffixes}: give a file of code", shown(text)));
    };
    let Some(digest) = text[end..].strip_prefix(DIGEST) else { return Ok(Some(end)) };
    let digits = digest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digest.len());
    Ok(Some(end + DIGEST.len_utf8() + digits))
}

/// The length of a number at the start of a text.
pub(super) fn number(text: &str) -> usize {
    let digits = |from: usize| text[from..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |n| from + n);
    let mut end = digits(usize::from(text.starts_with('-')));
    if text[end..].starts_with('.') {
        end = digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_ends_at_the_suffix_of_code_before_a_switch_or_a_digest() {
        let name = |text: &'static str| length(text).map(|end| end.map(|end| &text[..end]));
        assert_eq!(name("cubic+tfo"), Ok(None));
        assert_eq!(name("./mine.py"), Ok(Some("./mine.py")));
        assert_eq!(name("../a-b/my+own.v2.py+gain=2-sack"), Ok(Some("../a-b/my+own.v2.py")));
        assert_eq!(name("/x/tcp_mine.c-sack"), Ok(Some("/x/tcp_mine.c")));
        assert_eq!(name("./lib.so#12ab+gain=1"), Ok(Some("./lib.so#12ab")));
        assert_eq!(name("./a.policy.onnx+paced"), Ok(Some("./a.policy.onnx")));
        assert!(name("./mine.txt").unwrap_err().contains("none of .py, .so, .c, .rs, .onnx"));
        assert!(name("./mine.python").is_err());
    }

    #[test]
    fn numbers_end_where_the_next_switch_begins() {
        let taken = ["1.5+x", "-2-sack", "1e-3+y", "0.5", "3e+x", "-"].map(number);
        assert_eq!(taken, [3, 2, 4, 3, 1, 1]);
    }
}
