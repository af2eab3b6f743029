//! Edits files of JSON, with or without comments, in the tree of `jsonc-parser`, which keeps every byte.
//!
//! Pieces are inserted and removed here: the tree's own functions spread an object of one line over several, drop blank
//! lines, and remove comments beside an element.

use jsonc_parser::cst::{CstContainerNode, CstInputValue, CstNode, CstObjectProp, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value, json};

use super::entry::{ConfigEntry, not_a};
use super::lines::line_end;

/// The order in which the members of what setup writes are written.
const ORDER: [&str; 10] =
    ["matcher", "type", "command", "bash", "args", "tools", "hooks", "timeout", "timeoutSec", "enabled"];

/// Parses a file.
///
/// # Errors
///
/// Why it cannot be parsed, and which key that leads to the entry occurs twice: of two, clients may read either.
pub(super) fn tree(text: &str, comments: bool, entry: &ConfigEntry) -> Result<Value, String> {
    let root = parse(text, comments)?;
    if let Some(value) = root.value() {
        descend(value, &entry.keys())?;
    }
    Ok(root.to_serde_value().unwrap_or_default())
}

fn parse(text: &str, comments: bool) -> Result<CstRootNode, String> {
    let options = ParseOptions {
        allow_comments: comments,
        allow_loose_object_property_names: false,
        allow_trailing_commas: comments,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    // While it collects comments for the tree, the parser allows them.
    parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| error.to_string())?;
    let root = CstRootNode::parse(text, &options).map_err(|error| error.to_string())?;
    match root.value() {
        Some(value) if value.as_object().is_none() => Err("it is not an object".to_owned()),
        _ => Ok(root),
    }
}

/// Adds an entry that is missing.
///
/// # Errors
///
/// Why the text cannot be parsed, and what stands where an object or a list should be.
pub(super) fn with(text: &str, comments: bool, entry: &ConfigEntry) -> Result<String, String> {
    let root = parse(text, comments)?;
    let unit = root.single_indent_text().filter(|indent| !indent.is_empty()).unwrap_or_else(|| "  ".to_owned());
    let layout = (line_end(text), unit.as_str());
    let Some(value) = root.value() else {
        let before = if text.is_empty() || text.ends_with('\n') { "" } else { layout.0 };
        let keys = entry.keys();
        let whole = keys.iter().rev().fold(with_list(entry, entry.path.len()), |value, key| json!({ *key: value }));
        return Ok(format!("{text}{before}{}{}", written(&whole, Some(layout), ""), layout.0));
    };
    let (holder, missing) = descend(value, &entry.path)?;
    // The objects and the list around it that are missing as well.
    let mut keys = missing.iter().copied().chain(entry.key);
    let first = keys.next();
    let value = keys.rev().fold(with_list(entry, missing.len()), |value, key| json!({ key: value }));
    match (&holder, first) {
        (CstNode::Container(holder @ CstContainerNode::Object(_)), Some(_))
        | (CstNode::Container(holder @ CstContainerNode::Array(_)), None) => insert(holder, first, &value, layout),
        (_, None) => return Err(not_a(&entry.path, "a list")),
        (_, Some(_)) => return Err(not_a(&entry.path, "an object")),
    }
    Ok(root.to_string())
}

/// Returns the value of an entry, in its list if that is missing.
fn with_list(entry: &ConfigEntry, n_missing: usize) -> Value {
    match entry.key {
        None if n_missing > 0 => json!([entry.value]),
        _ => entry.value.clone(),
    }
}

