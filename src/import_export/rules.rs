//! Rules of editors and agents: each file is an entry, with the paths that it is for as its files.

use serde_json::json;

use super::files::ImportFile;
use super::gathered::{Fact, SourceContent};
use super::request::ImportRequest;
use crate::entry::knowledge::Knowledge;
use crate::entry::outline::headings;
use crate::entry::path::is_project_path;
use crate::text::shorten;
use crate::workspace::Workspace;

/// The keys of the paths that a rule is for, one for each maker.
const PATHS: [&str; 4] = ["globs", "applyTo", "paths", "fileMatchPattern"];
/// The longest description that becomes a title, in characters. A longer one says more than a title should.
const MAX_DESCRIPTION: usize = 100;

/// Reads a rule.
pub(super) fn read(_: &Workspace, request: &ImportRequest, file: &ImportFile, content: &mut SourceContent) {
    let patterns: Vec<String> = PATHS.iter().flat_map(|key| file.list(key)).collect();
    let mut tags = vec!["rules".to_owned(), file.stem().to_owned()];
    tags.extend(file.list("tags"));
    let mut files: Vec<String> = patterns.iter().filter_map(|pattern| path_of(pattern)).collect();
    files.dedup();
    let knowledge =
        Knowledge { source: request.writer, files, ..Knowledge::new(title(file), tags, file.text.as_str()) };
    let mut fact = Fact::new(file.key.clone(), file.origin(), knowledge);
    if !patterns.is_empty() {
        fact.more.insert("globs".to_owned(), json!(patterns));
    }
    content.add(fact);
}

/// Returns the title of a rule: what its frontmatter says in a line, else its first heading, else its name.
fn title(file: &ImportFile) -> String {
    let description = || {
        let description = file.word(&["description"])?;
        (shorten(description, MAX_DESCRIPTION) == *description).then(|| description.to_owned())
    };
    let heading = || Some(headings(&file.text).first()?.title.clone()).filter(|title| !title.is_empty());
    let given = file.word(&["title", "name"]).map(str::to_owned);
    given.or_else(description).or_else(heading).unwrap_or_else(|| file.stem().replace(['-', '_'], " "))
}

/// Returns the file or the folder that a pattern is about: `src/api/**/*.ts` is about `src/api`. A pattern that matches
/// files anywhere is about none.
fn path_of(pattern: &str) -> Option<String> {
    let pattern = pattern.trim_start_matches("./");
    let is_plain = |part: &&str| !part.contains(['*', '?', '[', ']', '{', '}', '!']);
    let path = pattern.split('/').take_while(is_plain).collect::<Vec<_>>().join("/");
    Some(path.trim_end_matches('/').to_owned()).filter(|path| is_project_path(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_pattern_is_what_comes_before_its_first_wildcard() {
        let check =
            |pattern: &str, expected: Option<&str>| assert_eq!(path_of(pattern).as_deref(), expected, "{pattern}");
        check("src/api/**/*.ts", Some("src/api"));
        check("./docs/index.md", Some("docs/index.md"));
        check("src/", Some("src"));
        check("**/*.ts", None);
        check("*", None);
        check("/etc/*", None);
        check("../x/*", None);
        check("src/{a,b}/x", Some("src"));
    }
}
