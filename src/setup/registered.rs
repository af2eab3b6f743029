//! Which file of a client is used, and whether setup's own entries in it connect the client.

use std::collections::BTreeSet;

use super::Setup;
use super::draft::read;
use super::recognised::{self, Recognition, presence};
use super::table::{ClientFile, Content};
use super::want::{Presence, Want};
use crate::text::own_block;

/// Returns the programs of the entries in a text that connect the client, and are of the `wanted` kind.
pub(super) fn programs(content: &Content, text: &str, wanted: fn(&Want) -> bool) -> BTreeSet<String> {
    let Content::Entries(format, wants) = content else { return BTreeSet::new() };
    let Ok(tree) = format.tree(text) else { return BTreeSet::new() };
    let program = |want: &Want| match presence(&tree, want, Recognition::Runs) {
        Ok(Presence::Present(program)) => program,
        _ => None,
    };
    wants.iter().filter(|want| wanted(want)).filter_map(program).collect()
}

/// Returns whether a text has something of this program's that is switched off.
pub(super) fn is_off(content: &Content, text: &str) -> bool {
    let Content::Entries(format, wants) = content else { return false };
    format.tree(text).is_ok_and(|tree| wants.iter().any(|want| recognised::is_off(&tree, want)))
}

impl Setup {
    /// Returns whether a file registers the server.
    pub(super) fn has_server(&self, file: &ClientFile) -> bool {
        self.text(file).is_some_and(|text| !programs(&file.content, &text, Want::is_server).is_empty())
    }

    /// Returns whether a file has the server or a hook.
    pub(super) fn has_any_part(&self, file: &ClientFile) -> bool {
        self.text(file).is_some_and(|text| !programs(&file.content, &text, |_| true).is_empty())
    }

    /// Returns whether a file has the block of instructions.
    pub(super) fn has_block(&self, file: &ClientFile) -> bool {
        self.text(file).is_some_and(|text| matches!(own_block(&text), Ok(Some(_))))
    }

    /// Returns the text of a file, if it can be read.
    pub(super) fn text(&self, file: &ClientFile) -> Option<String> {
        read(&self.bases, file.base, self.chosen(file))
    }

    /// Returns which of a file's paths is used.
    pub(super) fn chosen(&self, file: &ClientFile) -> &'static str {
        file.paths.iter().copied().find(|path| self.bases.exists(file.base, path)).unwrap_or(file.paths[0])
    }
}
