//! Inserts into files of JSON, with or without comments, and takes out what is recognised as set-up's own.
//!
//! The text is parsed for the places of its values, and is never written from them: whatever is in the file keeps its
//! bytes. This file knows nothing about clients.

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::{Range, Ranged as _};
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

use super::config_tree::ConfigTree;
use super::config_value::{ConfigValue, Layout, quoted};
use super::insertion::{Insertion, begins_line, indent_at, line_end, with_blank_lines};
use super::recognised::{Recognition, is_own_element, is_own_handler, is_switched_off, presence_of};
use super::want::{Mark, Presence, Want};

/// A file that was parsed.
struct Parsed<'a> {
    text: &'a str,
    value: Option<Value<'a>>,
    tokens: Vec<TokenAndRange<'a>>,
}

/// What surrounds an item: the range of the object or list, and those of its items.
struct Container {
    range: Range,
    items: Vec<Range>,
}

impl Container {
    fn of(value: &Value<'_>) -> Option<Container> {
        let items = match value {
            Value::Object(object) => object.properties.iter().map(|property| property.range).collect(),
            Value::Array(list) => list.elements.iter().map(Value::range).collect(),
            _ => return None,
        };
        Some(Container { range: value.range(), items })
    }
}

/// Returns what the file has in the place of a want.
///
/// # Errors
///
/// Why the text cannot be read as JSON, or what stands where an object or a list should be.
pub(super) fn presence(text: &str, comments: bool, want: &Want) -> Result<Presence, String> {
    let parsed = Parsed::of(text, comments)?;
    let Some(root) = &parsed.value else { return Ok(Presence::Missing) };
    let (holder, missing) = descend(root, want)?;
    if !missing.is_empty() {
        return Ok(Presence::Missing);
    }
    Ok(match (holder, want.key) {
        (Value::Object(object), Some(key)) => match member(object, key)? {
            None => Presence::Missing,
            Some(value) if want.mark == Mark::Server => presence_of(&tree_of(value), &want.value, Recognition::Runs),
            Some(_) => Presence::Present(None),
        },
        (Value::Array(list), _) => {
            let mut all =
                list.elements.iter().map(|element| presence_of(&tree_of(element), &want.value, Recognition::Runs));
            all.find(|presence| *presence != Presence::Taken).unwrap_or(Presence::Missing)
        }
        _ => Presence::Missing,
    })
}

/// Returns whether what is wanted is there, and switched off.
pub(super) fn is_off(text: &str, comments: bool, want: &Want) -> bool {
    let Ok(parsed) = Parsed::of(text, comments) else { return false };
    let Some(Ok((holder, []))) = parsed.value.as_ref().map(|root| descend(root, want)) else { return false };
    match (holder, want.key) {
        (Value::Object(object), Some(key)) => {
            object.get(key).is_some_and(|found| is_switched_off(&tree_of(&found.value)))
        }
        (Value::Array(list), None) => list
            .elements
            .iter()
            .map(tree_of)
            .any(|element| is_own_element(&element, want, Recognition::Runs) && is_switched_off(&element)),
        _ => false,
    }
}

/// Returns the insertions after which the file has what is wanted. It must be missing.
///
/// # Errors
///
/// Those of [`presence`].
pub(super) fn insertions(text: &str, comments: bool, want: &Want) -> Result<Vec<Insertion>, String> {
    let parsed = Parsed::of(text, comments)?;
    let unit = parsed.unit();
    let layout = Layout { line_end: Some(line_end(text)), unit };
    let nested = |missing: &[&'static str]| {
        let item = match want.key {
            Some(key) => ConfigValue::Map(vec![(key, want.value.clone())]),
            None => ConfigValue::List(vec![want.value.clone()]),
        };
        missing.iter().rev().fold(item, |inner, key| ConfigValue::Map(vec![(key, inner)]))
    };
    let Some(root) = &parsed.value else {
        let line_end = line_end(text);
        let before = if text.is_empty() || text.ends_with('\n') { "" } else { line_end };
        let whole = nested(&want.path).to_json(layout, "");
        return Ok(vec![Insertion::new(text.len(), format!("{before}{whole}{line_end}"))]);
    };
    let (holder, missing) = descend(root, want)?;
    let container = Container::of(holder).ok_or("it is not an object")?;
    Ok(match missing.split_first() {
        None => parsed.place(&container, want.key, &want.value, unit),
        Some((key, rest)) => parsed.place(&container, Some(key), &nested(rest), unit),
    })
}

