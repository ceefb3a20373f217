//! The OpenAPI document, held against live requests and answers.

use serde_json::{Value, json};

use crate::{
    schema,
    wire::{Answer, Wire},
};

/// The document of a running door, its answers made strict: a field that it does not tell of is a
/// fault here, although clients must ignore one.
pub(crate) struct Document(Value);

impl Document {
    pub(crate) async fn fetch(wire: &mut Wire) -> Self {
        let answer = wire.get("/openapi.json").await;
        assert_eq!(answer.status, 200);
        let mut document = answer.json();
        forbid_unknown_fields(&mut document["components"]["schemas"]);
        Self(document)
    }

    /// The operation that a request belongs to.
    fn operation(&self, method: &str, path: &str) -> &Value {
        let bare = path.split('?').next().unwrap_or_default();
        let fits = |template: &str| {
            let (mut ours, mut theirs) = (template.split('/'), bare.split('/'));
            loop {
                match (ours.next(), theirs.next()) {
                    (None, None) => return true,
                    (Some(part), Some(other)) if part == other || (part.starts_with('{') && !other.is_empty()) => {}
                    _ => return false,
                }
            }
        };
        let paths = self.0["paths"].as_object().expect("paths");
        let found: Vec<_> = paths
            .iter()
            .filter(|(template, item)| fits(template) && item.get(method.to_lowercase()).is_some())
            .collect();
        let exact = found.iter().min_by_key(|(template, _)| template.matches('{').count());
        let (_, item) = exact.unwrap_or_else(|| panic!("the document has no {method} {path}"));
        &item[method.to_lowercase()]
    }

    /// Asserts that an answer is one that the document tells of.
    pub(crate) fn check_answer(&self, method: &str, path: &str, answer: &Answer) {
        let described = &self.operation(method, path)["responses"][answer.status.to_string()];
        assert!(!described.is_null(), "{method} {path} may not answer {}", answer.status);
        let media_type = answer.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
        let schema = &described["content"][media_type]["schema"];
        assert!(!schema.is_null(), "{method} {path} may not answer {media_type} with {}", answer.status);
        match media_type {
            "application/json" => self.check(schema, &answer.json(), method, path),
            "application/x-ndjson" => {
                for line in answer.text().lines() {
                    self.check(schema, &serde_json::from_str(line).expect("JSON"), method, path);
                }
            }
            _ => self.check(schema, &Value::String(answer.text()), method, path),
        }
    }

    /// Asserts that a request is one that the document tells of.
    pub(crate) fn check_request(&self, method: &str, path: &str, body: &[u8]) {
        let operation = self.operation(method, path);
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        if !schema.is_null() && !body.is_empty() {
            let body = serde_json::from_slice(body).expect("JSON");
            self.check(schema, &body, method, path);
        }
        let known: Vec<_> = operation["parameters"].as_array().expect("parameters").iter().collect();
        for pair in path.split_once('?').map_or("", |(_, query)| query).split('&').filter(|pair| !pair.is_empty()) {
            let name = pair.split('=').next().unwrap_or_default();
            let name = if name.starts_with("h.") { "h.NAME" } else { name };
            assert!(known.iter().any(|known| known["name"] == name), "{method} {path} has no parameter {name}");
        }
    }

    fn check(&self, schema: &Value, value: &Value, method: &str, path: &str) {
        let faults = schema::faults(schema, value, &self.0["components"]["schemas"]);
        assert!(faults.is_empty(), "{method} {path}: {faults:#?} in {value:#}");
    }
}

fn forbid_unknown_fields(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("properties").is_some_and(Value::is_object) && fields.contains_key("type") {
                fields.entry("additionalProperties").or_insert(json!(false));
            }
            fields.values_mut().for_each(forbid_unknown_fields);
        }
        Value::Array(values) => values.iter_mut().for_each(forbid_unknown_fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
