//! What a client's file contains, in whatever format: every member of it, also one that occurs twice.

/// A value in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConfigTree {
    Text(String),
    /// As it is written.
    Number(String),
    Flag(bool),
    /// Nothing, or a value of a kind that set-up does not write.
    Other,
    List(Vec<ConfigTree>),
    Map(Vec<(String, ConfigTree)>),
}

impl ConfigTree {
    /// Returns the values of all members of this name.
    pub(super) fn members<'t>(&'t self, name: &'t str) -> impl Iterator<Item = &'t ConfigTree> {
        let members = if let ConfigTree::Map(members) = self { &members[..] } else { &[] };
        members.iter().filter(move |(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns all texts in it, apart from those under the key `matcher`, which only say when a hook runs.
    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            ConfigTree::Text(text) => vec![text],
            ConfigTree::List(items) => items.iter().flat_map(ConfigTree::texts).collect(),
            ConfigTree::Map(members) => {
                members.iter().filter(|(key, _)| key != "matcher").flat_map(|(_, value)| value.texts()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            ConfigTree::Text(text) => text.is_empty(),
            ConfigTree::List(items) => items.is_empty(),
            ConfigTree::Map(members) => members.is_empty(),
            ConfigTree::Other => true,
            ConfigTree::Number(_) | ConfigTree::Flag(_) => false,
        }
    }
}
