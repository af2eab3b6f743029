//! Edits files of JSON, with or without comments, at the places of their values. This file knows nothing about clients.

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::{Range, Ranged as _};
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

use super::config_value::{ConfigValue, quoted};
use super::lines::line_end;
use super::recognised::{Recognition, is_own, is_own_handler, not_a};
use super::want::Want;

/// A file that was parsed.
struct Parsed<'a> {
    text: &'a str,
    value: Option<Value<'a>>,
    tokens: Vec<TokenAndRange<'a>>,
}

/// Returns what a file contains.
///
/// # Errors
///
/// Why the text cannot be read as JSON.
pub(super) fn tree(text: &str, comments: bool) -> Result<ConfigValue, String> {
    Ok(Parsed::of(text, comments)?.value.as_ref().map_or(ConfigValue::Null, tree_of))
}

fn tree_of(value: &Value<'_>) -> ConfigValue {
    match value {
        Value::StringLit(text) => ConfigValue::text(text.value.clone()),
        Value::NumberLit(number) => ConfigValue::Number(number.value.to_owned()),
        Value::BooleanLit(flag) => ConfigValue::Flag(flag.value),
        Value::NullKeyword(_) => ConfigValue::Null,
        Value::Array(list) => ConfigValue::List(list.elements.iter().map(tree_of).collect()),
        Value::Object(object) => {
            let member = |property: &ObjectProp<'_>| (property.name.as_str().to_owned(), tree_of(&property.value));
            ConfigValue::Map(object.properties.iter().map(member).collect())
        }
    }
}

/// Returns the file with what is wanted, which must be missing.
///
/// # Errors
///
/// Why the text cannot be read as JSON, or what stands where an object or a list should be.
pub(super) fn with(text: &str, comments: bool, want: &Want) -> Result<String, String> {
    let parsed = Parsed::of(text, comments)?;
    let (holder, missing) = match &parsed.value {
        Some(root) => descend(root, &want.path).map(|(holder, missing)| (Some(holder), missing))?,
        None => (None, &want.path[..]),
    };
    // The objects and the list around it that are missing as well.
    let mut keys = missing.iter().copied().chain(want.key);
    let first = keys.next();
    let mut value = match want.key {
        None if first.is_some() => ConfigValue::List(vec![want.value.clone()]),
        _ => want.value.clone(),
    };
    for key in keys.rev() {
        value = ConfigValue::map([(key, value)]);
    }
    match (holder, first) {
        (Some(holder @ Value::Object(_)), Some(_)) | (Some(holder @ Value::Array(_)), None) => {
            Ok(parsed.place(holder, first, &value))
        }
        (Some(_), None) => Err(not_a(&want.path, "a list")),
        (Some(_), Some(_)) => Err(not_a(&want.path, "an object")),
        (None, first) => {
            let line_end = line_end(text);
            let before = if text.is_empty() || text.ends_with('\n') { "" } else { line_end };
            let whole = ConfigValue::map([(first.unwrap_or_default(), value)]);
            Ok(format!("{text}{before}{}{line_end}", whole.to_json(Some((line_end, parsed.unit())), "")))
        }
    }
}