/// Returns whether the file has nothing but these members, each with the value that set-up writes, and no comment.
pub(super) fn has_only(text: &str, comments: bool, wants: &[&Want]) -> bool {
    let Ok(parsed) = Parsed::of(text, comments) else { return false };
    let has_comment = parsed.tokens.iter().any(|token| is_comment(&token.token));
    let only = |object: &Object<'_>| {
        object.properties.iter().all(|property| {
            let written = &text[property.value.range().start..property.value.range().end];
            let layout = Layout { line_end: None, unit: "" };
            wants.iter().any(|want| {
                want.path.is_empty()
                    && want.key == Some(property.name.as_str())
                    && want.value.to_json(layout, "") == written
            })
        })
    };
    !has_comment
        && match &parsed.value {
            None => true,
            Some(Value::Object(object)) => only(object),
            Some(_) => false,
        }
}

/// Returns the file without what is recognised as this want, and without objects and lists that this leaves empty; `None`
/// if there is no such thing.
///
/// # Errors
///
/// Those of [`presence`].
pub(super) fn without(text: &str, comments: bool, want: &Want, how: Recognition) -> Result<Option<String>, String> {
    let parsed = Parsed::of(text, comments)?;
    let Some(root) = &parsed.value else { return Ok(None) };
    let (holder, missing) = descend(root, want)?;
    if !missing.is_empty() {
        return Ok(None);
    }
    let found = match (holder, want.key) {
        (Value::Object(object), Some(key)) => {
            let is_own = |value: &Value<'_>| presence_of(&tree_of(value), &want.value, how) != Presence::Taken;
            let own = member(object, key)?.is_some_and(is_own);
            own.then(|| object.properties.iter().position(|property| property.name.as_str() == key)).flatten()
        }
        (Value::Array(list), None) => {
            let elements: Vec<ConfigTree> = list.elements.iter().map(tree_of).collect();
            let own = |how| elements.iter().position(|element| is_own_element(element, want, how));
            let found = own(Recognition::Exact).or_else(|| own(how));
            if found.is_none() && how == Recognition::Runs {
                // A handler of ours in a group with others.
                return Ok(list.elements.iter().find_map(|element| parsed.without_handler(element, want)));
            }
            found
        }
        _ => None,
    };
    let Some(found) = found else { return Ok(None) };
    // The outermost object that would be left empty goes with it.
    let (mut container, mut position) = (Container::of(holder).ok_or("it is not an object")?, found);
    let mut path = want.path.clone();
    while parsed.holds_only_one(&container) {
        let Some(key) = path.pop() else { break };
        let above = Want { path: path.clone(), key: Some(key), ..want.clone() };
        let (Value::Object(object), _) = descend(root, &above)? else { break };
        let Some(at) = object.properties.iter().position(|property| property.name.as_str() == key) else { break };
        container = Container { range: object.range, items: object.properties.iter().map(|one| one.range).collect() };
        position = at;
    }
    Ok(Some(parsed.remove(&container, position)))
}

impl<'a> Parsed<'a> {
    fn of(text: &'a str, comments: bool) -> Result<Parsed<'a>, String> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
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
        let parsed = parse_to_ast(text, &collect, &options).map_err(|error| error.to_string())?;
        let tokens = parsed.tokens.unwrap_or_default();
        // The parser lets comments pass that it collects.
        if let Some(comment) = tokens.iter().find(|token| !comments && is_comment(&token.token)) {
            let line = text[..comment.range.start].matches('\n').count() + 1;
            return Err(format!("Comments are not allowed on line {line}"));
        }
        match parsed.value {
            None | Some(Value::Object(_)) => Ok(Parsed { text, value: parsed.value, tokens }),
            Some(_) => Err("it is not an object".to_owned()),
        }
    }

