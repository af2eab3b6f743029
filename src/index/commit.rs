//! The index on disk: opening what was committed, and committing more.

use std::io::{self, Read as _};
use std::sync::Arc;

use tantivy::directory::error::OpenReadError;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{Index, IndexWriter, SegmentReader, TantivyError, Term};

use super::directory::CacheDirectory;
use super::document::{Document, Fields};
use super::tokens::{self, Stems};
use crate::store::{FileKind, Folder};

/// Names the file that says what the index's files were like when they were last known to be whole.
const SEAL: &str = "seal";
/// How often opening is tried again while another process replaces segments.
const OPEN_ATTEMPTS: usize = 5;

/// What was last committed to an index folder.
pub struct Committed {
    pub(super) segments: Vec<SegmentReader>,
    id: String,
}

impl Committed {
    /// Opens the index in `folder`; `None` where there is none, or none that can be trusted.
    ///
    /// Nothing is synced when the index is written, and anybody can write to its folder. So after a
    /// restart of the machine (`boot` says which), and when a file's stat is not the one that was noted
    /// behind the last commit, every checksum is looked at once.
    pub fn open(folder: Folder, boot: &str) -> Option<Committed> {
        Committed::open_or_why(folder, boot).ok()
    }

    /// Does the same, and says why there is none.
    ///
    /// # Errors
    ///
    /// Those of the file system, and what else is wrong with the files.
    pub fn open_or_why(folder: Folder, boot: &str) -> tantivy::Result<Committed> {
        let folder = Arc::new(folder);
        let mut attempt = 1;
        loop {
            match Committed::try_open(&folder, boot) {
                // A segment that was merged away after its list was read: look at the list again.
                Err(TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }))
                    if io_error.kind() == io::ErrorKind::NotFound && attempt < OPEN_ATTEMPTS =>
                {
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    fn try_open(folder: &Arc<Folder>, boot: &str) -> tantivy::Result<Committed> {
        if folder.stat_of("meta.json")?.kind != FileKind::File {
            return Err(OpenReadError::FileDoesNotExist("meta.json".into()).into());
        }
        let directory = CacheDirectory::new(folder);
        Committed::open_in(directory.clone(), folder, boot).map_err(|error| directory.explain(error))
    }

    fn open_in(directory: CacheDirectory, folder: &Folder, boot: &str) -> tantivy::Result<Committed> {
        let index = open_index(directory, &Fields::new())?;
        let seal = seal(folder, boot)?;
        if read_seal(folder).ok().as_deref() != Some(&seal) {
            if !index.validate_checksum()?.is_empty() {
                return Err(TantivyError::SystemError("a file of the index is torn".to_owned()));
            }
            // Failing to say so costs the next reader the same look, no more.
            let _ = folder.replace_file(SEAL, seal.as_bytes());
        }
        let meta = index.load_metas()?;
        let id = meta.payload.ok_or_else(|| TantivyError::SystemError("the index was never committed".to_owned()))?;
        let segments = meta
            .segments
            .into_iter()
            .map(|segment| SegmentReader::open(&index.segment(segment)))
            .collect::<tantivy::Result<Vec<_>>>()?;
        Ok(Committed { segments, id })
    }

    /// Returns the id that was given to the commit.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns how many documents it holds, replaced ones left out.
    pub fn n_documents(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.num_docs())).sum()
    }
}

