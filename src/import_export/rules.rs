//! Rules of editors and agents: each file is an entry, with the paths and patterns that it is for as its files.

use super::files::{ImportFile, without_comments, without_ordinal};
use super::fillers::no_fact;
use super::gathered::{Fact, SourceContent};
use super::request::ImportRequest;
use crate::entry::knowledge::Knowledge;
use crate::entry::outline::headings;
use crate::entry::path::{in_folder, is_project_path};
use crate::text::shorten;
use crate::workspace::Workspace;

/// The keys of the paths that a rule is for, one for each maker.
const PATHS: [&str; 4] = ["globs", "applyTo", "paths", "fileMatchPattern"];
/// The longest description that becomes a title, in characters. A longer one says more than a title should.
const MAX_DESCRIPTION: usize = 100;

/// Reads a rule.
pub(super) fn read(_: &Workspace, request: &ImportRequest, file: &ImportFile, content: &mut SourceContent) {
    let patterns: Vec<String> = PATHS.iter().flat_map(|key| file.list(key)).collect();
    let tags = ["rules".to_owned()].into_iter().chain(file.tags());
    // A rule for everything is about no file in particular.
    let is_for_all = patterns.iter().any(|pattern| matches!(pattern.as_str(), "*" | "**" | "**/*" | "**/**"));
    let mut files: Vec<String> = patterns.iter().map(|pattern| pattern.trim_start_matches("./").to_owned()).collect();
    files.retain(|pattern| !is_for_all && is_project_path(pattern.trim_end_matches('/')));
    if let Some(folder) = file.around(request.source) {
        // Those of a folder are about the files in it.
        for pattern in &mut files {
            *pattern = in_folder(folder, pattern);
        }
        if files.is_empty() {
            files.push(in_folder(folder, "**"));
        }
    }
    let (title, body) = titled(file);
    if let Some(reason) = no_fact(&body) {
        return content.report.skip_titled(file.origin(), &title, reason);
    }
    let knowledge = Knowledge { source: request.writer, files, ..Knowledge::new(title, tags, body) };
    content.add(Fact::new(file.key.clone(), file.origin(), knowledge));
}

/// Returns the title of a rule, and the text below it: the title of its frontmatter, else its first heading, else its
/// description, if that is short, else its name.
fn titled(file: &ImportFile) -> (String, String) {
    let text = file.text.as_str();
    // The role that an agent should play may come first, in a quotation.
    let is_quotation =
        |before: &str| without_comments(before).lines().all(|line| line.trim().is_empty() || line.starts_with('>'));
    let first = headings(text).into_iter().next().filter(|first| first.level == 1 && !first.title.is_empty());
    let first = first.filter(|first| is_quotation(&text[..first.range.start]));
    let description = file.word(&["description"]).filter(|text| shorten(text, MAX_DESCRIPTION) == **text);
    match (file.word(&["title"]), first, description) {
        (None, Some(first), _) => {
            let rest = [&text[..first.range.start], &text[first.range.end..]].concat();
            (without_ordinal(&first.title).to_owned(), file.described(&rest))
        }
        (None, None, Some(description)) => (description.to_owned(), text.to_owned()),
        _ => {
            let (title, start) = file.title();
            (title, file.described(&text[start..]))
        }
    }
}
