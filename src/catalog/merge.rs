//! Rebuilds the table after folders or names appeared or disappeared.
//!
//! A folder exists if its parent exists and was not listed, or was listed with it. The rest of the table is carried
//! over row by row. This file opens nothing but folders.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::listing::{Listing, Seen, open_and_list};
use super::scan::Scan;
use super::table::{AGAIN, FolderRow, GONE, IN_INDEX, NotAnEntry, Row, Table, fingerprint, id_hash, number};
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

/// Finds all folders of the new table, and those of them that must be listed again.
fn plan(scan: &Scan, store: &Store, looked: Vec<(usize, Option<Listing>)>) -> (Plan, HashSet<String>) {
    let (area, start, table) = (scan.catalog.area, scan.start, &scan.catalog.table);
    let mut listings = HashMap::new();
    let mut lost = BTreeSet::new();
    for (folder, listing) in looked {
        if let Some(listing) = listing {
            listings.insert(folder, listing);
        } else {
            lost.insert(folder);
        }
    }
    // The listing of the parent shows why a folder cannot be opened.
    let mut queue: Vec<usize> = lost.iter().copied().collect();
    while let Some(folder) = queue.pop() {
        let above = table.folder_path(folder).rsplit_once('/').and_then(|(above, _)| table.folder_at(above));
        let Some(above) = above.filter(|above| !listings.contains_key(above) && !lost.contains(above)) else {
            continue;
        };
        if let Some(listing) = open_and_list(store, table.folder_path(above), area, start) {
            listings.insert(above, listing);
        } else {
            lost.insert(above);
            queue.push(above);
        }
    }
    let is_alive = alive(table, &listings, &lost);

    // Folders to list for the first time, or because they could not be opened a moment ago.
    let mut queue: Vec<String> = area.roots().map(str::to_owned).to_vec();
    for (&folder, listing) in listings.iter().filter(|&(&folder, _)| is_alive[folder]) {
        queue.extend(listing.folders.iter().map(|name| format!("{}/{name}", table.folder_path(folder))));
    }
    queue.retain(|path| !table.folder_at(path).is_some_and(|folder| is_alive[folder]));
    let mut plan = Plan::new();
    let mut restless = HashSet::new();
    while let Some(path) = queue.pop() {
        if let Some(listing) = open_and_list(store, &path, area, start) {
            queue.extend(listing.folders.iter().map(|name| format!("{path}/{name}")));
            let before = table.folder_at(&path);
            plan.insert(path, (before, Some(listing)));
        } else if let Some((above, _)) = path.rsplit_once('/') {
            // It disappeared, or was replaced, just now.
            restless.insert(above.to_owned());
        }
    }
    for folder in (0..is_alive.len()).filter(|&folder| is_alive[folder]) {
        plan.insert(table.folder_path(folder).to_owned(), (Some(folder), listings.remove(&folder)));
    }
    (plan, restless)
}

/// Returns for each folder of the old table whether it is still there.
fn alive(table: &Table, listings: &HashMap<usize, Listing>, lost: &BTreeSet<usize>) -> Vec<bool> {
    let mut numbers = HashMap::with_capacity(table.folders.len());
    let mut alive = Vec::with_capacity(table.folders.len());
    for folder in 0..table.folders.len() {
        let path = table.folder_path(folder);
        let above = path.rsplit_once('/').and_then(|(above, name)| Some((*numbers.get(above)?, name)));
        let is_there = above.is_none_or(|(above, name): (usize, &str)| {
            let has = |listing: &Listing| listing.folders.binary_search_by(|folder| folder.as_str().cmp(name)).is_ok();
            alive[above] && listings.get(&above).is_none_or(has)
        });
        alive.push(is_there && !lost.contains(&folder));
        numbers.insert(path, folder);
    }
    alive
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
            let Some((at, len)) = scan.catalog.table.add_text(&name) else { continue };
            scan.catalog.changed = true;
            let id = id_hash(&format!("{path}/{name}"));
            Row { name: at, name_len: len, id, recency: i64::MIN, flags: AGAIN, ..Row::default() }
        };
        let is_same = matches!(seen, Seen::Stat(stat) if row.stat == fingerprint(&stat)) && !row.has(AGAIN);
        let at = number(scan.catalog.table.rows.len());
        scan.catalog.table.rows.push(row);
        if !is_same {
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
