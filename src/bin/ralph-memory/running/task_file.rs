//! A checklist in markdown: its first open box is the task, and is ticked when that is done.
//!
//! The file is a person's, and may be edited while a run goes on. So it is read anew each time, and a
//! tick changes one byte of what stands there by then.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use ralph_memory::{Error, Task};

use super::random;
use crate::error::Usage;

/// The largest checklist, in bytes.
const MAX_BYTES: usize = 1024 * 1024;
/// How often a tick begins again when the file was changed meanwhile.
const MAX_TRIES: usize = 5;

/// A box of a checklist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// Its first line.
    pub(crate) title: String,
    /// What else stands in it, boxes in it left out.
    pub(crate) description: String,
    /// The titles of the boxes that it is in, the outermost first.
    pub(crate) parents: Vec<String>,
    /// The line that it begins in, from 1.
    pub(crate) line: usize,
    is_ticked: bool,
    /// The byte between its brackets.
    mark: usize,
}

/// What a checklist says is next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// This box.
    Open(Item),
    /// Nothing: all boxes are ticked, and there are so many.
    AllTicked(usize),
}

/// What became of a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ticked {
    /// The box is ticked now.
    Now,
    /// Somebody else ticked it.
    Already,
    /// It was not ticked, for this reason.
    Not(String),
}

impl Item {
    /// Returns it as a task. Two boxes of one title are one task to a memory.
    pub(crate) fn task(&self) -> Task {
        let parents = self.parents.join(" › ");
        let description = match (parents.is_empty(), self.description.is_empty()) {
            (true, _) => self.description.clone(),
            (false, true) => format!("Part of: {parents}"),
            (false, false) => format!("Part of: {parents}\n\n{}", self.description),
        };
        Task { id: Some(Task::id_of_title(&self.title)), description, ..Task::new(self.title.clone()) }
    }

    fn is_named_like(&self, other: &Item) -> bool {
        self.title == other.title && self.parents == other.parents
    }
}

/// Returns what is next in the checklist.
pub(crate) fn next(path: &Path) -> anyhow::Result<Next> {
    let file = Checklist::read(path)?;
    if file.items.is_empty() {
        let message = format!("there are no boxes in `{}`", path.display());
        let hint = "a checklist has lines like `- [ ] Speed up the catalog scan`".to_owned();
        return Err(Usage { message, hint }.into());
    }
    let n_items = file.items.len();
    let open = file.items.into_iter().find(|item| !item.is_ticked);
    Ok(open.map_or(Next::AllTicked(n_items), Next::Open))
}

/// Ticks a box. One that has moved is found again by what it says.
pub(crate) fn tick(path: &Path, item: &Item) -> anyhow::Result<Ticked> {
    for _ in 0..MAX_TRIES {
        let file = Checklist::read(path)?;
        let found = match find(&file.items, item) {
            Ok(found) if found.is_ticked => return Ok(Ticked::Already),
            Ok(found) => found,
            Err(reason) => return Ok(Ticked::Not(reason)),
        };
        let mut bytes = file.bytes.clone();
        bytes[found.mark] = b'x';
        if file.replace(&bytes).map_err(|source| Error::Io { action: "write", path: path.to_owned(), source })? {
            return Ok(Ticked::Now);
        }
    }
    Ok(Ticked::Not("the file does not stop changing".to_owned()))
}

/// Takes the tick away from a box that was not earned. Returns whether the box is still there; where several
/// could be meant, none is touched.
pub(crate) fn untick(path: &Path, item: &Item) -> anyhow::Result<bool> {
    for _ in 0..MAX_TRIES {
        let file = Checklist::read(path)?;
        let Ok(found) = find(&file.items, item) else { return Ok(false) };
        if !found.is_ticked {
            return Ok(true);
        }
        let mut bytes = file.bytes.clone();
        bytes[found.mark] = b' ';
        if file.replace(&bytes).map_err(|source| Error::Io { action: "write", path: path.to_owned(), source })? {
            return Ok(true);
        }
    }
    Ok(true)
}

