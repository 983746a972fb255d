//! Secrets: given as a value, or better in a file of their own. Never printed, never part of a message.

use std::path::Path;

use secrecy::{ExposeSecret, SecretString};
use toml::de::DeValue;

use super::problem::{Place, Problem};
use super::raw::Section;

/// Fewest characters of a bearer token.
const TOKEN_LENGTH_MIN: usize = 16;

/// The bearer token of `[http]`: `token` or `token_file`.
pub(super) fn token(section: &mut Section<'_>) -> Option<SecretString> {
    let (token, place) = value_or_file(section, "token", "token_file")?;
    let text = token.expose_secret();
    if text.len() < TOKEN_LENGTH_MIN || !text.chars().all(|c| c.is_ascii_graphic()) {
        let what = format!("a token has at least {TOKEN_LENGTH_MIN} visible ASCII characters and no spaces");
        section.note(Problem::error(place, what).with_help("make one with `openssl rand -hex 32`"));
    }
    Some(token)
}

/// The seed of `[keys]`: `seed` or `seed_file`, 32 hex digits.
pub(super) fn seed(section: &mut Section<'_>) -> Option<([u8; 16], Place)> {
    let (seed, place) = value_or_file(section, "seed", "seed_file")?;
    let text = seed.expose_secret();
    let parsed = u128::from_str_radix(text, 16).ok();
    match parsed.filter(|_| text.len() == 32 && text.chars().all(|c| c.is_ascii_hexdigit())) {
        Some(seed) => Some((seed.to_be_bytes(), place)),
        None => {
            let problem = Problem::error(place, "a seed is 32 hex digits");
            section.note(problem.with_help("make one with `openssl rand -hex 16`"));
            None
        }
    }
}

fn value_or_file(
    section: &mut Section<'_>,
    key: &'static str,
    file_key: &'static str,
) -> Option<(SecretString, Place)> {
    let value = section.optional(key, |text| Ok(SecretString::from(text)));
    let file = section.path(file_key);
    match (value, file) {
        (Some(_), Some((_, place))) => {
            section.error(&place, format!("`{key}` and `{file_key}` are both set: one must go"));
            None
        }
        (Some(value), None) => Some(value),
        (None, Some((path, place))) => match read(&path) {
            Ok(secret) => {
                warn_if_readable_by_all(section, &path, &place);
                Some((secret, place))
            }
            Err(reason) => {
                section.error(&place, format!("`{file_key}`: {reason}"));
                None
            }
        },
        (None, None) => None,
    }
}

/// The value of a librdkafka property: a scalar, `{ file = "path" }` or `{ env = "NAME" }`.
#[expect(clippy::disallowed_methods, reason = "the configuration is what reads the environment")]
pub(super) fn property(section: &Section<'_>, value: &DeValue<'_>) -> Result<SecretString, String> {
    match value {
        DeValue::String(text) => Ok(SecretString::from(text.as_ref())),
        DeValue::Integer(number) => Ok(SecretString::from(number.as_str())),
        DeValue::Float(number) => Ok(SecretString::from(number.as_str())),
        DeValue::Boolean(value) => Ok(SecretString::from(value.to_string())),
        DeValue::Table(table) if table.len() == 1 => {
            let text = |key: &str| table.get(key).and_then(|value| value.get_ref().as_str());
            match (text("file"), text("env")) {
                (Some(path), _) => read(&section.beside(path)),
                (_, Some(name)) => std::env::var(name)
                    .map(SecretString::from)
                    .map_err(|_| format!("the environment variable {name} is not set")),
                _ => Err("a table here is `{ file = \"path\" }` or `{ env = \"NAME\" }`".to_owned()),
            }
        }
        _ => Err("a text, a number, `{ file = \"path\" }` or `{ env = \"NAME\" }` is expected".to_owned()),
    }
}

/// The content of a file without the line break at its end.
fn read(path: &Path) -> Result<SecretString, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(format!("{} is empty", path.display())),
        text => Ok(SecretString::from(text)),
    }
}

#[cfg(unix)]
fn warn_if_readable_by_all(section: &mut Section<'_>, path: &Path, place: &Place) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
    if mode & 0o004 != 0 {
        let problem = Problem::error(place.clone(), format!("{} can be read by every user", path.display()));
        section.note(problem.as_warning().with_help(format!("chmod 600 {}", path.display())));
    }
}

#[cfg(not(unix))]
fn warn_if_readable_by_all(_: &mut Section<'_>, _: &Path, _: &Place) {}
