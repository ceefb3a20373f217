//! JSON Schema as far as the OpenAPI document uses it. A keyword that is not known here fails the
//! test, so that nothing in the document goes unchecked.

use regex::Regex;
use serde_json::Value;

/// What is wrong with a value, each with where; empty when it fits.
pub(crate) fn faults(schema: &Value, value: &Value, schemas: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, value, schemas, "", &mut found);
    found
}

fn check(schema: &Value, value: &Value, schemas: &Value, at: &str, found: &mut Vec<String>) {
    for (keyword, wanted) in schema.as_object().unwrap_or_else(|| panic!("not a schema: {schema}")) {
        let fits = match keyword.as_str() {
            "description" | "default" | "examples" => true,
            "$ref" => {
                let name = wanted.as_str().and_then(|path| path.strip_prefix("#/components/schemas/"));
                let target = &schemas[name.expect("a name")];
                assert!(target.is_object(), "{wanted} leads nowhere");
                check(target, value, schemas, at, found);
                true
            }
            "oneOf" => {
                let branches = wanted.as_array().expect("branches");
                let fitting = branches.iter().filter(|branch| faults(branch, value, schemas).is_empty()).count();
                fitting == 1
            }
            "properties" | "required" | "additionalProperties" | "minProperties" | "maxProperties" => {
                object_fits(keyword, wanted, schema, value, schemas, at, found)
            }
            "items" | "maxItems" => list_fits(keyword, wanted, value, schemas, at, found),
            _ => scalar_fits(keyword, wanted, value),
        };
        if !fits {
            found.push(format!("{at}: {value} does not fit `{keyword}`: {wanted}"));
        }
    }
}

fn scalar_fits(keyword: &str, wanted: &Value, value: &Value) -> bool {
    let length = || value.as_str().map(str::len);
    match keyword {
        "type" => match wanted {
            Value::Array(types) => types.iter().any(|kind| is_of(kind, value)),
            kind => is_of(kind, value),
        },
        "const" => value == wanted,
        "enum" => wanted.as_array().expect("values").contains(value),
        "pattern" => {
            let pattern = Regex::new(wanted.as_str().expect("a pattern")).expect("a pattern");
            value.as_str().is_none_or(|text| pattern.is_match(text))
        }
        "minLength" => length().is_none_or(|length| length >= size(wanted)),
        "maxLength" => length().is_none_or(|length| length <= size(wanted)),
        "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().expect("a number")),
        "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().expect("a number")),
        unknown => panic!("the document uses `{unknown}`, which nothing here checks"),
    }
}

fn list_fits(keyword: &str, wanted: &Value, value: &Value, schemas: &Value, at: &str, found: &mut Vec<String>) -> bool {
    let Some(items) = value.as_array() else { return true };
    if keyword == "maxItems" {
        return items.len() <= size(wanted);
    }
    for (index, item) in items.iter().enumerate() {
        check(wanted, item, schemas, &format!("{at}[{index}]"), found);
    }
    true
}

fn object_fits(
    keyword: &str,
    wanted: &Value,
    schema: &Value,
    value: &Value,
    schemas: &Value,
    at: &str,
    found: &mut Vec<String>,
) -> bool {
    let Some(fields) = value.as_object() else { return true };
    match keyword {
        "required" => {
            wanted.as_array().expect("names").iter().all(|name| fields.contains_key(name.as_str().expect("a name")))
        }
        "minProperties" => fields.len() >= size(wanted),
        "maxProperties" => fields.len() <= size(wanted),
        "properties" => {
            for (name, schema) in wanted.as_object().expect("properties") {
                if let Some(field) = fields.get(name) {
                    check(schema, field, schemas, &format!("{at}.{name}"), found);
                }
            }
            true
        }
        _ => {
            let known = schema.get("properties").and_then(Value::as_object);
            let unknown = fields.iter().filter(|(name, _)| !known.is_some_and(|known| known.contains_key(*name)));
            if wanted == &Value::Bool(false) {
                return unknown.count() == 0;
            }
            for (name, field) in unknown {
                check(wanted, field, schemas, &format!("{at}.{name}"), found);
            }
            true
        }
    }
}

fn is_of(kind: &Value, value: &Value) -> bool {
    match kind.as_str().expect("a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        unknown => panic!("there is no type `{unknown}`"),
    }
}

fn size(wanted: &Value) -> usize {
    wanted.as_u64().and_then(|size| usize::try_from(size).ok()).expect("a size")
}

#[test]
fn a_value_that_does_not_fit_is_told_where() {
    let schemas = serde_json::json!({"Name": {"type": "string", "maxLength": 3, "pattern": "^[a-z]+$"}});
    let schema = serde_json::json!({
        "type": "object",
        "required": ["name", "list"],
        "properties": {
            "name": {"$ref": "#/components/schemas/Name"},
            "list": {"type": "array", "maxItems": 2, "items": {"oneOf": [{"type": "integer", "minimum": 1}, {"const": "x"}]}},
            "kind": {"enum": ["a", "b"]},
        },
        "additionalProperties": false,
    });
    let count = |value| faults(&schema, &value, &schemas).len();
    assert_eq!(count(serde_json::json!({"name": "abc", "list": [1, "x"], "kind": "b"})), 0);
    for (value, expected) in [
        (serde_json::json!([]), 1),
        (serde_json::json!({"name": "abc"}), 1),
        (serde_json::json!({"name": "ABCD", "list": []}), 2),
        (serde_json::json!({"name": "abc", "list": [0, "y", 1.5]}), 4),
        (serde_json::json!({"name": "abc", "list": [], "kind": "c", "more": 1}), 2),
    ] {
        assert_eq!(count(value.clone()), expected, "{value}: {:?}", faults(&schema, &value, &schemas));
    }
}