/// Returns the box that is meant.
fn find<'a>(items: &'a [Item], wanted: &Item) -> Result<&'a Item, String> {
    let is_in_place = |item: &&Item| item.mark == wanted.mark && item.is_named_like(wanted);
    if let Some(item) = items.iter().find(is_in_place) {
        return Ok(item);
    }
    let named: Vec<&Item> = items.iter().filter(|item| item.is_named_like(wanted)).collect();
    let titled = || items.iter().filter(|item| item.title == wanted.title).collect();
    let named: Vec<&Item> = if named.is_empty() { titled() } else { named };
    match named.as_slice() {
        [] => Err(format!("the box `{}` is no longer in it", wanted.title)),
        [item] => Ok(item),
        // Which of them is meant does not matter when all are ticked.
        [item, ..] if named.iter().all(|item| item.is_ticked) => Ok(item),
        _ => Err(format!("it was changed, and {} boxes say `{}`", named.len(), wanted.title)),
    }
}

/// A checklist as it was read.
struct Checklist {
    /// Where it is, links followed.
    path: PathBuf,
    bytes: Vec<u8>,
    items: Vec<Item>,
}

impl Checklist {
    fn read(path: &Path) -> anyhow::Result<Checklist> {
        let refuse = |reason: &str| Usage {
            message: format!("the checklist `{}` {reason}", path.display()),
            hint: "a checklist is a markdown file of at most 1 MiB".to_owned(),
        };
        let io_error = |source| Error::Io { action: "read", path: path.to_owned(), source };
        let real = fs::canonicalize(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => anyhow::Error::from(refuse("does not exist")),
            _ => io_error(source).into(),
        })?;
        // Opening a pipe would wait for somebody to write to it.
        if !fs::metadata(&real).map_err(io_error)?.is_file() {
            return Err(refuse("is not a file").into());
        }
        let mut bytes = Vec::new();
        let limit = MAX_BYTES as u64 + 1;
        File::open(&real).and_then(|file| file.take(limit).read_to_end(&mut bytes)).map_err(io_error)?;
        if bytes.len() > MAX_BYTES {
            return Err(refuse("is over 1 MiB").into());
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| refuse("is not UTF-8"))?;
        let items = items(text);
        Ok(Checklist { path: real, bytes, items })
    }

    /// Puts other bytes in place of those that were read. `false` means that these are no longer there.
    fn replace(&self, bytes: &[u8]) -> io::Result<bool> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let like = fs::metadata(&self.path)?;
        let temporary = Temporary(folder.join(format!(".tmp-{}", random())));
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(like.mode() & 0o777).open(&temporary.0)?;
        file.write_all(bytes)?;
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
            // Root may give a file away, others mostly not: then the new one is its writer's.
            let _ = std::os::unix::fs::fchown(&file, Some(like.uid()), Some(like.gid()));
        }
        // After the owner, whose change takes some bits away.
        file.set_permissions(like.permissions())?;
        file.sync_all()?;
        if fs::read(&self.path)? != self.bytes {
            return Ok(false);
        }
        fs::rename(&temporary.0, &self.path)?;
        // It is in place; a system that cannot make that last has done all it can.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
        Ok(true)
    }
}

/// A file that goes when this is dropped; once it was renamed there is none.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A list item that is being read.
struct Open {
    range: Range<usize>,
    /// Whether its box is ticked, and the byte between the brackets.
    mark: Option<(bool, usize)>,
    /// Where boxes in it stand.
    inner: Vec<Range<usize>>,
}

/// Returns the boxes of a text in the order of work: those in a box before it, since it is done when
/// they are. What is quoted is no box.
fn items(text: &str) -> Vec<Item> {
    const BOM: &str = "\u{feff}";
    let markdown = text.strip_prefix(BOM).unwrap_or(text);
    let start = text.len() - markdown.len();
    let mut found = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut n_quotes = 0;
    for (event, range) in Parser::new_ext(markdown, Options::ENABLE_TASKLISTS).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_)) => n_quotes += 1,
            Event::End(TagEnd::BlockQuote(_)) => n_quotes -= 1,
            Event::Start(Tag::Item) => open.push(Open { range, mark: None, inner: Vec::new() }),
            Event::TaskListMarker(is_ticked) if n_quotes == 0 => {
                let bracket = markdown[range.clone()].find('[').map(|at| range.start + at + 1);
                if let (Some(item), Some(mark)) = (open.last_mut(), bracket) {
                    item.mark = Some((is_ticked, mark));
                }
            }
            Event::End(TagEnd::Item) => {
                let Some(item) = open.pop() else { continue };
                let Some((is_ticked, mark)) = item.mark else { continue };
                let (title, description) = content(markdown, &item, mark);
                if title.is_empty() {
                    continue;
                }
                for outer in &mut open {
                    outer.inner.push(item.range.clone());
                }
                let outer = open.iter().filter_map(|outer| Some(content(markdown, outer, outer.mark?.1).0));
                let line = markdown[..mark].matches('\n').count() + 1;
                found.push(Item { title, description, parents: outer.collect(), line, is_ticked, mark: mark + start });
            }
            _ => {}
        }
    }
    found
}

