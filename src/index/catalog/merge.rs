//! Rebuilds the table after folders or names have appeared or disappeared.
//!
//! A folder exists if its parent exists and was not listed, or was listed with it. The rest of the table is carried
//! over row by row. This file opens nothing but folders.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::listing::{Listing, Seen, open_and_list};
use super::scan::Scan;
use super::table::{FolderRow, GONE, IN_INDEX, NotAnEntry, Row, id_hash, number};
use crate::store::Store;

/// The sources of the new table's folders: the number in the old one, and the current content, if it was listed.
type Plan = BTreeMap<String, (Option<usize>, Option<Listing>)>;

/// Rebuilds the table of a scan from folders that were listed, or could not be opened.
pub(super) fn rebuild(scan: &mut Scan, store: &Store, looked: Vec<(usize, Option<Listing>)>) {
    let (plan, restless) = plan(scan, store, looked);
    let old = std::mem::take(&mut scan.catalog.table);
    // Old rows and folders use the same names as new ones.
    scan.catalog.table.names = old.names;
    scan.catalog.table.rows.reserve(old.rows.len());
    let range = |folder: usize| -> Range<usize> {
        let first = |at: usize| old.folders.get(at).map_or(old.rows.len(), |row| row.first as usize);
        first(folder)..first(folder + 1)
    };
    let mut is_used = vec![false; old.folders.len()];
    for (path, (before, listing)) in plan {
        let before_row = before.map(|folder| old.folders[folder]);
        let mut row = listing.as_ref().map_or(before_row.unwrap_or_default(), |listing| listing.row);
        let place = before_row.map(|row| (row.path, row.path_len)).or_else(|| scan.catalog.table.add_text(&path));
        let Some((place, place_len)) = place else { continue };
        (row.path, row.path_len) = (place, place_len);
        row.first = number(scan.catalog.table.rows.len());
        row.again |= u8::from(restless.contains(&path));
        let is_same = |before: FolderRow| FolderRow { first: 0, ..before } == FolderRow { first: 0, ..row };
        scan.catalog.changed |= !before_row.is_some_and(is_same);
        scan.catalog.table.folders.push(row);
        let old_rows = before.map_or(&[][..], |before| &old.rows[range(before)]);
        if let Some(before) = before {
            is_used[before] = true;
        }
        if let Some(listing) = listing {
            merge(scan, &path, old_rows, listing.files);
            scan.catalog.table.not_entries.extend(listing.not_entries);
        } else {
            scan.catalog.table.rows.extend(old_rows.iter().filter(|row| !row.has(GONE)));
            let is_here = |other: &&NotAnEntry| other.path.rsplit_once('/').is_some_and(|(folder, _)| folder == path);
            scan.catalog.table.not_entries.extend(old.not_entries.iter().filter(is_here).cloned());
        }
    }
    for (folder, _) in is_used.iter().enumerate().filter(|&(_, &is_used)| !is_used) {
        scan.catalog.changed = true;
        let path = scan.catalog.table.folder_text(&old.folders[folder]).to_owned();
        for row in &old.rows[range(folder)] {
            remove(scan, &path, row);
        }
    }
    scan.catalog.table.not_entries.sort_unstable();
    scan.catalog.changed |= scan.catalog.table.not_entries != old.not_entries;
}

/// Finds all folders of the new table, from the first ones downwards, and those of them that must be listed again.
fn plan(scan: &Scan, store: &Store, looked: Vec<(usize, Option<Listing>)>) -> (Plan, HashSet<String>) {
    let (area, start, table) = (scan.catalog.area, scan.start, &scan.catalog.table);
    let mut looked: HashMap<usize, Option<Listing>> = looked.into_iter().collect();
    let mut below: HashMap<&str, Vec<usize>> = HashMap::new();
    for folder in 0..table.folders.len() {
        if let Some((above, _)) = table.folder_path(folder).rsplit_once('/') {
            below.entry(above).or_default().push(folder);
        }
    }
    let mut plan = Plan::new();
    let mut restless = HashSet::new();
    let mut queue: Vec<String> = area.roots().map(str::to_owned).to_vec();
    while let Some(path) = queue.pop() {
        let before = table.folder_at(&path);
        let below = below.get(path.as_str()).map_or(&[][..], Vec::as_slice);
        // The listing of a folder shows why one in it cannot be opened.
        let is_lost = below.iter().any(|folder| matches!(looked.get(folder), Some(None)));
        let listing = match before.map(|folder| looked.remove(&folder)) {
            Some(None) if !is_lost => None,
            Some(Some(Some(listing))) => Some(listing),
            _ => {
                let Some(listing) = open_and_list(store, &path, area, start) else {
                    // It disappeared, or was replaced, just now.
                    restless.extend(path.rsplit_once('/').map(|(above, _)| above.to_owned()));
                    continue;
                };
                Some(listing)
            }
        };
        match &listing {
            Some(listing) => queue.extend(listing.folders.iter().map(|name| format!("{path}/{name}"))),
            None => queue.extend(below.iter().map(|folder| table.folder_path(*folder).to_owned())),
        }
        plan.insert(path, (before, listing));
    }
    (plan, restless)
}

/// Adds the rows of a folder that was listed.
fn merge(scan: &mut Scan, path: &str, old: &[Row], files: Vec<(String, Seen)>) {
    let mut old = old.iter().peekable();
    for (name, seen) in files {
        while let Some(row) = old.next_if(|row| scan.catalog.table.name(row) < name.as_str()) {
            remove(scan, path, row);
        }
        let known = old.next_if(|row| scan.catalog.table.name(row) == name);
        let row = if let Some(known) = known.filter(|known| !known.has(GONE)) {
            *known
        } else {
            let Some(text) = scan.catalog.table.add_text(&name) else { continue };
            scan.catalog.changed = true;
            Row::new(text, id_hash(&format!("{path}/{name}")))
        };
        let at = number(scan.catalog.table.rows.len());
        scan.catalog.table.rows.push(row);
        if !seen.is_known(&row) {
            scan.note(at, seen);
        }
    }
    for row in old {
        remove(scan, path, row);
    }
}

/// Marks the file of an old row as gone.
fn remove(scan: &mut Scan, path: &str, row: &Row) {
    scan.catalog.changed = true;
    scan.touched.push(row.id);
    if row.has(IN_INDEX) {
        scan.catalog.stale.insert(format!("{path}/{}", scan.catalog.table.name(row)), row.hash);
    }
}
