//! The index on disk: opening the committed one, and committing changes.

use std::io::{self, Read as _};
use std::sync::Arc;

use tantivy::directory::error::OpenReadError;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{Index, IndexWriter, SegmentReader, TantivyError, Term};

use super::directory::CacheDirectory;
use super::document::{Document, IndexFields};
use super::guard::guarded;
use super::tokens::Stems;
use crate::store::{FileKind, Folder};

/// Names the file which records that every checksum was verified since the machine was started.
const SEAL: &str = "seal";
/// The longest such file that is read, in bytes.
const MAX_SEAL: u64 = 64;
/// How many times opening is tried while another process replaces segments.
const OPEN_ATTEMPTS: usize = 5;

/// The last commit of an index folder.
pub struct Committed {
    pub(super) segments: Vec<SegmentReader>,
    id: String,
}

impl Committed {
    /// Opens the index in `folder`, if there is one that can be trusted.
    ///
    /// Anyone can put files into its folder, and a repository can contain them. So a file counts only if it was written
    /// here, with this key of the cache, and if its stat is the same as after the commit. Nothing is synced when the index is
    /// written, so after a restart of the machine (`boot` identifies the start) every checksum is verified once.
    ///
    /// # Errors
    ///
    /// Those of the file system, and other problems of the files.
    pub fn open(folder: Folder, key: u64, boot: &str) -> tantivy::Result<Committed> {
        let folder = Arc::new(folder);
        let mut attempt = 1;
        loop {
            let opened = guarded(|| Committed::try_open(&folder, key, boot));
            match opened.unwrap_or_else(|_| Err(TantivyError::SystemError("a file of the index is damaged".to_owned())))
            {
                // A segment that was merged away after its list was read: read the list again.
                Err(TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }))
                    if io_error.kind() == io::ErrorKind::NotFound && attempt < OPEN_ATTEMPTS =>
                {
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    fn try_open(folder: &Arc<Folder>, key: u64, boot: &str) -> tantivy::Result<Committed> {
        if folder.stat_of("meta.json")?.kind != FileKind::File {
            return Err(OpenReadError::FileDoesNotExist("meta.json".into()).into());
        }
        let directory = CacheDirectory::new(folder, key, boot);
        Committed::open_in(&directory, folder).map_err(|error| directory.explain(error))
    }

    fn open_in(directory: &CacheDirectory, folder: &Folder) -> tantivy::Result<Committed> {
        let index = open_index(directory.clone(), &IndexFields::default())?;
        let meta = index.load_metas()?;
        if !directory.is_of_this_boot() && read_seal(folder).ok().as_ref() != Some(&directory.looked_at()) {
            let segments: Vec<String> = meta.segments.iter().map(|segment| segment.id().uuid_string()).collect();
            let is_of_segment = |name: &String| segments.iter().any(|segment| name.starts_with(segment.as_str()));
            for name in directory.sealed().into_iter().filter(is_of_segment) {
                if !index.directory().validate_checksum(name.as_ref())? {
                    return Err(TantivyError::SystemError("a file of the index is torn".to_owned()));
                }
            }
            // If this fails, the next reader only repeats the check.
            let _ = folder.replace_file(SEAL, directory.looked_at().as_bytes());
        }
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

    /// Returns how many documents it contains, without replaced ones.
    pub fn n_documents(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.num_docs())).sum()
    }
}

fn read_seal(folder: &Folder) -> io::Result<String> {
    let mut text = String::new();
    folder.open_file(SEAL)?.take(MAX_SEAL).read_to_string(&mut text)?;
    Ok(text)
}

fn open_index(directory: CacheDirectory, fields: &IndexFields) -> tantivy::Result<Index> {
    let index = Index::open(directory)?;
    if index.schema() != fields.schema {
        return Err(TantivyError::SchemaError("the index has other fields".to_owned()));
    }
    Ok(index)
}

/// One batch of changes to an index folder, which takes effect with [`commit`](Writer::commit).
///
/// The caller has the cache lock from before the writer is made until it is dropped.
pub(crate) struct Writer {
    batch: IndexWriter,
    fields: IndexFields,
    stems: Stems,
    directory: CacheDirectory,
    failed: Option<TantivyError>,
}

impl Writer {
    /// Begins a batch on the commit in `folder`, or, with `fresh`, on an empty index that replaces whatever is there.
    ///
    /// `n_expected` is about how many documents will be added: it sets how much memory they may take
    /// before they are written out.
    ///
    /// # Errors
    ///
    /// Those of opening an index that is broken, and of the file system.
    pub(crate) fn begin(
        folder: Folder,
        key: u64,
        boot: &str,
        fresh: bool,
        n_expected: usize,
    ) -> tantivy::Result<Writer> {
        let folder = Arc::new(folder);
        let directory = CacheDirectory::new(&folder, key, boot);
        Writer::begin_in(directory.clone(), &folder, fresh, n_expected).map_err(|error| directory.explain(error))
    }

