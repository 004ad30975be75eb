//! Parameters: from JSON into the method's type, with an error that names the field.

use ccd_protocol::{ErrorKind, RpcError};
use serde::de::DeserializeOwned;

use crate::rpc::strict::Strict;

/// Text of the caller that an error repeats, in bytes at most.
const QUOTED: usize = 200;

/// Reads the parameters of a method; absent ones are an empty object.
pub(crate) fn read<T: DeserializeOwned>(raw: Option<&str>) -> Result<T, RpcError> {
    let text = raw.unwrap_or("{}");
    let mut deserializer = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(Strict(&mut deserializer)).map_err(|error| explain(&error))
}

/// An error of a field that was read but cannot be used.
pub(crate) fn wrong(field: &str, expected: impl Into<String>) -> RpcError {
    let expected = expected.into();
    RpcError::new(ErrorKind::InvalidParams, format!("The field `{field}` is wrong: {expected}."))
        .with("field", field)
        .with("expected", expected)
}

fn explain(error: &serde_path_to_error::Error<serde_json::Error>) -> RpcError {
    let said = error.inner().to_string();
    let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(text, _)| text);
    if let Some((name, known)) = unknown_field(said) {
        let field = in_parent(error.path(), name);
        let closest = nearest(name, known.iter().map(String::as_str)).first().map(|near| (*near).to_owned());
        let hint = match &closest {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "this method takes no fields there.".to_owned(),
            None => format!("the fields are {}.", quoted_list(&known)),
        };
        let error = RpcError::new(ErrorKind::InvalidParams, format!("There is no field `{field}`; {hint}"))
            .with("field", field)
            .with("expected", if known.is_empty() { "no such field".to_owned() } else { known.join(", ") });
        return match closest {
            Some(near) => error.with("closest", vec![near]),
            None => error,
        };
    }
    if let Some(name) = between_ticks(said, "missing field ") {
        let field = in_parent(error.path(), name);
        return RpcError::new(ErrorKind::InvalidParams, format!("The field `{field}` is missing."))
            .with("field", field)
            .with("expected", "a value");
    }
    if let Some(name) = between_ticks(said, "duplicate field ") {
        let field = in_parent(error.path(), name);
        return RpcError::new(ErrorKind::InvalidParams, format!("The field `{field}` is given twice."))
            .with("field", field)
            .with("expected", "one value");
    }
    let path = error.path().to_string();
    let field = if path.is_empty() || path == "." { "params".to_owned() } else { path };
    let expected = match said.rsplit_once(", expected ") {
        Some((_, "u32" | "u64")) => "a whole number from 0".to_owned(),
        // The names of our types say nothing to a caller.
        Some((_, expected)) if expected.starts_with("struct ") => "an object".to_owned(),
        Some((_, expected)) => clip(expected),
        None => clip(said),
    };
    RpcError::new(ErrorKind::InvalidParams, format!("The field `{field}` is wrong: expected {expected}."))
        .with("field", field)
        .with("expected", expected)
}

/// The name and the known fields of serde's "unknown field" text. The name is the caller's and may hold anything,
/// ticks included, so it is cut off at the last place where the fixed words can stand.
fn unknown_field(said: &str) -> Option<(&str, Vec<String>)> {
    let rest = said.strip_prefix("unknown field `")?;
    let (name, known) =
        rest.rsplit_once("`, expected ").or_else(|| rest.strip_suffix("`, there are no fields").map(|name| (name, "")))?;
    let known = known.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    Some((name, known))
}

fn between_ticks<'t>(said: &'t str, prefix: &str) -> Option<&'t str> {
    said.strip_prefix(prefix)?.strip_prefix('`')?.strip_suffix('`')
}

fn in_parent(path: &serde_path_to_error::Path, name: &str) -> String {
    let name = clip(name);
    let path = path.to_string();
    let parent = match path.rsplit_once('.') {
        _ if path == name || path == "." || path.is_empty() => return name,
        Some((parent, last)) if last == name => parent.to_owned(),
        _ => path,
    };
    format!("{parent}.{name}")
}

