//! The compact form of a queue: `fq_codel:limit=1024p,target=5ms`, as command lines and scenarios have it.

use super::{DROP_TAIL, Implementation, Length, QueueConfig};
use crate::registry::{Registry, is_file};
use std::fmt;

/// How parameters follow a discipline's name.
const FORM: &str = "write DISCIPLINE:PARAMETER=VALUE,PARAMETER=VALUE, as in \"drop-tail:limit=100p,mark=20p\"";

impl QueueConfig {
    /// Parses a word: the limit of a drop-tail queue (`1000p`), or a discipline's name, with its parameters after a
    /// colon if it has other values than the defaults (`drop-tail:limit=1000p,mark=65p`). A file of code is a name, too
    /// (`./mine.py:limit=100p`). Commas or semicolons
    /// separate the parameters; where commas separate something else, as in `--path`, only semicolons can be written.
    ///
    /// # Errors
    ///
    /// If it is neither. The error says what would be right.
    pub fn from_word(word: &str) -> Result<QueueConfig, String> {
        QueueConfig::from_word_among(word, &Registry::default())
    }

    /// Parses a word, as [`QueueConfig::from_word`] does, that may name any discipline of a registry.
    ///
    /// # Errors
    ///
    /// If it is neither. The error says what would be right.
    pub fn from_word_among(word: &str, registry: &Registry<Implementation>) -> Result<QueueConfig, String> {
        let word = word.trim();
        if !word.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_file(word) {
            Length::parse(word).map_err(|wrong| wrong.to_string())?;
            let mut config = QueueConfig::of(DROP_TAIL);
            config.set("limit", word)?;
            return Ok(config);
        }
        let (name, parameters) = match word.split_once(':') {
            Some((name, parameters)) => (name, Some(parameters)),
            None => (word, None),
        };
        let mut config = QueueConfig::of(registry.named(name.trim())?);
        let mut given = Vec::new();
        for part in parameters.into_iter().flat_map(|text| text.split([',', ';'])) {
            let Some((parameter, value)) = part.split_once('=') else {
                return Err(format!("{:?} in {word:?} is not PARAMETER=VALUE: {FORM}", part.trim()));
            };
            let parameter = parameter.trim();
            if given.contains(&parameter) {
                return Err(format!("{word:?} gives {parameter} twice: leave one of the two out"));
            }
            config.set(parameter, value)?;
            given.push(parameter);
        }
        config.check()?;
        Ok(config)
    }
}

impl fmt::Display for QueueConfig {
    /// The word: the discipline's name, and the parameters that have not their defaults. It can be parsed again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.discipline().name())?;
        let defaults = QueueConfig::of(self.discipline()).texts();
        let own = self.texts().into_iter().filter(|parameter| !defaults.contains(parameter));
        for (n, (name, value)) in own.enumerate() {
            write!(f, "{}{name}={value}", if n == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Discipline, Limit};

    #[test]
    fn a_word_is_a_limit_or_a_discipline_with_parameters() {
        let read = QueueConfig::from_word;
        assert_eq!(read("1000p"), Ok(QueueConfig::drop_tail(Limit::Packets(1000), None)));
        assert_eq!(read(" drop-tail "), Ok(QueueConfig::default()));
        let both = QueueConfig::drop_tail(Limit::Bytes(64_000), Some(Limit::Packets(3)));
        for same in
            ["drop-tail:limit=64kB,mark=3p", "drop-tail:mark=3p;limit=64kB", " drop-tail: limit = 64kB , mark = 3p "]
        {
            assert_eq!(read(same), Ok(both.clone()), "{same}");
        }
        assert_eq!(both.to_string(), "drop-tail:limit=64000B,mark=3p");
        assert_eq!(QueueConfig::default().to_string(), "drop-tail");
    }

    #[test]
    fn what_is_no_word_is_refused_with_the_remedy() {
        for (wrong, hint) in [
            (
                "fq_coddle:limit=3p",
                "unknown queue discipline \"fq_coddle\": did you mean \"fq_codel\"? there are drop-tail, head-drop",
            ),
            ("1000", "write packets (\"1000p\")"),
            ("drop-tail:", "\"\" in \"drop-tail:\" is not PARAMETER=VALUE: write DISCIPLINE:PARAMETER=VALUE"),
            ("drop-tail:100p", "\"100p\" in \"drop-tail:100p\" is not PARAMETER=VALUE"),
            ("drop-tail:limit=3p,", "\"\" in \"drop-tail:limit=3p,\" is not PARAMETER=VALUE"),
            ("drop-tail:limit=3p;limit=4p", "gives limit twice: leave one of the two out"),
            ("drop-tail:limit=5 parsecs", "limit: \"5 parsecs\" is not a queue length"),
            ("head-drop:mark=3p", "head-drop has no parameter \"mark\": it has limit"),
            ("", "\"\" is not a queue length"),
        ] {
            let said = QueueConfig::from_word(wrong).unwrap_err();
            assert!(said.contains(hint), "{wrong}: {said}");
        }
    }

    #[test]
    fn every_discipline_with_any_parameter_is_parsed_as_it_is_shown() {
        for &discipline in Discipline::ALL {
            let mut all = QueueConfig::of(discipline);
            assert_eq!(QueueConfig::from_word(&all.to_string()), Ok(all.clone()));
            for parameter in discipline.parameters() {
                let mut one = QueueConfig::of(discipline);
                for config in [&mut one, &mut all] {
                    assert_eq!(config.set(parameter.name, parameter.example), Ok(()));
                }
                assert_eq!(QueueConfig::from_word(&one.to_string()), Ok(one));
            }
            // The examples of two parameters can exclude each other.
            if all.check().is_ok() {
                assert_eq!(QueueConfig::from_word(&all.to_string()), Ok(all));
            }
        }
    }
}
