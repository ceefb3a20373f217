//! The OpenAPI 3.1 document, made once from the table of routes, what `operation` says about each
//! call, and the hand-kept schemas of `schemas.json`. A test holds live answers against it.

mod administration;
mod messages;
mod operation;
mod schedules;

use std::{collections::BTreeSet, sync::LazyLock};

use serde_json::{Map, Value, json};

use crate::call::{Call, ROUTES};
use operation::{Answer, Operation, Parameter, RequestBody};

const SCHEMAS: &str = include_str!("schemas.json");

/// The document as JSON text.
pub(crate) fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| document().to_string());
    &TEXT
}

fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        for path in route.paths() {
            let in_namespace = path.starts_with("/v1/namespaces/{namespace}/");
            let Some(operation) = operation::of(route.call) else { continue };
            let described = describe(route.call, operation, &path, in_namespace);
            let item = paths.entry(path).or_insert_with(|| json!({}));
            item[route.method.lower_case()] = described;
        }
    }
    let schemas: Value = serde_json::from_str(SCHEMAS).unwrap_or_default();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Punctual",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A delayed-message broker. Unknown fields and query parameters are errors in requests, \
                and are to be ignored in answers.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas,
        },
    })
}

fn describe(call: Call, operation: &Operation, path: &str, in_namespace: bool) -> Value {
    let Operation { summary, tag, query, body, answers } = operation;
    let by_key = path.contains("/keys/");
    let mut parameters: Vec<Value> = path_parameters(path).map(path_parameter).collect();
    parameters.extend(query.iter().map(query_parameter));
    if by_key {
        parameters.push(query_parameter(&operation::ORDERING_KEY));
    }
    let mut described = json!({
        // Ids are unique in the document, and a call has several paths.
        "operationId": format!(
            "{}{}{}",
            call.name(),
            if by_key { "_by_key" } else { "" },
            if in_namespace { "_in_namespace" } else { "" },
        ),
        "summary": summary,
        "tags": [tag],
        "parameters": parameters,
        "responses": responses(call, answers),
    });
    if let Some(body) = body {
        described["requestBody"] = request_body(body);
    }
    if call.is_public() {
        described["security"] = json!([{}]);
    }
    described
}

fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn path_parameter(name: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})
}

fn query_parameter(parameter: &Parameter) -> Value {
    let schema = schema_of(parameter.schema);
    json!({"name": parameter.name, "in": "query", "description": parameter.description, "schema": schema})
}

/// The schema of that name, or of that text when it is JSON itself.
fn schema_of(schema: &str) -> Value {
    if schema.starts_with('{') { serde_json::from_str(schema).unwrap_or_default() } else { reference(schema) }
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

fn request_body(body: &RequestBody) -> Value {
    match body {
        RequestBody::Json { schema, required } => {
            json!({"required": required, "content": {"application/json": {"schema": reference(schema)}}})
        }
        RequestBody::Batch => json!({
            "required": true,
            "content": {
                "application/json": {"schema": reference("MessageBatch")},
                "application/x-ndjson": {"schema": reference("Message")},
            },
        }),
        RequestBody::Message => json!({"required": false, "content": {"*/*": {}}}),
    }
}

fn responses(call: Call, answers: &[Answer]) -> Value {
    let mut responses = Map::new();
    for answer in answers {
        let mut content = Map::new();
        for (media_type, schema) in answer.content {
            let schema = if schema.is_empty() { json!({"type": "string"}) } else { schema_of(schema) };
            content.insert((*media_type).to_owned(), json!({"schema": schema}));
        }
        let described = json!({
            "description": answer.description,
            "headers": {"x-request-id": {"schema": {"type": "string"}}},
            "content": content,
        });
        responses.insert(answer.status.to_string(), described);
    }
    let described: BTreeSet<u16> = answers.iter().map(|answer| answer.status).collect();
    for (status, description) in operation::FAULTS {
        let possible = !(call.is_public() && matches!(status, 401 | 403));
        if possible && !described.contains(status) {
            let content = json!({"application/json": {"schema": reference("ErrorAnswer")}});
            responses.insert(status.to_string(), json!({"description": description, "content": content}));
        }
    }
    Value::Object(responses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_in_the_document_and_the_document_has_no_other() {
        let document = document();
        let mut documented = BTreeSet::new();
        for (path, item) in document["paths"].as_object().expect("paths") {
            documented.extend(item.as_object().expect("methods").keys().map(|method| format!("{method} {path}")));
        }
        let mut routed = BTreeSet::new();
        for route in ROUTES {
            routed.extend(route.paths().iter().map(|path| format!("{} {path}", route.method.lower_case())));
        }
        assert_eq!(documented, routed);
    }

    #[test]
    fn every_reference_of_the_document_leads_somewhere_and_every_schema_is_used() {
        fn references(value: &Value, found: &mut BTreeSet<String>) {
            match value {
                Value::Object(fields) => {
                    if let Some(Value::String(reference)) = fields.get("$ref") {
                        found.insert(reference.rsplit('/').next().expect("a name").to_owned());
                    }
                    fields.values().for_each(|value| references(value, found));
                }
                Value::Array(values) => values.iter().for_each(|value| references(value, found)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        let document = document();
        let mut wanted = BTreeSet::new();
        references(&document, &mut wanted);
        let known: BTreeSet<String> =
            document["components"]["schemas"].as_object().expect("schemas").keys().cloned().collect();
        assert_eq!(wanted, known);
    }

    #[test]
    fn operation_ids_are_unique() {
        let document = document();
        let mut seen = BTreeSet::new();
        for item in document["paths"].as_object().expect("paths").values() {
            for operation in item.as_object().expect("methods").values() {
                let id = operation["operationId"].as_str().expect("an id").to_owned();
                assert!(seen.insert(id.clone()), "{id} is there twice");
            }
        }
    }
}