fn clip(text: &str) -> String {
    ccd_text::clip(text.as_bytes(), QUOTED)
}

fn quoted_list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The known names that a mistyped one may mean, nearest first: at most three, within a third of its length.
pub(crate) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Vec<&'k str> {
    // A name is short; a megabyte of it is no typo and would cost a quadratic comparison.
    if name.len() > 64 {
        return Vec::new();
    }
    let allowed = (name.chars().count() / 3).max(2);
    let mut found: Vec<(usize, &str)> = known
        .map(|known| (strsim::osa_distance(name, known), known))
        .filter(|&(distance, known)| distance <= allowed && distance < known.chars().count())
        .collect();
    found.sort_unstable();
    found.into_iter().take(3).map(|(_, known)| known).collect()
}

#[cfg(test)]
mod tests {
    use ccd_protocol::{
        daemon::HelloParams,
        edit::EditParams,
        graph::{CallersParams, SearchParams},
    };

    use super::*;

    fn check<T: DeserializeOwned>(text: &str, field: &str, message: &str) {
        let error = read::<T>(Some(text)).err().expect("the parameters are wrong");
        assert_eq!(error.data.fields["field"], field, "{error}");
        assert_eq!(error.message, message);
    }

    #[test]
    fn every_error_names_its_field() {
        check::<SearchParams>(r#"{"query":"x","limt":3}"#, "limt", "There is no field `limt`; did you mean `limit`?");
        check::<SearchParams>(r#"{"limit":3}"#, "query", "The field `query` is missing.");
        check::<SearchParams>(
            r#"{"query":"x","limit":-3}"#,
            "limit",
            "The field `limit` is wrong: expected a whole number from 0.",
        );
        check::<SearchParams>(r#"{"query":7}"#, "query", "The field `query` is wrong: expected a string.");
        check::<SearchParams>(r#"{"query":"x","query":"y"}"#, "query", "The field `query` is given twice.");
        check::<SearchParams>(
            r#"{"query":"x","kinds":["function","klass"]}"#,
            "kinds[1]",
            "The field `kinds[1]` is wrong: expected one of `module`, `function`, `method`, `constructor`, `field`, `constant`, `variable`, `struct`, `class`, `enum`, `enum_member`, `interface`, `trait`, `impl`, `type_alias`, `macro`, `property`, `test`.",
        );
        check::<CallersParams>(
            r#"{"symbol":7}"#,
            "symbol",
            "The field `symbol` is wrong: expected an id or a name (a string), or a place {path, line, and column or text}.",
        );
    }

    #[test]
    fn an_array_is_no_object() {
        check::<HelloParams>(
            r#"{"protocol":1,"client":["x","1"]}"#,
            "client",
            "The field `client` is wrong: expected an object.",
        );
        check::<HelloParams>("[1]", "params", "The field `params` is wrong: expected an object.");
        check::<CallersParams>(
            r#"{"symbol":["/p/b.py",2,1]}"#,
            "symbol",
            "The field `symbol` is wrong: expected an id or a name (a string), or a place {path, line, and column or text}.",
        );
        check::<CallersParams>(
            r#"{"symbol":{"path":"/p/b.py","line":2,"colum":1}}"#,
            "symbol.colum",
            "There is no field `symbol.colum`; did you mean `column`?",
        );
        let edits = r#"{"path":"/p","edits":[{"range":{"start":[1,1],"end":{"line":1,"column":1}},"new":""}]}"#;
        check::<EditParams>(edits, "edits[0].range.start", "The field `edits[0].range.start` is wrong: expected an object.");
    }

    #[test]
    fn a_name_that_is_near() {
        let known = ["graph.search", "graph.outline", "daemon.status", "workspace.status"];
        assert_eq!(nearest("graph.serach", known.into_iter()), ["graph.search"]);
        assert_eq!(nearest("deamon.status", known.into_iter()), ["daemon.status"]);
        assert!(nearest("x", known.into_iter()).is_empty());
        assert!(nearest(&"y".repeat(1 << 20), known.into_iter()).is_empty());
    }
}