    /// Returns one step of the file's indentation.
    fn unit(&self) -> &'a str {
        let first = match &self.value {
            Some(Value::Object(object)) => object.properties.first().map(|property| property.range.start),
            _ => None,
        };
        let indent = first.filter(|first| begins_line(self.text, *first)).map(|first| indent_at(self.text, first));
        indent.filter(|indent| !indent.is_empty()).unwrap_or("  ")
    }

    /// Returns the tokens between two offsets.
    fn between(&self, start: usize, end: usize) -> impl Iterator<Item = &TokenAndRange<'a>> {
        let first = self.tokens.partition_point(|token| token.range.start < start);
        self.tokens[first..].iter().take_while(move |token| token.range.end <= end)
    }

    fn comma_between(&self, start: usize, end: usize) -> Option<Range> {
        self.between(start, end).find(|token| token.token == Token::Comma).map(|token| token.range)
    }

    /// Returns the insertions of an item at the end of a container.
    fn place(&self, container: &Container, key: Option<&str>, value: &ConfigValue, unit: &str) -> Vec<Insertion> {
        let close = container.range.end - 1;
        let last = container.items.last();
        let from = last.map_or(container.range.start + 1, |last| last.end);
        let comma = last.and_then(|last| self.comma_between(last.end, close));
        // Behind the comments on the line of the last item, which are about that one.
        let mut at = comma.map_or(from, |comma| comma.end);
        let mut needs_line = false;
        for token in self.between(at, close).filter(|token| is_comment(&token.token)) {
            if self.text[at..token.range.start].contains(['\n', '\r']) {
                break;
            }
            at = token.range.end;
            needs_line = matches!(token.token, Token::CommentLine(_));
        }
        let line_end = line_end(self.text);
        let base = indent_at(self.text, container.range.start);
        let (is_spread, indent) = match last {
            Some(last) if begins_line(self.text, last.start) => (true, indent_at(self.text, last.start).to_owned()),
            Some(_) => (needs_line, format!("{base}{unit}")),
            None => (needs_line || self.stands_alone(container.range.start), format!("{base}{unit}")),
        };
        let layout = Layout { line_end: is_spread.then_some(line_end), unit };
        let key = key.map(|key| format!("{}: ", quoted(key))).unwrap_or_default();
        let mut item = format!("{key}{}", value.to_json(layout, &indent));
        if is_spread {
            item = format!("{line_end}{indent}{item}");
        } else if last.is_some() || at > from {
            item.insert(0, ' ');
        }
        if comma.is_some() {
            item.push(',');
        }
        if is_spread && last.is_none() && !self.text[at..close].contains('\n') {
            item = format!("{item}{line_end}{base}");
        }
        match last {
            Some(_) if comma.is_none() && at == from => vec![Insertion::new(at, format!(",{item}"))],
            Some(_) if comma.is_none() => vec![Insertion::new(from, ","), Insertion::new(at + 1, item)],
            _ => vec![Insertion::new(at, item)],
        }
    }

    /// Returns whether an empty object or list is alone on its line, but for its key.
    fn stands_alone(&self, start: usize) -> bool {
        let line = &self.text[self.text[..start].rfind('\n').map_or(0, |at| at + 1)..start];
        !line.contains(['{', '[', ',', '}', ']'])
    }

    fn holds_only_one(&self, container: &Container) -> bool {
        let Range { start, end } = container.range;
        let outside = |token: &&TokenAndRange<'_>| {
            !container.items.iter().any(|item| item.start <= token.range.start && token.range.end <= item.end)
        };
        container.items.len() == 1 && !self.between(start, end).filter(outside).any(|token| is_comment(&token.token))
    }

    /// Returns the text without the item at a position of a container.
    fn remove(&self, container: &Container, position: usize) -> String {
        let item = container.items[position];
        let close = container.range.end - 1;
        let next = container.items.get(position + 1).map_or(close, |next| next.start);
        let after = self.comma_between(item.end, next);
        let before = position.checked_sub(1).and_then(|before| {
            let comma = self.comma_between(container.items[before].end, item.start);
            comma.filter(|_| after.is_none())
        });
        let is_blank = |start: usize, end: usize| self.text[start..end].trim().is_empty();
        let (mut start, mut end) = (item.start, item.end);
        let mut others = Vec::new();
        match (after, before) {
            (Some(comma), _) if is_blank(end, comma.start) => end = comma.end,
            (Some(comma), _) | (None, Some(comma)) => others.push((comma.start, comma.end)),
            (None, None) => {}
        }
        let grown = with_blank_lines(self.text, start, end);
        if grown == (start, end) {
            let spaces = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
            if after.is_some() {
                end += spaces(&self.text[end..]);
            } else {
                start = self.text[..start].trim_end_matches([' ', '\t']).len();
            }
        } else {
            (start, end) = grown;
        }
        others.push((start, end));
        others.sort_unstable();
        let mut text = self.text.to_owned();
        for (start, end) in others.into_iter().rev() {
            text.replace_range(start..end, "");
        }
        text
    }

    /// Returns the text without a handler of ours in a group that has others, too.
    fn without_handler(&self, group: &Value<'_>, want: &Want) -> Option<String> {
        let Value::Object(group) = group else { return None };
        let handlers = group.get("hooks").map(|property| &property.value)?;
        let Value::Array(list) = handlers else { return None };
        let found = list.elements.iter().position(|handler| is_own_handler(&tree_of(handler), want))?;
        Some(self.remove(&Container::of(handlers)?, found))
    }
}

