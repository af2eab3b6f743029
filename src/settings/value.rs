//! How a value of a setting is read, checked and shown.

use toml::de::{DeTable, DeValue};

use crate::text::secret::is_fingerprint;

/// The longest name of a model, in characters.
pub(crate) const MAX_MODEL: usize = 64;
/// The most models that a list may have.
const MAX_MODELS: usize = 16;
/// The form of a model's name.
pub(super) const MODEL: &str = "a word of letters, digits and `.`, `_`, `-`, `:`, `/`, `@`, `[`, `]`";

/// A value from a file or a variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RawValue {
    Number(f64),
    Bool(bool),
    Text(String),
    List(Vec<String>),
    Table(Vec<(String, RawValue)>),
    /// The text of a variable, in the form that the setting needs: a list has commas between its items.
    Variable(String),
    Other,
}

/// What a value must be, in addition to its type.
#[derive(Debug, Clone, Copy)]
pub(super) enum ValueRule {
    /// Whatever the type takes.
    OfType,
    /// A number from the first to the second.
    Within(f64, f64),
    /// A text, or a list of texts, for which the function returns true. The first field says in words what is required.
    Form(&'static str, fn(&[String]) -> bool),
}

/// The name of a model or of a place on a server, or nothing.
pub(super) const NAME: ValueRule =
    ValueRule::Form(MODEL, |names| names.iter().all(|name| name.is_empty() || is_model(name)));
pub(super) const MODELS: ValueRule = ValueRule::Form(
    "a list of 1 to 16 models, each a word of letters, digits and `.`, `_`, `-`, `:`, `/`, `@`, `[`, `]`",
    |names| (1..=MAX_MODELS).contains(&names.len()) && names.iter().all(|name| is_model(name)),
);
pub(super) const COMMAND_LINE: ValueRule = ValueRule::Form("a command line", |_| true);
pub(super) const FINGERPRINTS: ValueRule =
    ValueRule::Form("a list of fingerprints, each eight hexadecimal digits", |texts| {
        texts.iter().all(|it| is_fingerprint(it))
    });
pub(super) const FOLDERS: ValueRule =
    ValueRule::Form("a list of absolute paths, of which the last part may be `*`, or `*`", |folders| {
        folders.iter().all(|folder| folder == "*" || folder.starts_with('/'))
    });
pub(super) const MEMORIES: ValueRule =
    ValueRule::Form("a list of folders", |folders| folders.iter().all(|folder| !folder.is_empty()));
pub(super) const ADDRESS: ValueRule = ValueRule::Form("an address such as `http://localhost:11434`", |addresses| {
    addresses.iter().all(|address| address.is_empty() || is_address(address))
});
pub(super) const KEY: ValueRule = ValueRule::Form("a word of ASCII characters", |keys| {
    keys.iter().all(|key| key.chars().all(|character| character.is_ascii_graphic()))
});

impl ValueRule {
    fn what(self) -> &'static str {
        if let ValueRule::Form(what, _) = self { what } else { "a text" }
    }

    fn fits(self, texts: &[String]) -> bool {
        !matches!(self, ValueRule::Form(_, fits) if !fits(texts))
    }
}

/// A type that a setting can have.
pub(super) trait SettingValue {
    /// Converts a value, or returns what it must be.
    fn set(&mut self, rule: ValueRule, value: RawValue) -> Result<(), String>;

    /// Returns the value as written in a file.
    fn shown(&mut self) -> String;
}

impl SettingValue for f64 {
    fn set(&mut self, rule: ValueRule, value: RawValue) -> Result<(), String> {
        let (least, most) = range(rule);
        *self = number(&value, rule).ok_or_else(|| format!("a number from {least} to {most}"))?;
        Ok(())
    }

    fn shown(&mut self) -> String {
        format!("{self:?}")
    }
}

macro_rules! whole_numbers {
    ($($number:ty),+) => {
        $(impl SettingValue for $number {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range fits into the type")]
            fn set(&mut self, rule: ValueRule, value: RawValue) -> Result<(), String> {
                let (least, most) = range(rule);
                let number = number(&value, rule).filter(|number| number.fract() == 0.0);
                *self = number.ok_or_else(|| format!("a whole number from {least} to {most}"))? as $number;
                Ok(())
            }

            fn shown(&mut self) -> String {
                self.to_string()
            }
        })+
    };
}
whole_numbers!(usize, u32, u64);

fn range(rule: ValueRule) -> (f64, f64) {
    if let ValueRule::Within(least, most) = rule { (least, most) } else { (0.0, f64::MAX) }
}