/// Returns the first line of an item, and what else stands in it.
fn content(text: &str, item: &Open, mark: usize) -> (String, String) {
    let mut own = String::new();
    let mut at = mark + "x]".len();
    let mut inner = item.inner.clone();
    inner.sort_by_key(|inner| inner.start);
    for inner in inner {
        // Boxes in boxes stand in the range of the outer one.
        own.push_str(text.get(at..inner.start).unwrap_or_default().trim_end_matches([' ', '\t']));
        at = at.max(inner.end);
    }
    own.push_str(text.get(at..item.range.end).unwrap_or_default());
    let own = own.trim();
    let (title, rest) = own.split_once('\n').unwrap_or((own, ""));
    let line_start = text[..mark].rfind('\n').map_or(0, |at| at + 1);
    let indent = columns(&text[line_start..mark - 1]);
    let lines: Vec<&str> = rest.lines().map(|line| outdented(line, indent).trim_end()).collect();
    (title.trim().to_owned(), lines.join("\n").trim_matches('\n').to_owned())
}

/// Returns how wide the beginning of a line is, a tab reaching to the next multiple of 4.
fn columns(text: &str) -> usize {
    text.chars().fold(0, |column, character| if character == '\t' { column / 4 * 4 + 4 } else { column + 1 })
}

