//! What cargo says about who depends on whom, under which licence and from where.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The packages that this machine's build uses, with their edges.
pub(crate) struct Dependencies {
    packages: BTreeMap<String, Package>,
    edges: BTreeMap<String, Vec<String>>,
}

/// One package.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) licence: Option<String>,
    /// From which registry; `None` for a folder of this repository.
    pub(crate) source: Option<String>,
    /// What its manifest asks for when it is built, tests aside.
    pub(crate) asks_for: BTreeSet<String>,
}

impl Dependencies {
    /// Asks cargo, for this machine's platform: what only other platforms need is not looked at.
    pub(crate) fn of_workspace(root: &Path) -> Result<Self, String> {
        let output = Command::new("cargo")
            .args(["metadata", "--format-version", "1", "--filter-platform", &host()?])
            .current_dir(root)
            .output()
            .map_err(|error| format!("cannot run `cargo metadata`: {error}"))?;
        if !output.status.success() {
            return Err(format!("`cargo metadata` failed:\n{}", String::from_utf8_lossy(&output.stderr)));
        }
        Self::of_json(&output.stdout)
    }

    /// Reads the output of `cargo metadata`.
    pub(crate) fn of_json(json: &[u8]) -> Result<Self, String> {
        let metadata: Value = serde_json::from_slice(json).map_err(|error| format!("cannot read metadata: {error}"))?;
        let mut packages = BTreeMap::new();
        let mut edges = BTreeMap::new();
        let known: BTreeMap<&str, &Value> =
            items(&metadata["packages"]).iter().map(|package| (text(&package["id"]), package)).collect();
        for node in items(&metadata["resolve"]["nodes"]) {
            let id = text(&node["id"]);
            let package = known.get(id).ok_or_else(|| format!("metadata has no package `{id}`"))?;
            packages.insert(id.to_owned(), Package::of(package));
            let normal = items(&node["deps"]).iter().filter(|edge| has_kind(edge, Value::is_null));
            edges.insert(id.to_owned(), normal.map(|edge| text(&edge["pkg"]).to_owned()).collect());
        }
        Ok(Self { packages, edges })
    }

    /// Every package.
    pub(crate) fn packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.values()
    }

    /// The crates of this repository.
    pub(crate) fn workspace(&self) -> impl Iterator<Item = &Package> {
        self.packages().filter(|package| package.source.is_none())
    }

    /// The names of everything that is linked into a crate of this repository, over any number of edges.
    pub(crate) fn linked_into(&self, name: &str) -> BTreeSet<&str> {
        let start = self.packages.iter().find(|(_, package)| package.name == name && package.source.is_none());
        let mut waiting: Vec<&str> = start.iter().map(|(id, _)| id.as_str()).collect();
        let mut seen = BTreeSet::new();
        while let Some(id) = waiting.pop() {
            for next in self.edges.get(id).into_iter().flatten() {
                if seen.insert(next.as_str()) {
                    waiting.push(next);
                }
            }
        }
        seen.into_iter().filter_map(|id| self.packages.get(id)).map(|package| package.name.as_str()).collect()
    }
}

impl Package {
    fn of(json: &Value) -> Self {
        let owned = |value: &Value| value.as_str().map(str::to_owned);
        Self {
            name: text(&json["name"]).to_owned(),
            version: text(&json["version"]).to_owned(),
            licence: owned(&json["license"]),
            source: owned(&json["source"]),
            asks_for: items(&json["dependencies"])
                .iter()
                .filter(|dependency| dependency["kind"] != "dev")
                .map(|dependency| text(&dependency["name"]).to_owned())
                .collect(),
        }
    }
}

fn has_kind(edge: &Value, is_kind: impl Fn(&Value) -> bool) -> bool {
    items(&edge["dep_kinds"]).iter().any(|kind| is_kind(&kind["kind"]))
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn host() -> Result<String, String> {
    let output =
        Command::new("rustc").arg("-vV").output().map_err(|error| format!("cannot run `rustc -vV`: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "`rustc -vV` names no host".to_owned())
}

/// A package of a small world: name, version, licence, source, and what it asks for when it is built.
#[cfg(test)]
pub(crate) type Planted<'a> = (&'a str, &'a str, &'a str, Option<&'a str>, &'a [&'a str]);

/// A small world, for the tests of the rules.
#[cfg(test)]
pub(crate) fn planted(packages: &[Planted<'_>]) -> Dependencies {
    let id = |name: &str| {
        let version = packages.iter().find(|package| package.0 == name).map_or("0", |package| package.1);
        format!("{name}@{version}")
    };
    let nodes: Vec<Value> = packages
        .iter()
        .map(|(name, version, _, _, asks_for)| {
            let known = asks_for.iter().filter(|dependency| packages.iter().any(|package| package.0 == **dependency));
            let deps: Vec<Value> = known
                .map(|dependency| serde_json::json!({"pkg": id(dependency), "dep_kinds": [{"kind": null}]}))
                .collect();
            serde_json::json!({"id": format!("{name}@{version}"), "deps": deps})
        })
        .collect();
    let packages: Vec<Value> = packages
        .iter()
        .map(|(name, version, licence, source, asks_for)| {
            let dependencies: Vec<Value> =
                asks_for.iter().map(|name| serde_json::json!({"name": name, "kind": null})).collect();
            serde_json::json!({
                "id": format!("{name}@{version}"), "name": name, "version": version, "license": licence,
                "source": source, "dependencies": dependencies,
            })
        })
        .collect();
    let metadata = serde_json::json!({"packages": packages, "resolve": {"nodes": nodes}});
    Dependencies::of_json(metadata.to_string().as_bytes()).expect("planted metadata")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_found_over_any_number_of_edges_and_tests_aside() {
        let json = br#"{
          "packages": [
            {"id": "a", "name": "a", "version": "1.0.0", "source": null, "dependencies": [
              {"name": "b", "kind": null}, {"name": "t", "kind": "dev"}, {"name": "g", "kind": "build"}]},
            {"id": "b", "name": "b", "version": "1.0.0", "source": "registry+x", "dependencies": []},
            {"id": "c", "name": "c", "version": "1.0.0", "source": "registry+x", "dependencies": []},
            {"id": "t", "name": "t", "version": "1.0.0", "source": "registry+x", "dependencies": []}],
          "resolve": {"nodes": [
            {"id": "a", "deps": [{"pkg": "b", "dep_kinds": [{"kind": null}]}, {"pkg": "t", "dep_kinds": [{"kind": "dev"}]}]},
            {"id": "b", "deps": [{"pkg": "c", "dep_kinds": [{"kind": null}]}]},
            {"id": "c", "deps": []}, {"id": "t", "deps": []}]}}"#;
        let dependencies = Dependencies::of_json(json).expect("read");
        assert_eq!(dependencies.linked_into("a"), BTreeSet::from(["b", "c"]));
        let asked: Vec<_> = dependencies.workspace().flat_map(|package| package.asks_for.clone()).collect();
        assert_eq!(asked, ["b", "g"]);
    }
}