/// Returns a number that is in the range.
fn number(value: &RawValue, rule: ValueRule) -> Option<f64> {
    let (least, most) = range(rule);
    let number = match value {
        RawValue::Number(number) => Some(*number),
        RawValue::Variable(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| (least..=most).contains(number))
}

impl SettingValue for bool {
    fn set(&mut self, _: ValueRule, value: RawValue) -> Result<(), String> {
        *self = match value {
            RawValue::Bool(on) => Some(on),
            RawValue::Variable(text) => text.trim().parse().ok(),
            _ => None,
        }
        .ok_or("true or false")?;
        Ok(())
    }

    fn shown(&mut self) -> String {
        self.to_string()
    }
}

impl SettingValue for String {
    fn set(&mut self, rule: ValueRule, value: RawValue) -> Result<(), String> {
        *self = text(value).filter(|text| rule.fits(std::slice::from_ref(text))).ok_or(rule.what())?;
        Ok(())
    }

    fn shown(&mut self) -> String {
        format!("\"{self}\"")
    }
}

fn text(value: RawValue) -> Option<String> {
    if let RawValue::Text(text) | RawValue::Variable(text) = value { Some(text.trim().to_owned()) } else { None }
}

impl SettingValue for Vec<String> {
    fn set(&mut self, rule: ValueRule, value: RawValue) -> Result<(), String> {
        let items = match value {
            RawValue::List(items) => Some(items),
            RawValue::Variable(text) => {
                let items = text.split(',').map(|item| item.trim().to_owned());
                Some(items.filter(|item| !item.is_empty()).collect())
            }
            _ => None,
        };
        *self = items.filter(|items| rule.fits(items)).ok_or(rule.what())?;
        Ok(())
    }

    fn shown(&mut self) -> String {
        format!("{self:?}")
    }
}

/// Makes an enum of words the type of a setting.
macro_rules! words {
    ($($name:ty),+) => {
        $(impl $crate::settings::value::SettingValue for $name {
            fn set(
                &mut self,
                _: $crate::settings::value::ValueRule,
                value: $crate::settings::value::RawValue,
            ) -> Result<(), String> {
                let word = $crate::settings::value::word(value);
                *self = <$name>::parse(&word).ok_or_else(|| format!("one of {}", <$name>::WORDS.join(", ")))?;
                Ok(())
            }

            fn shown(&mut self) -> String {
                format!("\"{self}\"")
            }
        })+
    };
}
pub(super) use words;

/// Returns the word of a choice; an empty text if the value is not a text.
pub(super) fn word(value: RawValue) -> String {
    text(value).unwrap_or_default()
}

/// A value in a table: its key, its rule and itself.
pub(super) type TableField<'a> = (&'static str, ValueRule, &'a mut dyn SettingValue);

/// Sets the named values of an inline table; the others stay.
pub(super) fn set_table(mut fields: Vec<TableField<'_>>, value: RawValue) -> Result<(), String> {
    let names = fields.iter().map(|(name, ..)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let given = match value {
        RawValue::Table(given) => Some(given),
        RawValue::Variable(text) => DeTable::parse(&format!("value = {text}"))
            .ok()
            .and_then(|table| table.get_ref().get("value").map(|value| raw_value(value.get_ref())))
            .and_then(|value| if let RawValue::Table(given) = value { Some(given) } else { None }),
        _ => None,
    };
    for (key, value) in given.ok_or_else(|| format!("a table of {names}"))? {
        let field = fields.iter_mut().find(|(name, ..)| *name == key);
        let (name, rule, field) = field.ok_or_else(|| format!("a table of {names}, without `{key}`"))?;
        field.set(*rule, value).map_err(|what| format!("a table whose `{name}` is {what}"))?;
    }
    Ok(())
}

/// Returns an inline table.
pub(super) fn shown_table(fields: Vec<TableField<'_>>) -> String {
    let fields = fields.into_iter().map(|(name, _, field)| format!("{name} = {}", field.shown()));
    format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
}

/// Returns a value from a file.
pub(super) fn raw_value(value: &DeValue<'_>) -> RawValue {
    match value {
        DeValue::String(text) => RawValue::Text(text.trim().to_owned()),
        DeValue::Boolean(on) => RawValue::Bool(*on),
        DeValue::Integer(integer) if integer.radix() == 10 => number_of(integer.as_str()),
        DeValue::Float(float) => number_of(float.as_str()),
        DeValue::Array(items) => {
            let text = |item: &toml::Spanned<DeValue<'_>>| match item.get_ref() {
                DeValue::String(text) => Some(text.trim().to_owned()),
                _ => None,
            };
            items.iter().map(text).collect::<Option<Vec<String>>>().map_or(RawValue::Other, RawValue::List)
        }
        DeValue::Table(table) => {
            let fields = table.iter().map(|(key, value)| (key.get_ref().to_string(), raw_value(value.get_ref())));
            RawValue::Table(fields.collect())
        }
        _ => RawValue::Other,
    }
}

fn number_of(text: &str) -> RawValue {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.map_or(RawValue::Other, RawValue::Number)
}

/// Returns whether `name` can be the name of a model: a word that is safe as an argument of a command.
pub(crate) fn is_model(name: &str) -> bool {
    // An argument that begins with `-` would be an option.
    !name.is_empty()
        && !name.starts_with('-')
        && name.len() <= MAX_MODEL
        && name.chars().all(|character| character.is_ascii_alphanumeric() || "._-:/@[]".contains(character))
}

/// Returns whether a text is the address of a server: a scheme and a host, no user, no query.
fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    rest.is_some_and(|rest| {
        let host = rest.split('/').next().unwrap_or_default();
        let is_plain = |character: char| character.is_ascii_graphic() && !"@?#\\\"<>`{|}".contains(character);
        !host.is_empty() && !host.starts_with(':') && rest.chars().all(is_plain)
    })
}