/// Takes white space of this width from the beginning of a line; a tab goes as a whole.
fn outdented(line: &str, width: usize) -> &str {
    let is_kept = |(at, character): &(usize, char)| !matches!(character, ' ' | '\t') || columns(&line[..*at]) >= width;
    line.char_indices().find(is_kept).map_or("", |(at, _)| &line[at..])
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::error;

    /// Returns the boxes as a line each: ticked or not, parents and title, description.
    fn told(text: &str) -> Vec<String> {
        let tell = |item: &Item| {
            let names: Vec<&str> = item.parents.iter().chain([&item.title]).map(String::as_str).collect();
            let description = item.description.replace('\n', "|");
            format!("{}{}:{}:{}", if item.is_ticked { '+' } else { '-' }, item.line, names.join(">"), description)
        };
        items(text).iter().map(tell).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(told(text), expected, "{text:?}");
        let crlf = text.replace('\n', "\r\n");
        assert_eq!(told(&crlf), expected, "{crlf:?}");
        let bom = format!("\u{feff}{text}");
        assert_eq!(told(&bom), expected, "{bom:?}");
        for item in items(&bom) {
            let around = &bom[item.mark - 1..item.mark + 2];
            assert!(around.starts_with('[') && around.ends_with(']'), "{around:?}");
        }
    }

    #[test]
    fn boxes_are_found_whatever_the_list() {
        check("- [ ] one\n- [x] two\n- [X] three\n", &["-1:one:", "+2:two:", "+3:three:"]);
        check("* [ ] one\n\n+ [ ] two\n\n1. [ ] three\n2) [ ] four", &["-1:one:", "-3:two:", "-5:three:", "-6:four:"]);
        check("# Tasks\n\nText.\n\n-   [ ] `a` **b** [c](d)  \n", &["-5:`a` **b** [c](d):"]);
        check("-\t[ ] one\n\ttwo\n", &["-1:one:two"]);
        check("- [ ] one\n\n- [ ] two\n\n  more\n\n- [ ] three\n", &["-1:one:", "-3:two:more", "-7:three:"]);
        check("- [ ] é 日本\n", &["-1:é 日本:"]);
    }

    #[test]
    fn what_is_no_box_is_none() {
        check("```\n- [ ] one\n```\n~~~md\n- [ ] two\n~~~\n", &[]);
        check("    - [ ] code\n", &[]);
        check("> - [ ] quoted\n", &[]);
        check("<!--\n- [ ] remark\n-->\n", &[]);
        check("[ ] one\n\n- [] two\n- [y] three\n- [ ]four\n- \\[ ] five\n- `[ ]` six\n- x [ ] seven\n", &[]);
        check("- [ ]\n- [ ] \n", &[]);
        check("- [ ] one\n\n  ```\n  - [ ] code\n  ```\n", &["-1:one:```|- [ ] code|```"]);
        check("", &[]);
    }

    #[test]
    fn a_description_is_what_stands_in_the_item() {
        check("- [ ] one\n  two\n  three\n\nText.\n", &["-1:one:two|three"]);
        check(
            "- [ ] one\n\n  two\n\n      code\n  - point\n    - deep\n\n- [ ] next\n",
            &["-1:one:two||    code|- point|  - deep", "-9:next:"],
        );
        check("- [ ] one\nlazy\n", &["-1:one:lazy"]);
        check("10. [ ] one\n    two\n", &["-1:one:two"]);
        check("- [ ] one  \n\t  two\n", &["-1:one:  two"]);
    }

    #[test]
    fn boxes_in_a_box_come_before_it() {
        check(
            "- [ ] a\n  - [ ] b\n    - [ ] c\n  - [x] d\n- [ ] e\n",
            &["-3:a>b>c:", "-2:a>b:", "+4:a>d:", "-1:a:", "-5:e:"],
        );
        check("- [ ] a\n  why\n  - [ ] b\n    how\n  - point\n", &["-3:a>b:how", "-1:a:why|- point"]);
        check("- group\n  - [ ] a\n  - sub\n    - [ ] b\n", &["-2:a:", "-4:b:"]);
        check("- [x] a\n  - [ ] b\n", &["-2:a>b:", "+1:a:"]);
        check("1. [ ] a\n   - [ ] b\n\n     text\n\n   after\n2. [ ] c\n", &["-2:a>b:text", "-1:a:after", "-7:c:"]);
    }

    #[test]
    fn a_box_is_a_task() {
        let items = items("- [ ] Storage\n  - [ ] Write  tests\n    at length\n  - [ ] Ship\n");
        let tasks: Vec<Task> = items.iter().map(Item::task).collect();
        assert_eq!(tasks[0].title, "Write  tests");
        assert_eq!(tasks[0].id.as_deref(), Some(Task::id_of_title("write tests").as_str()));
        assert_eq!(tasks[0].description, "Part of: Storage\n\nat length");
        assert_eq!((tasks[1].description.as_str(), tasks[2].description.as_str()), ("Part of: Storage", ""));
    }

    struct File {
        folder: tempfile::TempDir,
    }

    impl File {
        fn new(text: impl AsRef<[u8]>) -> File {
            let file = File { folder: tempfile::tempdir().unwrap() };
            file.write(text);
            file
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("tasks.md")
        }

        fn write(&self, text: impl AsRef<[u8]>) {
            fs::write(self.path(), text).unwrap();
        }

        fn next(&self) -> Item {
            match next(&self.path()).unwrap() {
                Next::Open(item) => item,
                other @ Next::AllTicked(_) => panic!("{other:?}"),
            }
        }
    }

    /// Ticks the first open box of a text, which was changed to another one meanwhile.
    #[track_caller]
    fn check_tick(before: &str, meanwhile: &str, expected: Result<&str, &str>) {
        let file = File::new(before);
        let item = file.next();
        file.write(meanwhile);
        let ticked = tick(&file.path(), &item).unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        match expected {
            Ok(expected) => assert_eq!((ticked, text.as_str()), (Ticked::Now, expected)),
            Err(reason) => {
                let Ticked::Not(told) = ticked else { panic!("{ticked:?}") };
                assert!(told.contains(reason), "{told}");
                assert_eq!(text, meanwhile);
            }
        }
        assert_eq!(fs::read_dir(file.folder.path()).unwrap().count(), 1, "something was left behind");
    }

    #[test]
    fn a_tick_changes_one_byte() {
        let check = |before: &str, after: &str| check_tick(before, before, Ok(after));
        check("- [ ] one\n", "- [x] one\n");
        check(
            "\u{feff}# é\r\n\r\n*\t[ ]\tone\r\n\ttwo\r\n\r\n* [ ] three",
            "\u{feff}# é\r\n\r\n*\t[x]\tone\r\n\ttwo\r\n\r\n* [ ] three",
        );
        check("- [\t] one\n", "- [x] one\n");
        check("- [ ] a\n  - [ ] [ ] b", "- [ ] a\n  - [x] [ ] b");
        check("- [x] a\n- [ ] a\n", "- [x] a\n- [x] a\n");
    }

    #[test]
    fn a_box_that_moved_is_found_again() {
        let check = check_tick;
        check("- [ ] a\n- [ ] b\n", "# New\n\n- [ ] b\n- [ ] a\n", Ok("# New\n\n- [ ] b\n- [x] a\n"));
        check("- [ ] a\n", "- [ ] a\n  with more\n", Ok("- [x] a\n  with more\n"));
        check("- [ ] p\n  - [ ] a\n", "- [ ] q\n\n  - [ ] a\n", Ok("- [ ] q\n\n  - [x] a\n"));
        check(
            "- [ ] a\n- [ ] p\n  - [ ] a\n",
            "text\n\n- [ ] a\n- [ ] p\n  - [ ] a\n",
            Ok("text\n\n- [x] a\n- [ ] p\n  - [ ] a\n"),
        );
        check("- [ ] a\n- [ ] a\n", "- [ ] a\n- [ ] a\n", Ok("- [x] a\n- [ ] a\n"));
        check("- [ ] a\n", "- [ ] b\n", Err("no longer in it"));
        check("- [ ] a\n", "```\n- [ ] a\n```\n", Err("no longer in it"));
        check("- [ ] a\n- [ ] a\n", "\n- [ ] a\n- [ ] a\n", Err("2 boxes say `a`"));
        // The agent ticked it, and the other one is not ours.
        check("- [ ] a\n- [ ] a\n", "\n- [x] a\n- [ ] a\n", Err("2 boxes say `a`"));
    }

    #[test]
    fn a_box_that_somebody_ticked_is_left_alone() {
        let check = |before: &str, meanwhile: &str| {
            let file = File::new(before);
            let item = file.next();
            file.write(meanwhile);
            assert_eq!(tick(&file.path(), &item).unwrap(), Ticked::Already, "{meanwhile}");
            assert_eq!(fs::read_to_string(file.path()).unwrap(), meanwhile);
        };
        check("- [ ] a\n- [ ] b\n", "- [x] a\n- [ ] b\n");
        check("- [ ] a\n- [ ] a\n", "- [x] a\n- [ ] a\n");
        check("- [ ] a\n", "text\n\n- [X] a\n");
        check("- [ ] a\n- [ ] a\n", "\n- [x] a\n- [x] a\n");
    }

    #[test]
    fn a_tick_keeps_permissions_and_links() {
        let file = File::new("- [ ] a\n");
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o646)).unwrap();
        let other = tempfile::tempdir().unwrap();
        let link = other.path().join("link.md");
        symlink(file.path(), &link).unwrap();
        let Next::Open(item) = next(&link).unwrap() else { panic!("all are ticked") };
        assert_eq!(tick(&link, &item).unwrap(), Ticked::Now);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "- [x] a\n");
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o646);
        assert_eq!(next(&link).unwrap(), Next::AllTicked(1));
    }

    #[test]
    fn what_is_replaced_was_read() {
        let file = File::new("- [ ] a\n");
        let read = Checklist::read(&file.path()).unwrap();
        file.write("- [ ] b\n");
        assert!(!read.replace(b"- [x] a\n").unwrap());
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "- [ ] b\n");
        assert_eq!(fs::read_dir(file.folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_checklist_is_refused() {
        #[track_caller]
        fn check(path: &Path, reason: &str) {
            let report = error::report(&next(path).unwrap_err());
            assert!(report.message.contains(reason), "{}", report.message);
            assert_eq!(report.exit_code, 2);
        }
        let file = File::new("# Nothing\n\n- to do\n");
        check(&file.path(), "no boxes");
        file.write(b"- [ ] \xff\n");
        check(&file.path(), "not UTF-8");
        file.write("- [ ] a\n".repeat(MAX_BYTES / 8 + 1));
        check(&file.path(), "over 1 MiB");
        check(&file.folder.path().join("absent.md"), "does not exist");
        check(file.folder.path(), "is not a file");
        check(Path::new("/dev/null"), "is not a file");
    }
}
