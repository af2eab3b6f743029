//! The pages as files, for a pull request or an archive.
//!
//! A folder is replaced as a whole: the files are written into a new one beside it, which then takes its place. So an export is complete or
//! not there, and no link in a folder leads a file elsewhere. What the program did not write is never removed.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ralph_memory::memory::SemanticStatus;
use ralph_memory::{Error, Memory};

use super::html::{HtmlPage, PageContext};
use super::layout::document;
use super::links::{LinkedPages, NamedPage, PageLinks};
use super::pages::{self, ById, ContextFields, EntryArgs, FeatureArgs, NoFields, TimelineArgs, error_page};
use super::server::ASSETS;
use super::site::project_name;
use crate::error::UsageError;

/// The file that lists what was written, by which a folder is recognised.
const MANIFEST: &str = ".ralph-memory-export";
/// The first line of that file.
const HEADER: &str = "# Written by `ralph-memory serve --export`. The next export replaces these files.";

/// What was exported.
pub(crate) struct ExportedSite {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// How many pages there are.
    pub(crate) pages: usize,
}

/// Is called with the number of pages that are written, and of those that are known.
pub(crate) type ReportPages<'a> = dyn Fn(usize, usize) + 'a;

/// Writes the pages into `folder`.
pub(crate) fn export(memory: Memory, folder: &Path, report: &ReportPages<'_>) -> anyhow::Result<ExportedSite> {
    check(folder)?;
    let parent = folder.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(|source| failed("create", parent, source))?;
    let name = folder.file_name().context("the folder has no name")?.to_string_lossy().into_owned();
    let beside = |what: &str| parent.join(format!(".{name}.{what}-{}", std::process::id()));
    let (fresh, old) = (beside("new"), beside("old"));
    fs::create_dir(&fresh).map_err(|source| failed("create", &fresh, source))?;
    // Without this, each page would read all files that the index lacks. Where it fails, the pages only take longer.
    let _ = memory.update_index();
    let written =
        write_all(&memory.pinned(), &fresh, report).and_then(|pages| replace(folder, &fresh, &old).map(|()| pages));
    if written.is_err() {
        // It has nothing but what was just written.
        let _ = fs::remove_dir_all(&fresh);
    }
    Ok(ExportedSite { folder: folder.to_owned(), pages: written? })
}

/// Refuses a folder with files that an export did not write.
fn check(folder: &Path) -> anyhow::Result<()> {
    let refuse = |reason: String| {
        let hint = "name a folder that does not exist, or an earlier export".to_owned();
        Err(UsageError { message: format!("cannot export to `{}`: {reason}", folder.display()), hint }.into())
    };
    if folder.file_name().is_none() {
        return refuse("it has no name of its own".to_owned());
    }
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("read", folder, error)),
        Ok(found) if !found.is_dir() => return refuse("it is not a folder".to_owned()),
        Ok(_) => {}
    }
    let manifest = fs::read_to_string(folder.join(MANIFEST)).unwrap_or_default();
    let mut lines = manifest.lines();
    let known: HashSet<&str> = if lines.next() == Some(HEADER) { lines.collect() } else { HashSet::new() };
    for found in walkdir::WalkDir::new(folder).min_depth(1) {
        let found = found.map_err(|error| failed("read", folder, error.into()))?;
        let path = found.path().strip_prefix(folder).unwrap_or(found.path());
        let shown = path.display().to_string();
        if found.file_type().is_dir() || known.contains(shown.as_str()) || (!known.is_empty() && shown == MANIFEST) {
            continue;
        }
        return refuse(format!("`{shown}` in it is not of an export"));
    }
    Ok(())
}