    fn begin_in(directory: CacheDirectory, folder: &Folder, fresh: bool, n_expected: usize) -> tantivy::Result<Writer> {
        let fields = IndexFields::default();
        let index = if fresh {
            folder.clear()?;
            Index::create(directory.clone(), fields.schema.clone(), super::settings())?
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
        // The default puts every segment under 10,000 documents in one layer, so that every eighth commit would rewrite
        // a small index.
        policy.set_min_layer_size(64);
        policy.set_min_num_segments(8);
        policy.set_del_docs_ratio_before_merge(0.3);
        writer.set_merge_policy(Box::new(policy));
        // A killed process leaves segment files that no commit names. A later commit may need the name of one of them,
        // and would fail each time.
        writer.garbage_collect_files().wait()?;
        Ok(Writer { batch: writer, fields, stems: Stems::default(), directory, failed: None })
    }

    /// Removes the document of a path.
    pub(crate) fn remove(&mut self, path: &str) {
        self.batch.delete_term(Term::from_field_text(self.fields.path, path));
    }

    /// Adds a document. An older one with the same path must be removed first.
    ///
    /// An error is kept for [`commit`](Writer::commit), which then commits nothing.
    pub(crate) fn add(&mut self, document: Document<'_>) {
        if self.failed.is_none() {
            let document = document.to_tantivy(&self.fields, &mut self.stems);
            self.failed = self.batch.add_document(document).err();
        }
    }

    /// Makes all changes visible at once, under this id, and waits for the merges that follow.
    pub(crate) fn commit(self, id: &str) -> tantivy::Result<()> {
        let directory = self.directory.clone();
        self.commit_all(id).map_err(|error| directory.explain(error))
    }

    fn commit_all(mut self, id: &str) -> tantivy::Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut prepared = self.batch.prepare_commit()?;
        prepared.set_payload(id);
        prepared.commit()?;
        self.batch.wait_merging_threads()
    }
}

/// Accepts the current files of an index as if they had been written whole.
#[cfg(test)]
pub(crate) fn reseal(store: &crate::store::Store, index: &str) {
    use std::path::Path;
    use tantivy::directory::Directory as _;
    let folder = Arc::new(store.make_cache_folder(index).unwrap());
    let directory = CacheDirectory::new(&folder, store.cache_key().unwrap(), "");
    let list = directory.atomic_read(Path::new("meta.json")).unwrap();
    directory.reseal(&list);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    /// A folder with an index of one entry.
    struct Place {
        store: Store,
        _folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Place {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::create_root(folder.path()).unwrap();
            Place { store, _folder: folder }
        }

        fn folder(&self) -> Folder {
            self.store.make_cache_folder("index").unwrap()
        }

        fn write(&self, boot: &str) {
            let text = "---\ntitle: \"A title of several words\"\n---\n\nA body of several words.\n";
            let entry = crate::entry::read(".ralph/knowledge/a.md", text.as_bytes());
            let mut writer = Writer::begin(self.folder(), self.store.make_cache_key().unwrap(), boot, true, 1).unwrap();
            let path = ".ralph/knowledge/a.md";
            writer.add(Document { path, head: &entry.head, body: &entry.body, text: &entry.text });
            writer.commit("one").unwrap();
        }

        fn opens(&self, boot: &str) -> bool {
            Committed::open(self.folder(), self.store.cache_key().unwrap(), boot).is_ok()
        }

        /// The names of the segment's files.
        fn names(&self) -> Vec<String> {
            let names = self.folder().names().unwrap().into_iter().map(|name| name.into_string().unwrap());
            let is_of_segment = |name: &String| !name.starts_with('.') && kind(name).is_some_and(|kind| kind != "json");
            names.filter(is_of_segment).collect()
        }

        /// The segment's file of a kind.
        fn named(&self, wanted: &str) -> String {
            self.names().into_iter().find(|name| kind(name) == Some(wanted)).unwrap()
        }
    }

    fn kind(name: &str) -> Option<&str> {
        name.rsplit_once('.').map(|(_, kind)| kind)
    }

    /// Every file of a segment can disappear while it is being opened, and Tantivy does not report each case.
    #[test]
    fn a_segment_that_disappears_is_ignored() {
        let place = Place::new();
        place.write("boot");
        let names = place.names();
        let extensions: Vec<&str> = names.iter().filter_map(|name| kind(name)).collect();
        assert!(extensions.contains(&"pos"), "{names:?}");
        for extension in extensions {
            place.write("boot");
            assert!(place.opens("boot"));
            let gone = place.named(extension);
            place.folder().remove_file(&gone).unwrap();
            assert!(!place.opens("boot"), "{extension}");
        }
    }

    #[test]
    fn a_replaced_file_is_not_trusted_even_with_the_same_bytes() {
        let place = Place::new();
        place.write("boot");
        for name in place.names() {
            place.write("boot");
            assert!(place.opens("boot"));
            let path = place.store.cache().join("index");
            let path = path.join(place.named(kind(&name).unwrap()));
            let bytes = std::fs::read(&path).unwrap();
            place.folder().replace_file(path.file_name().unwrap().to_str().unwrap(), &bytes).unwrap();
            assert!(!place.opens("boot"), "{}", path.display());
        }
        // Only the checksums of lists are compared, so that an equal list is the same.
        place.write("boot");
        for name in ["meta.json", ".managed.json"] {
            let bytes = std::fs::read(place.store.cache().join("index").join(name)).unwrap();
            place.folder().replace_file(name, &bytes).unwrap();
            assert!(place.opens("boot"), "{name}");
            let last = bytes.len() - 1;
            place.folder().replace_file(name, &[&bytes[..last], &[bytes[last] ^ 1]].concat()).unwrap();
            assert!(!place.opens("boot"), "{name}");
            place.folder().replace_file(name, &bytes).unwrap();
        }
    }

    #[test]
    fn every_checksum_is_verified_after_a_restart() {
        let place = Place::new();
        place.write("before");
        let seal = || std::fs::read(place.store.cache().join("index").join(SEAL)).ok();
        assert!(place.opens("before") && seal().is_none());
        assert!(place.opens("after"));
        let first = seal().unwrap();
        assert!(place.opens("after") && place.opens("before"));
        assert_eq!(seal(), Some(first));
        // Damage by a power cut that the stat does not show is found when checksums are verified, and not before.
        let name = place.named("store");
        let path = place.store.cache().join("index").join(&name);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[0] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        reseal(&place.store, "index");
        assert!(place.opens("before") && !place.opens("later"));
    }

    #[test]
    fn a_new_anchor_invalidates_everything() {
        let place = Place::new();
        place.write("boot");
        assert!(place.opens("boot"));
        let path = place.store.cache().join("anchor");
        // So that the inode differs.
        std::fs::write(path.with_file_name("other"), "").unwrap();
        std::fs::rename(path.with_file_name("other"), &path).unwrap();
        assert!(!place.opens("boot"));
        place.write("boot");
        assert!(place.opens("boot"));
    }
}
