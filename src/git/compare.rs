//! What differs between two states of the files, and the content of files in commits.

use std::collections::HashMap;
use std::time::Duration;

use super::call::GitCall;
use super::{ObjectName, WorkTree, names};
use crate::error::{Error, Result};

/// The limit of the content that is read, in bytes.
const MAX_TEXTS: u64 = 64 * 1024 * 1024;
/// The most bytes that git prints about an object beside its content.
const MAX_HEAD: u64 = 128;
/// The limit of a list of changed files, in bytes: tens of thousands.
const MAX_CHANGES: u64 = 8 * 1024 * 1024;
/// Longer files are not read: they are generated.
pub(crate) const MAX_TEXT: usize = 256 * 1024;
/// How long git may take where an answer is shown without it: a history can be crafted to be endless.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// How long a call may take whose answer nothing replaces.
const LONG: Duration = Duration::from_secs(30);
/// How two states are compared: independently of settings, and without running a program.
const COMPARED: [&str; 7] = ["-r", "-z", "-M", "-l1000", "--raw", "--no-ext-diff", "--no-textconv"];
/// How the renames of commits are found.
const RENAMED: [&str; 10] = [
    "diff-tree",
    "--stdin",
    "-r",
    "-z",
    "-M",
    "-l1000",
    "--diff-filter=R",
    "--name-status",
    "--no-ext-diff",
    "--no-textconv",
];

/// How many of the newest commits are searched for renames.
const MAX_RENAMING: i64 = 1_000;

/// Two states of the project: a commit, and a later one, or the files as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiffRange {
    /// The earlier commit.
    pub from: String,
    /// The later one; `None` for the work tree.
    pub to: Option<String>,
}

/// A file of the project, outside of its memory, that differs between two states; one that is only in the later state is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileDiff {
    /// Its path in the earlier state, in the form of [`WorkTree::touches`].
    pub path: String,
    /// Its path in the later one; `None` if it is gone.
    pub now: Option<String>,
}

/// A file that a commit renamed. Paths are those of [`WorkTree::touches`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRename {
    pub commit: String,
    pub from: String,
    pub to: String,
}

/// A commit, or the id of a file, and a path, or none.
pub(crate) type Place<'a> = (&'a str, &'a str);

/// What commits have at places.
#[derive(Debug, Default)]
pub(crate) struct FileContents<'a> {
    /// The object ids of what is there, by commit and path.
    ids: HashMap<&'a str, HashMap<&'a str, String>>,
    contents: HashMap<String, FileContent>,
}

/// What a commit has at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileContent {
    /// A folder, or a file that is not text.
    NoText,
    /// A file that is too large, or that git did not print in time.
    Unread,
    /// A file, with replacement characters for invalid UTF-8.
    Text(String),
}

impl FileContent {
    pub(crate) fn new(bytes: &[u8]) -> FileContent {
        if bytes.contains(&0) {
            return FileContent::NoText;
        }
        FileContent::Text(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Returns the text, if it was read.
    pub(crate) fn text(&self) -> Option<&str> {
        if let FileContent::Text(text) = self { Some(text) } else { None }
    }
}

impl FileContents<'_> {
    /// Returns the object id and the content at a place that was asked for.
    pub(crate) fn get(&self, commit: &str, path: &str) -> (&str, &FileContent) {
        let id = self.ids.get(commit).and_then(|of| of.get(path)).map_or("", String::as_str);
        (id, self.contents.get(id).unwrap_or(&FileContent::Unread))
    }
}

impl WorkTree {
    /// Reads a range as `git diff` does: `A..B`, `A...B` from where B left A, and `A` for the changes since A.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a commit that is not there, and two without a common one.
    pub(crate) fn range(&self, range: &str) -> Result<DiffRange> {
        let invalid = |reason: String| Error::invalid("range", reason);
        let commit = |name: &str| {
            let name = if name.is_empty() { "HEAD" } else { name };
            let unknown = || {
                invalid(format!(
                    "`{}` is no commit that git knows: name branches, tags or commits, as in `main...HEAD`, and fetch \
                     them if the clone is shallow",
                    name.escape_debug()
                ))
            };
            // An option is no commit.
            if name.starts_with('-') || name.contains('\0') {
                return Err(unknown());
            }
            let call = self.call(&["rev-parse", "--verify", "--quiet", "--end-of-options"]);
            call.value(&format!("{name}^{{commit}}")).made().map_err(|_| unknown())
        };
        let Some((from, to)) = range.split_once("..") else {
            return Ok(DiffRange { from: commit(range)?.as_str().to_owned(), to: None });
        };
        let (mut from, to) = (commit(from)?, (to.strip_prefix('.'), to));
        let end = commit(to.0.unwrap_or(to.1))?;
        if to.0.is_some() {
            let base = self.call(&["merge-base"]).object(&from).object(&end).made();
            from =
                base.map_err(|_| invalid(format!("the ends of `{}` have no common commit", range.escape_debug())))?;
        }
        Ok(DiffRange { from: from.as_str().to_owned(), to: Some(end.as_str().to_owned()) })
    }