/// Removes an entry that is as setup writes it, with the objects and lists that held nothing else.
///
/// # Errors
///
/// Those of [`with`].
pub(super) fn without(text: &str, comments: bool, entry: &ConfigEntry) -> Result<String, String> {
    let root = parse(text, comments)?;
    let Some(value) = root.value() else { return Ok(text.to_owned()) };
    let (holder, []) = descend(value, &entry.path)? else { return Ok(text.to_owned()) };
    let is_own = |node: &CstNode| node.to_serde_value().is_some_and(|value| entry.is_own(&value));
    let found = match (&holder, entry.key) {
        (CstNode::Container(CstContainerNode::Object(object)), Some(key)) => {
            object.properties().into_iter().find(|property| is_named(property, key)).map(CstNode::from)
        }
        (CstNode::Container(CstContainerNode::Array(list)), None) => list.elements().into_iter().find(is_own),
        _ => None,
    };
    let Some(mut item) = found else { return Ok(text.to_owned()) };
    while let Some(holder) = item.parent()
        && holder.children().iter().filter(|child| is_item(child)).count() == 1
        && !holder.children().iter().any(CstNode::is_comment)
        && let Some(above) = holder.parent().filter(CstContainerNode::is_object_prop)
    {
        item = above.into();
    }
    remove(&item);
    Ok(root.to_string())
}

