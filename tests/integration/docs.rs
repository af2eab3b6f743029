//! The pages of the documentation: each is in the book's summary, and each link leads somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::support::TestBase;

/// The folder of the book's pages, relative to the root of the repository.
const BOOK: &str = "docs/src/";
/// The pages beside the book.
const BESIDE: [&str; 4] = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
/// The pages that must stay short, with their most bytes: a reader has a few minutes.
const SHORT: [(&str, usize); 2] = [("README.md", 9_000), ("CONTRIBUTING.md", 5_000)];

/// A page of the documentation.
pub(crate) struct Page {
    /// Its path, relative to the root of the repository.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A block of code in a page.
pub(crate) struct Block {
    /// The page and the line, for messages.
    pub(crate) place: String,
    pub(crate) language: String,
    pub(crate) text: String,
}

/// Returns all pages, the summary left out.
pub(crate) fn pages() -> Vec<Page> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let book = walkdir::WalkDir::new(root.join(BOOK)).sort_by_file_name().into_iter().map(Result::unwrap);
    let book = book.filter(|file| file.file_type().is_file() && file.path().extension().is_some_and(|end| end == "md"));
    let paths = book.map(|file| file.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned());
    let paths = BESIDE.map(str::to_owned).into_iter().chain(paths.filter(|path| !path.ends_with("SUMMARY.md")));
    paths.map(|path| Page { text: fs::read_to_string(root.join(&path)).unwrap(), path }).collect()
}

/// Returns the fenced blocks of a page. A longer fence holds shorter ones.
pub(crate) fn blocks(page: &Page) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<(usize, Block)> = None;
    for (at, line) in page.text.lines().enumerate() {
        let n_ticks = line.chars().take_while(|character| *character == '`').count();
        match &mut open {
            Some((length, _)) if n_ticks >= *length && line.len() == n_ticks => {
                found.extend(open.take().map(|(_, block)| block));
            }
            Some((_, block)) => block.text.push_str(&format!("{line}\n")),
            None if n_ticks >= 3 => {
                let place = format!("{}:{}", page.path, at + 1);
                open = Some((n_ticks, Block { place, language: line[n_ticks..].to_owned(), text: String::new() }));
            }
            None => {}
        }
    }
    assert!(open.is_none(), "{}: a block has no end", page.path);
    found
}

/// Returns a page without its blocks and code.
fn prose(page: &Page) -> String {
    let mut fence = 0;
    let mut text = String::new();
    for line in page.text.lines() {
        let n_ticks = line.chars().take_while(|character| *character == '`').count();
        if fence > 0 {
            fence = if n_ticks >= fence { 0 } else { fence };
        } else if n_ticks >= 3 {
            fence = n_ticks;
        } else {
            text.push_str(&format!("{line}\n"));
        }
    }
    // Every second part is between backticks.
    text.split('`').step_by(2).collect()
}

/// Returns the targets of a text's links.
fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

/// Returns the anchors of a page's headings, as mdBook and GitHub make them.
fn anchors(page: &Page) -> BTreeSet<String> {
    let mut is_code = false;
    let mut found = BTreeSet::new();
    for line in page.text.lines() {
        is_code ^= line.starts_with("```");
        if is_code || !line.starts_with('#') {
            continue;
        }
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|character| character.is_alphanumeric() || "-_ ".contains(*character));
        found.insert(kept.map(|character| if character == ' ' { '-' } else { character }).collect());
    }
    found
}

/// Returns the path that a link in a page leads to, relative to the root of the repository.
fn resolve(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn every_link_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = pages();
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|page| (page.path.as_str(), anchors(page))).collect();
    let mut n_links = 0;
    for page in &pages {
        for link in links(&prose(page)).into_iter().filter(|link| !link.starts_with("https://")) {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = if target.is_empty() { page.path.clone() } else { resolve(&page.path, target) };
            assert!(root.join(&path).exists(), "{}: there is no `{link}`", page.path);
            // The book is read without the repository.
            assert!(!page.path.starts_with(BOOK) || path.starts_with(BOOK), "{}: `{link}` leaves the book", page.path);
            let is_known = anchor.is_empty() || anchors.get(path.as_str()).is_some_and(|known| known.contains(anchor));
            assert!(is_known, "{}: no heading of `{path}` is `#{anchor}`", page.path);
            n_links += 1;
        }
    }
    assert!(n_links > 50, "{n_links}");
}

#[test]
fn the_summary_lists_every_page_once() {
    let summary = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(BOOK).join("SUMMARY.md")).unwrap();
    let mut listed: Vec<String> = links(&summary).into_iter().map(|link| format!("{BOOK}{link}")).collect();
    listed.sort();
    let mut written: Vec<String> =
        pages().into_iter().map(|page| page.path).filter(|path| path.starts_with(BOOK)).collect();
    written.sort();
    assert_eq!(listed, written);
}

#[test]
fn the_first_pages_are_short() {
    for page in pages() {
        let limit = SHORT.iter().find(|(path, _)| *path == page.path).map_or(usize::MAX, |(_, limit)| *limit);
        assert!(page.text.len() <= limit, "{}: {} bytes", page.path, page.text.len());
    }
}

#[test]
fn commands_for_people_have_man_pages() {
    let base = TestBase::without_memory();
    base.run(["man", "man1"]).answer(0);
    let pages = base.files("man1");
    let has = |page: &str| pages.iter().any(|path| path == page);
    assert!(has("man1/ralph-memory.1") && has("man1/ralph-memory-search.1"), "{pages:?}");
    assert!(!has("man1/ralph-memory-hook.1"), "{pages:?}");
    let search = base.read("man1/ralph-memory-search.1");
    assert!(search.contains(".TH ralph-memory") && search.contains("SYNOPSIS"), "{search}");
}
