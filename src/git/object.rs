//! Object ids, and how git computes them.

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};

/// How many hexadecimal digits an object id has, with SHA-1 and with SHA-256.
pub(super) const SHA1: usize = 40;
pub(super) const SHA256: usize = 64;

/// A full object id. It has only hexadecimal digits, so it cannot be an option, a path or a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObjectName(String);

impl ObjectName {
    /// Parses an object id from any source: output of git, or a file that anyone may have written.
    pub(super) fn parse(name: &str) -> Result<ObjectName> {
        if [SHA1, SHA256].contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(ObjectName(name.to_ascii_lowercase()));
        }
        let start: String = name.chars().take(80).collect();
        let reason = format!("`{}` is not the name of an object: 40 or 64 hexadecimal digits", start.escape_debug());
        Err(Error::Git { command: "rev-parse".to_owned(), reason })
    }

    /// Returns the object id of a file with these bytes, in a repository whose ids have this many digits.
    pub(super) fn of_file(bytes: &[u8], digits: usize) -> ObjectName {
        let head = format!("blob {}\0", bytes.len());
        if digits == SHA256 {
            let hash = Sha256::new().chain_update(head).chain_update(bytes).finalize();
            let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
            return ObjectName(hash.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect());
        }
        let mut hash = sha1_smol::Sha1::new();
        hash.update(head.as_bytes());
        hash.update(bytes);
        ObjectName(hash.digest().to_string())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hexadecimal_digits_name_an_object() {
        let (sha1, sha256) = ("0123456789abcdef".repeat(4), "A".repeat(64));
        assert_eq!(ObjectName::parse(&sha1[..40]).unwrap().as_str(), &sha1[..40]);
        assert_eq!(ObjectName::parse(&sha256).unwrap().as_str(), "a".repeat(64));
        for bad in ["", "HEAD", "--output=/x", &sha1[..39], &sha1[..41], &format!("{}\n", &sha1[..39]), &"g".repeat(40)]
        {
            assert!(ObjectName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_file_has_the_name_that_git_gives_it() {
        // The output of `git hash-object` for `x` and a line end.
        assert_eq!(ObjectName::of_file(b"x\n", SHA1).as_str(), "587be6b4c3f93f93c489c0111bba5596147a26cb");
        let empty = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813";
        assert_eq!(ObjectName::of_file(b"", SHA256).as_str(), empty);
    }
}