    /// Returns the files of the project that a range changes. Renames are followed.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] when `git` does not answer, or lists too many files.
    pub(crate) fn diff(&self, range: &DiffRange) -> Result<Vec<FileDiff>> {
        let call = if let Some(to) = &range.to {
            self.call(&["diff-tree"]).words(&COMPARED).value(&range.from).value(to)
        } else {
            // Threads that look at all files of the index would look at the memory's, too.
            let alone = "core.preloadIndex=false".to_owned();
            let settings = [self.index_settings()?.0, vec![alone]].concat();
            GitCall::within(self, &settings, &["diff-index", "--ignore-submodules"]).words(&COMPARED).value(&range.from)
        };
        // To compare the entries would take longer than all the rest.
        let project = self.project().filter(|path| !path.is_empty()).map(|path| format!(":(top,literal){path}"));
        let memory = self.own_path().map(|path| format!(":(exclude,top,literal){path}"));
        let answer = call.magic().paths(project.into_iter().chain(memory)).limit(MAX_CHANGES).ask_all()?;
        let records: Vec<String> = names(&answer).collect();
        let mut records = records.iter().map(String::as_str);
        let mut found = Vec::new();
        while let Some(record) = records.next() {
            // Links and submodules have no lines: a file that becomes one is gone.
            let mut modes = record.trim_start_matches(':').splitn(3, ' ').map(|mode| mode.starts_with("100"));
            let (was_file, is_file) = (modes.next() == Some(true), modes.next() == Some(true));
            let Some(path) = records.next() else { break };
            let now = if record.contains(" R") { records.next() } else { Some(path) };
            let now = now.filter(|_| is_file).and_then(|path| self.in_project(path));
            let Some(path) = self.in_project(path).filter(|_| was_file) else { continue };
            found.push(FileDiff { path: path.to_owned(), now: now.map(str::to_owned) });
        }
        Ok(found)
    }

    /// Returns the object ids of the files that a commit has below a folder, by their paths.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] when `git` does not answer.
    pub(crate) fn listed(&self, commit: &str, folder: &str) -> Result<HashMap<String, String>> {
        let Some(project) = self.project() else { return Ok(HashMap::new()) };
        let call = self.call(&["ls-tree", "-r", "-z"]).value(commit).paths([format!("{project}{folder}")]);
        let answer = call.limit(MAX_CHANGES).ask_all()?;
        let file = |record: String| {
            let (kind, path) = record.split_once('\t')?;
            Some((self.in_project(path)?.to_owned(), kind.rsplit(' ').next()?.to_owned()))
        };
        Ok(names(&answer).filter_map(file).collect())
    }

    /// Returns git's object id for a file with these bytes.
    pub(crate) fn object_id(&self, bytes: &[u8]) -> String {
        self.name_of(bytes).as_str().to_owned()
    }

    /// Returns the files that these commits, one a line, renamed, each in its order.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] when `git` does not answer in this time.
    pub(crate) fn renames(&self, commits: &str, patience: Duration) -> Result<Vec<FileRename>> {
        let answer = self.call(&RENAMED).input(commits.as_bytes()).patience(patience).takes_part().ask()?;
        let records: Vec<String> = names(&answer.output).collect();
        let mut records = records.iter().map(String::as_str);
        let (mut commit, mut found) = ("", Vec::new());
        while let Some(record) = records.next() {
            if !record.starts_with('R') {
                commit = record;
                continue;
            }
            let paths = (records.next().unwrap_or_default(), records.next().unwrap_or_default());
            let (Some(old), Some(new)) = (self.in_project(paths.0), self.in_project(paths.1)) else { continue };
            found.push(FileRename { commit: commit.to_owned(), from: old.to_owned(), to: new.to_owned() });
        }
        Ok(found)
    }