/// Returns the file without what is recognised as this want, and without objects and lists that this leaves empty; `None`
/// if there is no such thing.
///
/// # Errors
///
/// Those of [`with`].
pub(super) fn without(text: &str, comments: bool, want: &Want, how: Recognition) -> Result<Option<String>, String> {
    let parsed = Parsed::of(text, comments)?;
    let Some(root) = &parsed.value else { return Ok(None) };
    let (mut holder, []) = descend(root, &want.path)? else { return Ok(None) };
    let found = match (holder, want.key) {
        (Value::Object(object), Some(key)) => {
            let own = member(object, key)?.is_some_and(|value| is_own(&tree_of(value), want, how));
            own.then(|| position(object, key)).flatten()
        }
        (Value::Array(list), None) => {
            let elements: Vec<ConfigValue> = list.elements.iter().map(tree_of).collect();
            let own = |how| elements.iter().position(|element| is_own(element, want, how));
            let found = own(Recognition::Exact).or_else(|| own(how));
            if found.is_none() && how == Recognition::Runs {
                // A handler of ours in a group with others.
                return Ok(list.elements.iter().find_map(|group| parsed.without_handler(group, want)));
            }
            found
        }
        _ => None,
    };
    let Some(mut at) = found else { return Ok(None) };
    // The outermost object that would be left empty goes with it.
    let mut path = &want.path[..];
    while let [above @ .., key] = path
        && parsed.holds_only_one(holder)
        && let (outer @ Value::Object(object), []) = descend(root, above)?
        && let Some(position) = position(object, key)
    {
        (holder, at, path) = (outer, position, above);
    }
    Ok(Some(parsed.remove(holder, at)))
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
        if let Some(comment) = tokens.iter().find(|token| !comments && is_comment(token)) {
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
        let first = self.value.as_ref().and_then(|root| items(root).first().copied());
        let indent = first.filter(|first| self.begins_line(first.start)).map(|first| self.indent_at(first.start));
        indent.filter(|indent| !indent.is_empty()).unwrap_or("  ")
    }

    /// Returns the line of an offset up to there.
    fn line_before(&self, offset: usize) -> &'a str {
        &self.text[self.text[..offset].rfind('\n').map_or(0, |at| at + 1)..offset]
    }

    /// Returns the spaces and tabs at the beginning of an offset's line.
    fn indent_at(&self, offset: usize) -> &'a str {
        let line = self.line_before(offset);
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// Returns whether only spaces and tabs stand before an offset in its line.
    fn begins_line(&self, offset: usize) -> bool {
        self.indent_at(offset) == self.line_before(offset)
    }

    /// Returns the tokens between two offsets.
    fn between(&self, start: usize, end: usize) -> impl Iterator<Item = &TokenAndRange<'a>> {
        let first = self.tokens.partition_point(|token| token.range.start < start);
        self.tokens[first..].iter().take_while(move |token| token.range.end <= end)
    }

    fn comma_between(&self, start: usize, end: usize) -> Option<Range> {
        self.between(start, end).find(|token| token.token == Token::Comma).map(|token| token.range)
    }

    /// Returns the text with an item at the end of an object or a list.
    fn place(&self, holder: &Value<'_>, key: Option<&str>, value: &ConfigValue) -> String {
        let Range { start, end } = holder.range();
        let (close, unit, line_end) = (end - 1, self.unit(), line_end(self.text));
        let last = items(holder).last().copied();
        let from = last.map_or(start + 1, |last| last.end);
        let comma = last.and_then(|last| self.comma_between(last.end, close));
        // After the comments on the line of the last item, which are about that item.
        let mut at = comma.map_or(from, |comma| comma.end);
        let mut needs_line = false;
        for token in self.between(at, close).filter(|token| is_comment(token)) {
            if self.text[at..token.range.start].contains(['\n', '\r']) {
                break;
            }
            at = token.range.end;
            needs_line = matches!(token.token, Token::CommentLine(_));
        }
        let base = self.indent_at(start);
        // An empty object or list that shares its line only with its key gets lines of its own.
        let is_spread = match last {
            Some(last) => self.begins_line(last.start),
            None => needs_line || !self.line_before(start).contains(['{', '[', ',', '}', ']']),
        };
        let indent = match last.filter(|_| is_spread) {
            Some(last) => self.indent_at(last.start).to_owned(),
            None => format!("{base}{unit}"),
        };
        let is_spread = is_spread || needs_line;
        let key = key.map(|key| format!("{}: ", quoted(key))).unwrap_or_default();
        let mut item = format!("{key}{}", value.to_json(is_spread.then_some((line_end, unit)), &indent));
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
        let comma = if last.is_some() && comma.is_none() { "," } else { "" };
        format!("{}{comma}{}{item}{}", &self.text[..from], &self.text[from..at], &self.text[at..])
    }

    fn holds_only_one(&self, holder: &Value<'_>) -> bool {
        let [item] = items(holder)[..] else { return false };
        let Range { start, end } = holder.range();
        !self.between(start, item.start).chain(self.between(item.end, end)).any(is_comment)
    }

    /// Returns the text without the item at a position of an object or a list.
    fn remove(&self, holder: &Value<'_>, position: usize) -> String {
        let items = items(holder);
        let item = items[position];
        let next = items.get(position + 1).map_or(holder.range().end - 1, |next| next.start);
        let after = self.comma_between(item.end, next);
        let before = position.checked_sub(1).filter(|_| after.is_none());
        let before = before.and_then(|before| self.comma_between(items[before].end, item.start));
        let (mut start, mut end) = (item.start, item.end);
        // A comma after a comment, or before the item, is removed on its own.
        let apart = match after {
            Some(comma) if self.text[end..comma.start].trim().is_empty() => {
                end = comma.end;
                None
            }
            Some(comma) => Some(comma),
            None => before,
        };
        let rest = self.text[end..].trim_start_matches([' ', '\t']);
        let line_end = ["\r\n", "\n"].iter().find(|line_end| rest.starts_with(**line_end)).map_or(0, |end| end.len());
        if self.begins_line(start) && (line_end > 0 || rest.is_empty()) {
            start -= self.indent_at(start).len();
            end = self.text.len() - rest.len() + line_end;
        } else if after.is_some() {
            end = self.text.len() - rest.len();
        } else {
            start = self.text[..start].trim_end_matches([' ', '\t']).len();
        }
        let mut text = self.text.to_owned();
        let mut ranges = [Some((start, end)), apart.map(|comma| (comma.start, comma.end))];
        ranges.sort_unstable();
        for (start, end) in ranges.into_iter().rev().flatten() {
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
        Some(self.remove(handlers, found))
    }
}

fn is_comment(token: &TokenAndRange<'_>) -> bool {
    matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
}

/// Returns where the members of an object, or the elements of a list, are.
fn items(holder: &Value<'_>) -> Vec<Range> {
    match holder {
        Value::Object(object) => object.properties.iter().map(|property| property.range).collect(),
        Value::Array(list) => list.elements.iter().map(Value::range).collect(),
        _ => Vec::new(),
    }
}

fn position(object: &Object<'_>, key: &str) -> Option<usize> {
    object.properties.iter().position(|property| property.name.as_str() == key)
}

/// Follows a path as far as the file has it; returns the value there, and the keys that are missing.
fn descend<'v, 'a, 'k>(
    root: &'v Value<'a>,
    path: &'k [&'static str],
) -> Result<(&'v Value<'a>, &'k [&'static str]), String> {
    let mut value = root;
    for (position, key) in path.iter().enumerate() {
        let Value::Object(object) = value else { return Err(not_a(&path[..position], "an object")) };
        match member(object, key)? {
            Some(inner) => value = inner,
            None => return Ok((value, &path[position..])),
        }
    }
    Ok((value, &[]))
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