/// Puts a new folder in the place of an old one, which passed [`check`].
fn replace(folder: &Path, fresh: &Path, old: &Path) -> anyhow::Result<()> {
    let had_one = match fs::rename(folder, old) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(failed("replace", folder, error)),
    };
    if let Err(error) = fs::rename(fresh, folder) {
        if had_one {
            fs::rename(old, folder).map_err(|source| failed("restore", folder, source))?;
        }
        return Err(failed("write", folder, error));
    }
    if had_one {
        fs::remove_dir_all(old).map_err(|source| failed("remove", old, source))?;
    }
    Ok(())
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> anyhow::Error {
    Error::Io { action, path: path.to_owned(), source }.into()
}

/// The folder that is written.
struct SiteWriter<'a> {
    memory: &'a Memory,
    folder: &'a Path,
    project: String,
    linked: LinkedPages,
    semantic: SemanticStatus,
    written: Vec<String>,
}

/// Writes all files, and returns the number of pages.
fn write_all(memory: &Memory, folder: &Path, report: &ReportPages<'_>) -> anyhow::Result<usize> {
    let (project, semantic) = (project_name(memory), memory.semantic_status());
    let linked = LinkedPages::default();
    let mut writer = SiteWriter { memory, folder, project, linked, semantic, written: Vec::new() };
    for (name, _, text) in ASSETS {
        writer.write(name, text)?;
    }
    writer.page("index.html", |context| pages::now(context, &NoFields::default()))?;
    for number in 1..=pages::features_pages(memory) {
        let name = format!("{}.html", pages::features_name(number));
        writer.page(&name, |context| pages::features(context, &pages::FeaturesArgs::page(number)))?;
    }
    writer.page("context.html", |context| pages::context(context, &ContextFields::default()))?;
    writer.page("health.html", |context| pages::health(context, &NoFields::default()))?;
    writer.page("search.html", |context| Ok(pages::all_entries(context)))?;
    for number in 1..=pages::timeline_pages(memory) {
        let name = format!("{}.html", pages::timeline_name(number));
        writer.page(&name, |context| pages::timeline(context, &TimelineArgs::page(number)))?;
    }
    // Each page may link more.
    while let Some((page, name)) = writer.linked.next() {
        writer.named(page, &name)?;
        let written = writer.written.len() - ASSETS.len();
        report(written, written + writer.linked.n_waiting());
    }
    let pages = writer.written.len() - ASSETS.len();
    writer.written.sort();
    let manifest = format!("{HEADER}\n{}\n", writer.written.join("\n"));
    writer.write(MANIFEST, &manifest)?;
    Ok(pages)
}

impl SiteWriter<'_> {
    fn named(&mut self, page: NamedPage, name: &str) -> anyhow::Result<()> {
        let by_id = ById { id: name.to_owned() };
        self.page(&page.file(name), |context| match page {
            NamedPage::Entry => pages::entry(context, &EntryArgs::of(name)),
            NamedPage::Feature => pages::feature(context, &FeatureArgs { name: name.to_owned() }),
            NamedPage::Task => pages::task(context, &by_id),
            NamedPage::Run => pages::run(context, &by_id),
            NamedPage::Context => pages::task_context(context, &by_id),
        })
    }

    /// Writes a page; one about something that there is not says so.
    fn page(
        &mut self,
        file: &str,
        make: impl FnOnce(&PageContext<'_>) -> anyhow::Result<HtmlPage>,
    ) -> anyhow::Result<()> {
        let links = PageLinks::exported(&self.linked, file.contains('/'));
        let context = PageContext { memory: self.memory, links, token: None, semantic: Some(self.semantic.clone()) };
        let page = make(&context).unwrap_or_else(|error| error_page(links, &error).1);
        let text = document(&page, links, &self.project, None);
        self.write(file, &text)
    }

    fn write(&mut self, file: &str, text: &str) -> anyhow::Result<()> {
        let path = self.folder.join(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|source| failed("create", parent, source))?;
        }
        fs::write(&path, text).map_err(|source| failed("write", &path, source))?;
        self.written.push(file.to_owned());
        Ok(())
    }
}