    /// Returns the newest commit, and the renames of files in the commits after `since`, or in the newest ones if there is no
    /// such commit: the old and the new path, the newest first. Paths are those of [`WorkTree::touches`]. Git gets this
    /// time for each of its answers, and the oldest renames are left out if it is too short.
    ///
    /// # Errors
    ///
    /// Those of [`WorkTree::touches`].
    pub(crate) fn renames_since(&self, since: &str, patience: Duration) -> Result<(String, Vec<(String, String)>)> {
        let head = self.call(&["rev-parse", "--verify", "HEAD"]).patience(patience).line()?.unwrap_or_default();
        if since == head {
            return Ok((head, Vec::new()));
        }
        let newest = || {
            self.call(&["rev-list", "--no-merges"]).number("--max-count=", MAX_RENAMING).word("HEAD").patience(patience)
        };
        // The commit of an earlier call may be gone.
        let after = ObjectName::parse(since).and_then(|_| newest().value(&format!("^{since}")).ask_all());
        let commits = after.or_else(|_| newest().ask_all())?;
        // A partial clone lacks the content of some files. Its renames are unknown, and asking again would not help.
        let renames = self.renames(&String::from_utf8_lossy(&commits), patience).unwrap_or_default();
        Ok((head, renames.into_iter().map(|renamed| (renamed.from, renamed.to)).collect()))
    }

    /// Returns what commits have at paths of the project: `HEAD`, or the id of a commit, and a path; or the id of a file, and
    /// no path. Each object is read once, the smallest first: those that are too large, or that git does not print within
    /// the limits, are [`FileContent::Unread`], and hide no other. Whoever `waits` gets more time.
    pub(crate) fn contents<'a>(&self, mut places: Vec<Place<'a>>, waits: bool) -> FileContents<'a> {
        places.sort_unstable();
        places.dedup();
        let patience = if waits { LONG } else { PATIENCE };
        let ask = |how: &'static str, input: &str, limit| {
            let call = self.call(&["cat-file", "--buffer"]).word(how).input(input.as_bytes());
            call.limit(limit).patience(patience).ask_all().unwrap_or_default()
        };
        let project = self.project().unwrap_or_default();
        // Git reads one place a line.
        let place = |(commit, path): &Place<'_>| match *path {
            "" => format!("{commit}\n"),
            path if path.contains('\n') => "-\n".to_owned(),
            path => format!("{commit}:{project}{path}\n"),
        };
        let listed = ask("--batch-check", &places.iter().map(place).collect::<String>(), MAX_CHANGES);
        let (mut found, mut sizes) = (FileContents::default(), HashMap::new());
        for (place, line) in places.iter().zip(String::from_utf8_lossy(&listed).lines()) {
            let object = line.split_once(' ').and_then(|(id, rest)| Some((id, rest.split_once(' ')?)));
            let object = object.and_then(|(id, (kind, size))| Some((id, kind, size.parse::<u64>().ok()?)));
            if let Some((id, kind, size)) = object {
                found.ids.entry(place.0).or_default().insert(place.1, id.to_owned());
                if kind != "blob" {
                    found.contents.insert(id.to_owned(), FileContent::NoText);
                } else if size <= MAX_TEXT as u64 {
                    sizes.insert(id.to_owned(), size);
                }
            }
        }
        let mut sizes: Vec<(u64, String)> = sizes.into_iter().map(|(id, size)| (size, id)).collect();
        sizes.sort_unstable();
        let mut limit = 0;
        let fits = |(size, _): &&(u64, String)| {
            limit += size + MAX_HEAD;
            limit <= MAX_TEXTS
        };
        let read: Vec<&str> = sizes.iter().take_while(fits).map(|(_, id)| id.as_str()).collect();
        if read.is_empty() {
            return found;
        }
        let answer = ask("--batch", &read.iter().flat_map(|id| [id, "\n"]).collect::<String>(), MAX_TEXTS);
        let mut answer = &answer[..];
        found.contents.extend(read.iter().map(|id| ((*id).to_owned(), next_content(&mut answer))));
        found
    }

    /// Returns when a commit was made, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] when `git` does not answer.
    pub(crate) fn made_at(&self, commit: &str) -> Result<i64> {
        let line = self.call(&["rev-list", "--timestamp", "--max-count=1"]).value(commit).line()?;
        Ok(line.and_then(|line| line.split_once(' ')?.0.parse().ok()).unwrap_or_default())
    }
}

/// Takes the next object from an answer of `git cat-file --batch`.
fn next_content(answer: &mut &[u8]) -> FileContent {
    let Some(end) = answer.iter().position(|byte| *byte == b'\n') else { return FileContent::Unread };
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    *answer = &answer[end + 1..];
    let size = head.rsplit_once(' ').and_then(|(_, size)| size.parse().ok());
    let Some(size) = size.filter(|size: &usize| *size < answer.len()) else { return FileContent::Unread };
    let (bytes, behind) = answer.split_at(size);
    *answer = &behind[1..];
    FileContent::new(bytes)
}
