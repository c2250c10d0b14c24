//! Topic names and topic filters (section 4.7), and which subscriptions a topic name matches.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Whether a text is a topic filter: `#` is its last level, and wildcards are whole levels `[MQTT-4.7.1-1]`, `[MQTT-4.7.1-2]`.
pub fn is_filter(text: &str) -> bool {
    !mqtt_proto::TopicFilter::is_invalid(text).0
}

/// Whether a topic filter matches a topic name. A wildcard at the beginning does not match a name that begins with `$`
/// `[MQTT-4.7.2-1]`.
pub fn matches(filter: &str, name: &str) -> bool {
    if name.starts_with('$') && filter.starts_with(['+', '#']) {
        return false;
    }
    let mut levels = name.split('/');
    for wanted in filter.split('/') {
        match (wanted, levels.next()) {
            ("#", _) => return true,
            (_, None) => return false,
            ("+", Some(_)) => {}
            (wanted, Some(level)) if wanted != level => return false,
            _ => {}
        }
    }
    levels.next().is_none()
}

/// Subscriptions by their topic filters, so that those that a topic name matches are found without looking at all.
#[derive(Clone, Debug)]
pub struct Tree<T> {
    root: Node<T>,
}

#[derive(Clone, Debug)]
struct Node<T> {
    /// The next levels of filters, wildcards among them.
    levels: BTreeMap<Arc<str>, Node<T>>,
    /// The subscriptions whose filters end here.
    here: Vec<T>,
}

impl<T> Node<T> {
    const fn new() -> Node<T> {
        Node { levels: BTreeMap::new(), here: Vec::new() }
    }
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Tree { root: Node::new() }
    }
}

/// Whether wildcards match a level.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wildcards {
    Matched,
    Ignored,
}

impl<T: PartialEq + Copy> Tree<T> {
    /// Adds a subscription. One that is there already stays as it is.
    pub fn insert(&mut self, filter: &str, subscription: T) {
        let mut node = &mut self.root;
        for level in filter.split('/') {
            node = node.levels.entry(level.into()).or_insert_with(Node::new);
        }
        if !node.here.contains(&subscription) {
            node.here.push(subscription);
        }
    }

    /// Removes a subscription.
    pub fn remove(&mut self, filter: &str, subscription: T) {
        let levels: Vec<&str> = filter.split('/').collect();
        Self::remove_below(&mut self.root, &levels, subscription);
    }

    /// Removes it from a node or below. Returns whether the node is empty then.
    fn remove_below(node: &mut Node<T>, levels: &[&str], subscription: T) -> bool {
        match levels.split_first() {
            None => node.here.retain(|s| *s != subscription),
            Some((level, rest)) => {
                if let Some(next) = node.levels.get_mut(*level)
                    && Self::remove_below(next, rest, subscription)
                {
                    node.levels.remove(*level);
                }
            }
        }
        node.here.is_empty() && node.levels.is_empty()
    }

    /// Calls `found` for each subscription whose filter matches a topic name. One that matches by several filters is
    /// found several times.
    pub fn matching(&self, name: &str, mut found: impl FnMut(T)) {
        let levels: Vec<&str> = name.split('/').collect();
        // [MQTT-4.7.2-1]
        let first = if name.starts_with('$') { Wildcards::Ignored } else { Wildcards::Matched };
        Self::find(&self.root, &levels, first, &mut found);
    }

    fn find(node: &Node<T>, levels: &[&str], wildcards: Wildcards, found: &mut impl FnMut(T)) {
        let wild = wildcards == Wildcards::Matched;
        if wild && let Some(all) = node.levels.get("#") {
            // It matches the level above, too.
            all.here.iter().for_each(|s| found(*s));
        }
        let Some((level, rest)) = levels.split_first() else {
            node.here.iter().for_each(|s| found(*s));
            return;
        };
        if wild && let Some(one) = node.levels.get("+") {
            Self::find(one, rest, Wildcards::Matched, found);
        }
        if let Some(next) = node.levels.get(*level) {
            Self::find(next, rest, Wildcards::Matched, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Filters, names, and whether they match: the examples of sections 4.7.1 and 4.7.2.
    const EXAMPLES: [(&str, &str, bool); 16] = [
        ("sport/tennis/player1/#", "sport/tennis/player1", true),
        ("sport/tennis/player1/#", "sport/tennis/player1/ranking", true),
        ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true),
        ("sport/#", "sport", true),
        ("#", "sport/tennis", true),
        ("sport/tennis/+", "sport/tennis/player1", true),
        ("sport/tennis/+", "sport/tennis/player1/ranking", false),
        ("sport/+", "sport", false),
        ("sport/+", "sport/", true),
        ("+/+", "/finance", true),
        ("/+", "/finance", true),
        ("+", "/finance", false),
        ("#", "$SYS/uptime", false),
        ("+/monitor/Clients", "$SYS/monitor/Clients", false),
        ("$SYS/#", "$SYS/uptime", true),
        ("$SYS/monitor/+", "$SYS/monitor/Clients", true),
    ];

    #[test]
    fn the_standards_examples_match_as_it_says() {
        for (filter, name, wanted) in EXAMPLES {
            assert_eq!(matches(filter, name), wanted, "{filter} {name}");
            let mut tree = Tree::default();
            tree.insert(filter, 1);
            let mut found = Vec::new();
            tree.matching(name, |s| found.push(s));
            assert_eq!(!found.is_empty(), wanted, "{filter} {name}");
            tree.remove(filter, 1);
            assert!(tree.root.levels.is_empty());
        }
    }

    proptest! {
        #[test]
        fn the_tree_finds_what_matches(
            filters in prop::collection::vec("([ab+]/){0,3}[ab+#]|/[a+]", 1..12),
            name in "([ab]/){0,3}[ab]|/a",
        ) {
            let mut tree = Tree::default();
            for (i, filter) in filters.iter().enumerate() {
                tree.insert(filter, i);
            }
            let mut found = Vec::new();
            tree.matching(&name, |s| found.push(s));
            found.sort_unstable();
            let wanted: Vec<usize> = (0..filters.len()).filter(|i| matches(&filters[*i], &name)).collect();
            prop_assert_eq!(found, wanted);
        }
    }
}