/// Returns what a file contains.
///
/// # Errors
///
/// Why the text cannot be read as JSON with comments.
pub(super) fn tree(text: &str) -> Result<ConfigTree, String> {
    Ok(Parsed::of(text, true)?.value.as_ref().map_or(ConfigTree::Other, tree_of))
}

fn tree_of(value: &Value<'_>) -> ConfigTree {
    match value {
        Value::StringLit(text) => ConfigTree::Text(text.value.clone().into_owned()),
        Value::NumberLit(number) => ConfigTree::Number(number.value.to_owned()),
        Value::BooleanLit(flag) => ConfigTree::Flag(flag.value),
        Value::NullKeyword(_) => ConfigTree::Other,
        Value::Array(list) => ConfigTree::List(list.elements.iter().map(tree_of).collect()),
        Value::Object(object) => {
            let member = |property: &ObjectProp<'_>| (property.name.as_str().to_owned(), tree_of(&property.value));
            ConfigTree::Map(object.properties.iter().map(member).collect())
        }
    }
}

fn is_comment(token: &Token<'_>) -> bool {
    matches!(token, Token::CommentLine(_) | Token::CommentBlock(_))
}

/// Follows the path of a want as far as the file has it; returns the value there, and the keys that are missing.
fn descend<'v, 'a>(root: &'v Value<'a>, want: &'v Want) -> Result<(&'v Value<'a>, &'v [&'static str]), String> {
    let mut value = root;
    for (position, key) in want.path.iter().enumerate() {
        let Value::Object(object) = value else { return Err(not_a(&want.path[..position], "an object")) };
        match member(object, key)? {
            Some(inner) => value = inner,
            None => return Ok((value, &want.path[position..])),
        }
    }
    match (value, want.key) {
        (Value::Object(_), Some(_)) | (Value::Array(_), None) => Ok((value, &[])),
        (_, Some(_)) => Err(not_a(&want.path, "an object")),
        (_, None) => Err(not_a(&want.path, "a list")),
    }
}

fn not_a(path: &[&str], kind: &str) -> String {
    format!("`{}` is not {kind}", path.join("."))
}

/// Returns the value of a key.
fn member<'v, 'a>(object: &'v Object<'a>, key: &str) -> Result<Option<&'v Value<'a>>, String> {
    let mut found = object.properties.iter().filter(|property| property.name.as_str() == key);
    let first = found.next();
    if found.next().is_some() {
        return Err(format!("the key `{key}` occurs twice"));
    }
    Ok(first.map(|property| &property.value))
}
