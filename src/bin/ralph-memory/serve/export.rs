//! The pages as files, for a pull request or an archive.

use std::path::{Path, PathBuf};

use ralph_memory::Memory;
use ralph_memory::memory::SemanticStatus;
use ralph_memory::runner::Interrupt;

use super::export_folder::ExportFolder;
use super::html::{HtmlPage, PageContext};
use super::layout::document;
use super::links::{LinkedPages, NamedPage, PageLinks};
use super::pages::{self, ById, ContextFields, EntryArgs, FeatureArgs, NoFields, TimelineArgs, error_page};
use super::server::ASSETS;
use super::site::project_name;

/// What was exported.
pub(crate) struct ExportedSite {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// How many pages there are.
    pub(crate) pages: usize,
}

/// Is called with the number of pages that are written, and of those that are known.
pub(crate) type ReportPages<'a> = dyn Fn(usize, usize) + 'a;

/// Writes the pages into `folder`; returns `None`, and writes nothing, if it is interrupted.
pub(crate) fn export(
    memory: Memory,
    folder: &Path,
    interrupt: &Interrupt,
    report: &ReportPages<'_>,
) -> anyhow::Result<Option<ExportedSite>> {
    let output = ExportFolder::begin(folder)?;
    // Without this, each page would read all files that the index lacks. Where it fails, the pages only take longer.
    let _ = memory.update_index();
    let Some(output) = write_all(&memory.pinned(), output, interrupt, report)? else { return Ok(None) };
    Ok(Some(ExportedSite { folder: folder.to_owned(), pages: output.finish()? - ASSETS.len() }))
}

/// Writes the pages.
struct SiteWriter<'a> {
    memory: &'a Memory,
    output: ExportFolder,
    project: String,
    linked: LinkedPages,
    semantic: SemanticStatus,
}

/// Writes all files; `None` if it is interrupted.
fn write_all(
    memory: &Memory,
    output: ExportFolder,
    interrupt: &Interrupt,
    report: &ReportPages<'_>,
) -> anyhow::Result<Option<ExportFolder>> {
    let (project, semantic) = (project_name(memory), memory.semantic_status());
    let linked = LinkedPages::default();
    let mut writer = SiteWriter { memory, output, project, linked, semantic };
    for (name, _, text) in ASSETS {
        writer.output.write(name, text)?;
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
    loop {
        if interrupt.is_raised() {
            return Ok(None);
        }
        let Some((page, name)) = writer.linked.next() else { return Ok(Some(writer.output)) };
        writer.named(page, &name)?;
        let written = writer.output.files() - ASSETS.len();
        report(written, written + writer.linked.n_waiting());
    }
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
        self.output.write(file, &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_that_is_interrupted_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        Memory::init(folder.path()).unwrap();
        let memory = || Memory::open(folder.path()).unwrap();
        let files = || {
            walkdir::WalkDir::new(folder.path())
                .into_iter()
                .filter(|found| !found.as_ref().unwrap().path().starts_with(folder.path().join(".ralph/cache")))
                .count()
        };
        let before = files();
        let interrupt = Interrupt::default();
        interrupt.raise();
        assert!(export(memory(), &folder.path().join("site"), &interrupt, &|_, _| {}).unwrap().is_none());
        assert_eq!(files(), before);
        assert!(export(memory(), &folder.path().join("site"), &Interrupt::default(), &|_, _| {}).unwrap().is_some());
        assert!(files() > before);
    }
}