/// Returns what the files of an index are like: the machine's boot, and the stat of each. Whoever
/// changes a byte of one changes its stat.
fn seal(folder: &Folder, boot: &str) -> io::Result<String> {
    let mut files = Vec::new();
    for name in folder.names()? {
        let name = name.to_string_lossy();
        // The locks and the seal itself say nothing of the index; Tantivy's list of files is for its
        // garbage collection.
        if name == SEAL || name.starts_with('.') {
            continue;
        }
        match folder.stat_of(&name) {
            Ok(stat) => files.push(format!("{name} {} {} {} {}", stat.size, stat.mtime, stat.ctime, stat.ino)),
            // A commit in another process takes files away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    files.sort_unstable();
    Ok(format!("{boot}\n{}\n", files.join("\n")))
}

fn read_seal(folder: &Folder) -> io::Result<String> {
    let mut text = String::new();
    folder.open_file(SEAL)?.read_to_string(&mut text)?;
    Ok(text)
}

fn open_index(directory: CacheDirectory, fields: &Fields) -> tantivy::Result<Index> {
    let index = Index::open(directory)?;
    if index.schema() != fields.schema {
        return Err(TantivyError::SchemaError("the index has other fields".to_owned()));
    }
    tokens::register(index.tokenizers());
    Ok(index)
}

/// One batch of changes to an index folder, which takes effect with [`commit`](Writer::commit).
///
/// The caller holds the cache lock from before the writer is made until it is dropped.
pub struct Writer {
    batch: IndexWriter,
    fields: Fields,
    stems: Stems,
    folder: Arc<Folder>,
    directory: CacheDirectory,
    failed: Option<TantivyError>,
}

impl Writer {
    /// Begins a batch on what is committed in `folder`, or, with `fresh`, on an empty index that takes
    /// the place of whatever is there.
    ///
    /// `n_expected` is about how many documents will be added: it sets how much memory they may take
    /// before they are written out.
    ///
    /// # Errors
    ///
    /// Those of opening an index that is broken, and of the file system.
    pub fn begin(folder: Folder, fresh: bool, n_expected: usize) -> tantivy::Result<Writer> {
        let folder = Arc::new(folder);
        let directory = CacheDirectory::new(&folder);
        Writer::begin_in(directory.clone(), folder, fresh, n_expected).map_err(|error| directory.explain(error))
    }

    fn begin_in(
        directory: CacheDirectory,
        folder: Arc<Folder>,
        fresh: bool,
        n_expected: usize,
    ) -> tantivy::Result<Writer> {
        let fields = Fields::new();
        let index = if fresh {
            folder.clear()?;
            let index = Index::create(directory.clone(), fields.schema.clone(), super::settings())?;
            tokens::register(index.tokenizers());
            index
        } else {
            open_index(directory.clone(), &fields)?
        };
        // About 6 KB an entry keeps a build to one segment; Tantivy wants at least 15 MB.
        let memory = (n_expected * 6_000).clamp(15_000_000, 80_000_000);
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(memory)
            .build();
        let writer: IndexWriter = index.writer_with_options(options)?;
        let mut policy = LogMergePolicy::default();
        // The default puts every segment under 10,000 documents in one layer, and every eighth commit
        // would write a small index anew.
        policy.set_min_layer_size(64);
        policy.set_min_num_segments(8);
        policy.set_del_docs_ratio_before_merge(0.3);
        writer.set_merge_policy(Box::new(policy));
        // A process that was killed leaves segment files that no commit names. One of them can have
        // the name that a later commit wants, and then no commit succeeds again.
        writer.garbage_collect_files().wait()?;
        Ok(Writer { batch: writer, fields, stems: Stems::new(), folder, directory, failed: None })
    }

    /// Takes the document of a path out.
    pub fn remove(&mut self, path: &str) {
        self.batch.delete_term(Term::from_field_text(self.fields.path, path));
    }

    /// Puts a document in. The path's old one, if there is one, must be removed before.
    ///
    /// An error is kept for [`commit`](Writer::commit), which then commits nothing.
    pub fn add(&mut self, document: Document<'_>) {
        if self.failed.is_none() {
            let document = document.to_tantivy(&self.fields, &mut self.stems);
            self.failed = self.batch.add_document(document).err();
        }
    }

    /// Makes all changes visible at once, under this id, and waits for the merges that follow.
    pub fn commit(self, id: &str, boot: &str) -> tantivy::Result<()> {
        let directory = self.directory.clone();
        self.commit_all(id, boot).map_err(|error| directory.explain(error))
    }

    fn commit_all(mut self, id: &str, boot: &str) -> tantivy::Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut prepared = self.batch.prepare_commit()?;
        prepared.set_payload(id);
        prepared.commit()?;
        self.batch.wait_merging_threads()?;
        self.folder.replace_file(SEAL, seal(&self.folder, boot)?.as_bytes())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    /// Every file of a segment can go while it is being opened, and Tantivy does not tell of each.
    #[test]
    fn a_segment_that_goes_meanwhile_is_none() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::create_root(place.path()).unwrap();
        let folder = || store.make_cache_folder("index").unwrap();
        let text = "---\ntitle: \"A title of several words\"\n---\n\nA body of several words.\n";
        let entry = crate::entry::read(".ralph/knowledge/a.md", text.as_bytes());
        let write = || {
            let mut writer = Writer::begin(folder(), true, 1).unwrap();
            let path = ".ralph/knowledge/a.md";
            writer.add(Document { path, head: &entry.head, body: &entry.body, text: &entry.text });
            writer.commit("one", "boot").unwrap();
        };
        write();
        let names: Vec<String> = folder()
            .names()
            .unwrap()
            .into_iter()
            .map(|name| name.into_string().unwrap())
            .filter(|name| name.contains('.') && !name.starts_with('.') && name.split('.').next_back() != Some("json"))
            .collect();
        let extensions: Vec<&str> = names.iter().filter_map(|name| name.split('.').next_back()).collect();
        assert!(extensions.contains(&"pos"), "{names:?}");
        for extension in extensions {
            write();
            assert!(Committed::open(folder(), "boot").is_some());
            let gone = |name: &str| name.ends_with(&format!(".{extension}"));
            let name = folder().names().unwrap().into_iter().map(|name| name.into_string().unwrap()).find(|n| gone(n));
            folder().remove_file(&name.unwrap()).unwrap();
            // Whoever came before it went has seen that all is whole.
            let seal = seal(&folder(), "boot").unwrap();
            folder().replace_file(SEAL, seal.as_bytes()).unwrap();
            assert!(Committed::open(folder(), "boot").is_none(), "{extension}");
        }
    }
}