/// Follows a path as far as the file has it; returns the value there, and the keys that are missing.
fn descend<'k>(root: CstNode, path: &'k [&'static str]) -> Result<(CstNode, &'k [&'static str]), String> {
    let mut value = root;
    for (position, key) in path.iter().enumerate() {
        let Some(object) = value.as_object() else { return Err(not_a(&path[..position], "an object")) };
        let mut found = object.properties().into_iter().filter(|property| is_named(property, key));
        match (found.next().and_then(|property| property.value()), found.next()) {
            (_, Some(_)) => return Err(format!("the key `{key}` occurs twice")),
            (Some(inner), None) => value = inner,
            (None, None) => return Ok((value, &path[position..])),
        }
    }
    Ok((value, &[]))
}

fn is_named(property: &CstObjectProp, key: &str) -> bool {
    property.decoded_name().is_some_and(|name| name == key)
}

/// Returns whether a piece is a member of an object or an element of a list.
fn is_item(piece: &CstNode) -> bool {
    !piece.is_trivia() && !piece.is_token()
}

/// Returns what stands before a node in its line.
fn line_before(node: &CstNode) -> String {
    let mut before = String::new();
    for level in std::iter::once(node.clone()).chain(node.ancestors().map(CstNode::from)) {
        for piece in level.previous_siblings() {
            before.insert_str(0, &piece.to_string());
            if let Some(at) = before.rfind('\n') {
                return before.split_off(at + 1);
            }
        }
    }
    before
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Inserts a value at the end of an object or a list.
fn insert(holder: &CstContainerNode, key: Option<&str>, value: &Value, (line_end, unit): (&str, &str)) {
    let pieces = holder.children();
    let last = pieces.iter().rposition(is_item);
    let comma = last.and_then(|last| (last..pieces.len()).find(|at| pieces[*at].is_comma()));
    let from = comma.or(last).unwrap_or(0);
    // After the comments on the line of the last item, which are about that item.
    let rest_of_line = pieces[from + 1..].iter().take_while(|piece| piece.is_trivia() && !piece.is_newline());
    let comments = rest_of_line.enumerate().filter(|(_, piece)| piece.is_comment());
    let at = comments.last().map_or(from, |(offset, _)| from + 1 + offset);
    let needs_line = pieces[at].as_comment().is_some_and(|comment| comment.is_line_comment());
    let line = line_before(&holder.clone().into());
    let base = indent(&line);
    let last_line = last.map(|last| line_before(&pieces[last]));
    // An empty object or list that shares its line only with its key gets lines of its own.
    let is_spread = match &last_line {
        Some(before) => before.trim().is_empty(),
        None => needs_line || !line.contains(['{', '[', ',', '}', ']']),
    };
    let inner = last_line.filter(|_| is_spread).unwrap_or_else(|| format!("{base}{unit}"));
    let is_spread = is_spread || needs_line;
    let key = key.map(|key| format!("{}: ", Value::from(key))).unwrap_or_default();
    let mut item = format!("{key}{}", written(value, is_spread.then_some((line_end, unit)), &inner));
    if is_spread {
        item = format!("{line_end}{inner}{item}");
    } else if at > 0 {
        item.insert(0, ' ');
    }
    if comma.is_some() {
        item.push(',');
    }
    if is_spread && last.is_none() && !pieces[at + 1..].iter().any(CstNode::is_newline) {
        item = format!("{item}{line_end}{base}");
    }
    let mut text = String::new();
    for (position, piece) in pieces.iter().enumerate() {
        text.push_str(&piece.to_string());
        if Some(position) == last && comma.is_none() {
            text.push(',');
        }
        if position == at {
            text.push_str(&item);
        }
    }
    replace(holder, text);
}

/// Removes an item of an object or a list. Comments stay.
fn remove(item: &CstNode) {
    let Some(holder) = item.parent() else { return };
    let pieces = holder.children();
    let at = item.child_index();
    let comma = (at + 1..pieces.len()).find(|at| is_item(&pieces[*at]) || pieces[*at].is_comma());
    let comma = comma.filter(|at| pieces[*at].is_comma());
    let comma_before = (0..at).rev().find(|at| pieces[*at].is_comma()).filter(|_| comma.is_none());
    let is_blank = |at: &usize| pieces[*at].is_whitespace();
    let last = comma.filter(|comma| (at + 1..*comma).all(|at| !pieces[at].is_comment())).unwrap_or(at);
    let before = (0..at).rev().take_while(is_blank).count();
    let after = (last + 1..pieces.len()).take_while(is_blank).count();
    let ends_line = pieces.get(last + after + 1).is_some_and(CstNode::is_newline);
    let range = match at.checked_sub(before + 1).is_some_and(|at| pieces[at].is_newline()) {
        true if ends_line => at - before..last + after + 2,
        _ if comma.is_some() => at..last + after + 1,
        _ => at - before..last + 1,
    };
    let is_left = |at: &usize| !range.contains(at) && ![comma, comma_before].contains(&Some(*at));
    let left = (0..pieces.len()).filter(is_left).map(|at| pieces[at].to_string());
    replace(&holder, left.collect());
}

/// Puts a text in the place of an object or a list.
fn replace(holder: &CstContainerNode, text: String) {
    // A number is written as it is given, so any text can stand there.
    let text = CstInputValue::Number(text);
    match holder.clone() {
        CstContainerNode::Object(object) => object.replace_with(text),
        CstContainerNode::Array(list) => list.replace_with(text),
        _ => None,
    };
}

/// Writes a value over several lines with this line end and this step of indentation, or else on one line. The first line
/// is not indented; the others are indented at least by `indent`.
pub(super) fn written(value: &Value, lines: Option<(&str, &str)>, indent: &str) -> String {
    let is_nested = |item: &Value| item.is_array() || item.is_object();
    let is_flat = value.as_array().is_some_and(|items| !items.iter().any(is_nested));
    let lines = lines.filter(|_| !is_flat);
    let inner = lines.map(|(_, unit)| format!("{indent}{unit}")).unwrap_or_default();
    let (brackets, items): (_, Vec<String>) = match value {
        Value::Array(items) => (["[", "]"], items.iter().map(|item| written(item, lines, &inner)).collect()),
        Value::Object(members) => {
            let member = |key| format!("{}: {}", Value::from(key), written(&members[key], lines, &inner));
            (["{", "}"], in_order(members).into_iter().map(member).collect())
        }
        _ => return value.to_string(),
    };
    let [open, close] = brackets;
    match lines.filter(|_| !items.is_empty()) {
        None => format!("{open}{}{close}", items.join(", ")),
        Some((line_end, _)) => {
            let between = format!("{line_end}{inner}");
            let items = items.join(&format!(",{between}"));
            format!("{open}{between}{items}{line_end}{indent}{close}")
        }
    }
}

fn in_order(members: &Map<String, Value>) -> Vec<&str> {
    let mut keys: Vec<&str> = members.keys().map(String::as_str).collect();
    keys.sort_by_key(|key| ORDER.iter().position(|own| own == key));
    keys
}
