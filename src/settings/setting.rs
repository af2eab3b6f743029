//! One setting, and the macros that make structs and the table of settings from one row for each.

use super::value::{RawValue, SettingValue, ValueRule};
use super::{ENV_PREFIX, Settings};

/// Why a project's file may not set something: the code of the problem, and what the setting does.
pub(super) type OwnReason = (&'static str, &'static str);

pub(super) const ANYONE: Option<OwnReason> = None;
pub(super) const COMMAND: Option<OwnReason> = Some(("command-in-project", "names a command"));
pub(super) const SENDS: Option<OwnReason> = Some(("address-in-project", "names an address to send text to"));
pub(super) const PLACE: Option<OwnReason> = Some(("address-in-project", "names a place on a server"));
pub(super) const SHARES: Option<OwnReason> = Some(("sharing-in-project", "lets other projects read texts"));
pub(super) const SECRET: Option<OwnReason> = Some(("key-in-project", "is a secret"));
pub(super) const TRUST: Option<OwnReason> = Some(("trust-in-project", "decides whose memories are used"));
pub(super) const LAYERS: Option<OwnReason> = Some(("layers-in-project", "names other memories to read"));
pub(super) const RECORDS: Option<OwnReason> =
    Some(("recording-in-project", "decides what is written down of a person's sessions"));
/// A server's model may pass texts on, and a time-out makes a person wait.
pub(super) const SERVER: Option<OwnReason> = Some(("server-in-project", "configures a server"));

/// One setting, for the documentation and the parser.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// Its key, with a dot between table and name.
    pub key: &'static str,
    /// Its help text, one line.
    pub help: &'static str,
    pub(super) rule: ValueRule,
    /// Why a project's file may not set it, if it may not.
    pub(super) own: Option<OwnReason>,
    pub(super) field: fn(&mut Settings) -> &mut dyn SettingValue,
}

impl Setting {
    /// Returns its default, as written in a file.
    pub(crate) fn default_text(&self) -> String {
        (self.field)(&mut Settings::default()).shown()
    }

    /// Returns the environment variable that overrides it.
    pub(crate) fn env(&self) -> String {
        format!("{ENV_PREFIX}{}", self.key.replace('.', "__").to_uppercase())
    }

    /// Returns whether a project's file may not set it. That is so if it names a command, configures a server, is a
    /// secret, decides about trust, names other memories, or decides what is recorded of a person.
    pub(crate) fn is_users_own(&self) -> bool {
        self.own.is_some()
    }

    /// Applies a value, or returns what it must be.
    pub(super) fn set(&self, settings: &mut Settings, value: RawValue) -> Result<(), String> {
        (self.field)(settings).set(self.rule, value).map_err(|what| format!("`{}` must be {what}", self.key))
    }
}

/// Defines a struct of settings from one row for each setting: the field, its type, its default, its key, what it must
/// be, who may set it, and its help. The rows are in `ROWS`. `at` leads from all settings to the struct.
macro_rules! settings {
    (
        $(#[$meta:meta])* $visibility:vis struct $name:ident, at $place:expr;
        $($field_visibility:vis $field:ident: $type:ty = $default:expr, $key:literal, $rule:expr, $own:expr, $help:literal;)*
        $(@group $group:ident: $group_type:ident, $about:literal;)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq)]
        $visibility struct $name {
            $(#[doc = concat!("`", $key, "`: ", $help, ".")] $field_visibility $field: $type,)*
            $(#[doc = $about] pub(crate) $group: $group_type,)*
        }

        impl $name {
            const PLACE: fn(&mut Settings) -> &mut $name = $place;
            pub(super) const ROWS: &[Setting] = &[$(Setting {
                key: $key,
                help: $help,
                rule: $rule,
                own: $own,
                field: |settings| &mut ($name::PLACE)(settings).$field,
            },)*];
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default,)* $($group: $group_type::default(),)* }
            }
        }

        impl std::fmt::Debug for $name {
            /// Shows everything except secrets, which must not appear in a log.
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut shown = formatter.debug_struct(stringify!($name));
                $(
                    let value: &dyn std::fmt::Debug = if $own == SECRET { &"(secret)" } else { &self.$field };
                    shown.field(stringify!($field), value);
                )*
                $(shown.field(stringify!($group), &self.$group);)*
                shown.finish()
            }
        }
    };
}
pub(super) use settings;

/// Defines a struct for a setting whose value is an inline table. A row has the field, its type, its default and what
/// it must be.
macro_rules! inline_table {
    (
        $(#[$meta:meta])* $visibility:vis struct $name:ident {
            $($(#[$of_field:meta])* $field:ident: $type:ty = $default:expr, $rule:expr;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        $visibility struct $name {
            $($(#[$of_field])* $visibility $field: $type,)+
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default,)+ }
            }
        }

        impl $name {
            fn fields(&mut self) -> Vec<TableField<'_>> {
                vec![$((stringify!($field), $rule, &mut self.$field),)+]
            }
        }

        impl SettingValue for $name {
            fn set(&mut self, _: ValueRule, value: RawValue) -> Result<(), String> {
                let mut changed = self.clone();
                set_table(changed.fields(), value)?;
                *self = changed;
                Ok(())
            }

            fn shown(&mut self) -> String {
                shown_table(self.fields())
            }
        }
    };
}
pub(super) use inline_table;
