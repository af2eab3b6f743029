//! Rules of editors and agents: each file is an entry, with the paths that it is for as its files.

use serde_json::json;

use super::gathered::{Fact, SourceContent};
use super::report::{ImportOrigin, ImportedItem};
use super::request::ImportRequest;
use super::{files, markdown};
use crate::entry::frontmatter::Fields;
use crate::entry::knowledge::Knowledge;
use crate::entry::outline::headings;
use crate::entry::path::is_project_path;
use crate::error::Result;
use crate::text::shorten;
use crate::workspace::Workspace;

/// Where rules are.
const PLACES: [&str; 11] = [
    ".cursor/rules",
    ".cursorrules",
    ".github/instructions",
    ".claude/rules",
    ".devin/rules",
    ".windsurf/rules",
    ".windsurfrules",
    ".kiro/steering",
    ".clinerules",
    ".agents/rules",
    ".continue/rules",
];
/// The keys of the paths that a rule is for, one for each maker.
const PATHS: [&str; 4] = ["globs", "applyTo", "paths", "fileMatchPattern"];
/// The longest description that becomes a title, in characters. A longer one says more than a title should.
const MAX_DESCRIPTION: usize = 100;

/// Finds rules.
pub(super) fn gather(workspace: &Workspace, request: &ImportRequest) -> Result<SourceContent> {
    let mut gathered = SourceContent::default();
    let wanted = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_markdown = ["mdc", "md"].iter().any(|extension| files::has_extension(name, extension));
        // In this folder of GitHub's, and only there, other files may be.
        is_markdown && (!path.contains(".github/instructions/") || name.ends_with(".instructions.md"))
            || matches!(name, ".cursorrules" | ".windsurfrules" | ".clinerules")
    };
    for file in files::texts(workspace, request, &mut gathered, &PLACES, &wanted)? {
        let from = ImportOrigin::file(&file.path);
        let (fields, text, _) = match file.parts() {
            Ok(parts) => parts,
            Err(reason) => {
                gathered.left_out.push(ImportedItem::skipped(from, reason));
                continue;
            }
        };
        let text = markdown::without_own_block(&file, text, &mut gathered);
        let patterns: Vec<String> = PATHS.iter().flat_map(|key| files::list(&fields, key)).collect();
        let mut tags = vec!["rules".to_owned(), file.stem().to_owned()];
        tags.extend(files::list(&fields, "tags"));
        let mut paths: Vec<String> = patterns.iter().filter_map(|pattern| path_of(pattern)).collect();
        paths.dedup();
        let knowledge = Knowledge {
            source: request.writer,
            files: paths,
            ..Knowledge::new(title(&fields, &text, file.stem()), tags, text)
        };
        let mut fact = Fact::new(file.key.clone(), from, knowledge);
        if !patterns.is_empty() {
            fact.more.insert("globs".to_owned(), json!(patterns));
        }
        gathered.add(fact);
    }
    Ok(gathered)
}

/// Returns the title of a rule: what its frontmatter says in a line, else its first heading, else its name.
fn title(fields: &Fields, text: &str, stem: &str) -> String {
    let given = ["title", "name"].into_iter().find_map(|key| files::word(fields, key)).map(str::to_owned);
    let description = || {
        let description = files::word(fields, "description")?;
        (shorten(description, MAX_DESCRIPTION) == *description).then(|| description.to_owned())
    };
    let heading = || Some(headings(text).first()?.title.clone()).filter(|title| !title.is_empty());
    given.or_else(description).or_else(heading).unwrap_or_else(|| stem.replace(['-', '_'], " "))
}

/// Returns the file or the folder that a pattern is about: `src/api/**/*.ts` is about `src/api`. A pattern for files
/// everywhere is about none.
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
