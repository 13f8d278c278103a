//! The built-in kinds, from the table that `xtask/schema` reads off the Go types.
//!
//! The head of `data/schema.txt` describes its lines.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Field, GoField, ListMerge, Object, Scalar, Schema, Strategy, Type, TypeId};

/// The types of every built-in kind.
pub(crate) fn builtin() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| parse(TABLE).0);
    &SCHEMA
}

const TABLE: &str = include_str!("../../data/schema.txt");

/// Reads a table; the second part is the lines that made no sense.
///
/// Such lines are left out instead of being an error: the table is part of this crate, and a test proves
/// that there are none.
fn parse(table: &'static str) -> (Schema, Vec<&'static str>) {
    let mut parser = Parser::default();
    parser.name_types(table);
    for line in table.lines() {
        if parser.line(line).is_none() {
            parser.skipped.push(line);
        }
    }
    parser.finish_object();
    parser.flatten();
    (parser.schema, parser.skipped)
}

#[derive(Default)]
struct Parser {
    schema: Schema,
    skipped: Vec<&'static str>,
    /// Named types by short package and name.
    named: HashMap<(&'static str, &'static str), TypeId>,
    /// Types that are spelled out where they are used, by short package and text, so that equal ones are
    /// kept once.
    spelled: HashMap<(&'static str, &'static str), TypeId>,
    /// Structs that are atomic by themselves but not in one place, and where they are copied from.
    granular: HashMap<TypeId, TypeId>,
    /// The structs that each struct inlines.
    inlined: Vec<(TypeId, Vec<TypeId>)>,
    package: &'static str,
    short: &'static str,
    current: Option<Current>,
}

/// The type whose lines are being read.
struct Current {
    id: TypeId,
    object: Object,
    inlined: Vec<TypeId>,
    go_fields: Vec<GoField>,
    /// A type with a JSON form of its own: its fields are only of its protobuf message.
    opaque: bool,
}

impl Parser {
    /// Gives every named type its place first, because types refer to each other in any order.
    fn name_types(&mut self, table: &'static str) {
        let mut short = "";
        for line in table.lines() {
            if let Some(rest) = line.strip_prefix("package ") {
                short = rest.split_once(' ').unwrap_or_default().1;
            } else if let Some(rest) = line.strip_prefix("type ") {
                let name = rest.split(' ').next().unwrap_or_default();
                self.named.insert((short, name), self.schema.push(Type::Any));
            }
        }
    }

    fn line(&mut self, line: &'static str) -> Option<()> {
        let mut words = line.split(' ');
        let first = words.next()?;
        match first {
            "" | "#" => {}
            "package" => {
                self.finish_object();
                (self.package, self.short) = (words.next()?, words.next()?);
            }
            "type" => {
                self.finish_object();
                let name = words.next()?;
                let id = *self.named.get(&(self.short, name))?;
                let full_name = format!("{}.{name}", self.package).into_boxed_str();
                let form = if words.next().is_some() { words.next() } else { None };
                if let Some(form) = form {
                    self.alias(id, form)?;
                    self.schema.set_name(id, &full_name);
                }
                let object =
                    Object { name: full_name, fields: Vec::new(), atomic: false, preserve_unknown: false };
                let (inlined, go_fields) = (Vec::new(), Vec::new());
                self.current = Some(Current { id, object, inlined, go_fields, opaque: form.is_some() });
            }
            "atomic" => self.current.as_mut()?.object.atomic = true,
            "kind" => {
                let id = self.current.as_ref()?.id;
                let kind = words.next()?;
                for api_version in words {
                    self.schema.set_root(api_version, kind, id);
                }
            }
            number => {
                let (name, ty) = (words.next()?, words.next()?);
                self.field_line(number, name, ty, words)?;
            }
        }
        Some(())
    }

    fn field_line(
        &mut self,
        number: &str,
        name: &'static str,
        text: &'static str,
        words: impl Iterator<Item = &'static str>,
    ) -> Option<()> {
        let number: Option<u32> = if number == "-" { None } else { Some(number.parse().ok()?) };
        let ty = self.expression(text)?;
        let current = self.current.as_mut()?;
        let pointer = text.starts_with('*');
        let mut plain = None;
        if name == "^" {
            current.inlined.push(ty);
        } else {
            plain = Some(name.trim_end_matches('!'));
            let field = field(name, ty, words)?;
            // What else there is to say about the field is of no use without a JSON form to say it about.
            if !current.opaque {
                current.object.fields.push(field);
            }
        }
        // What is not in protobuf is not part of the struct.
        if number.is_some() {
            current.go_fields.push(GoField { name: plain, ty, pointer });
        }
        Some(())
    }

    /// Gives a named type the form of another.
    fn alias(&mut self, id: TypeId, form: &'static str) -> Option<()> {
        let target = self.expression(form)?;
        let ty = self.schema.at(target).ty().clone();
        self.schema.set(id, ty);
        Some(())
    }

    /// The type that a text spells.
    fn expression(&mut self, text: &'static str) -> Option<TypeId> {
        let text = text.trim_start_matches(['*', '~']);
        if let Some(name) = text.strip_prefix('&') {
            let atomic = self.expression(name)?;
            let id = self.schema.push(Type::Any);
            self.granular.insert(id, atomic);
            return Some(id);
        }
        if let Some((package, name)) = text.split_once('.')
            && !text.starts_with(['[', '{'])
        {
            let package = if package.is_empty() { self.short } else { package };
            return self.named.get(&(package, name)).copied();
        }
        if let Some(id) = self.spelled.get(&(self.short, text)) {
            return Some(*id);
        }
        let ty = if let Some(rest) = text.strip_prefix('[') {
            let (keys, item) = rest.split_once(']')?;
            let merge = match keys {
                "" => ListMerge::Atomic,
                "set" => ListMerge::Set,
                keys => ListMerge::Map(keys.split(',').map(Into::into).collect()),
            };
            Type::List { item: self.expression(item)?, merge }
        } else if let Some(rest) = text.strip_prefix('{') {
            let (relation, value) = rest.split_once('}')?;
            Type::Map { value: self.expression(value)?, atomic: relation == "atomic" }
        } else if text == "any" {
            Type::Any
        } else {
            Type::Scalar(scalar(text)?)
        };
        let id = self.schema.push(ty);
        self.spelled.insert((self.short, text), id);
        Some(id)
    }

    fn finish_object(&mut self) {
        let Some(Current { id, object, inlined, go_fields, opaque }) = self.current.take() else { return };
        if !go_fields.is_empty() {
            self.schema.set_go_fields(id, go_fields);
        }
        if !opaque {
            self.schema.set(id, Type::Object(object));
            self.inlined.push((id, inlined));
        }
    }

    /// Copies the fields of inlined structs into those that inline them, sorts all fields, and makes the
    /// copies that are not atomic.
    fn flatten(&mut self) {
        let inlined: HashMap<TypeId, Vec<TypeId>> = std::mem::take(&mut self.inlined).into_iter().collect();
        // Collected for all structs before any is changed, so that a struct that inlines one that inlines
        // another does not get fields twice.
        let mut flat = Vec::new();
        for (&id, below) in &inlined {
            let mut fields = Vec::new();
            for &inner in below {
                self.collect(inner, &inlined, &mut fields, 0);
            }
            flat.push((id, fields));
        }
        for (id, fields) in flat {
            let Type::Object(object) = &mut self.schema.types[id.0 as usize] else { continue };
            object.fields.extend(fields);
            object.fields.sort_by(|a, b| a.name.cmp(&b.name));
            object.fields.dedup_by(|a, b| a.name == b.name);
            object.fields.shrink_to_fit();
        }
        for (id, atomic) in std::mem::take(&mut self.granular) {
            let mut ty = self.schema.at(atomic).ty().clone();
            if let Type::Object(object) = &mut ty {
                object.atomic = false;
            }
            self.schema.set(id, ty);
            if let Some(fields) = self.schema.go_fields.get(&atomic).cloned() {
                self.schema.set_go_fields(id, fields);
            }
        }
    }

    /// The fields of a struct and of those it inlines.
    fn collect(
        &self,
        id: TypeId,
        inlined: &HashMap<TypeId, Vec<TypeId>>,
        into: &mut Vec<Field>,
        depth: usize,
    ) {
        if depth > MAX_INLINE_DEPTH {
            return;
        }
        if let Type::Object(object) = self.schema.at(id).ty() {
            into.extend(object.fields.iter().cloned());
        }
        for &inner in inlined.get(&id).into_iter().flatten() {
            self.collect(inner, inlined, into, depth + 1);
        }
    }
}

/// Structs nest at most two deep by inlining; the limit keeps a damaged table from being followed forever.
const MAX_INLINE_DEPTH: usize = 8;

fn field<'a>(name: &str, ty: TypeId, words: impl Iterator<Item = &'a str>) -> Option<Field> {
    let plain = name.trim_end_matches('!');
    let mut field = Field {
        name: plain.into(),
        ty,
        required: plain != name,
        strategy: Strategy::default(),
        default: None,
    };
    for word in words {
        if let Some(default) = word.strip_prefix('=') {
            field.default = Some(serde_json::from_str(default).ok()?);
        } else if let Some(key) = word.strip_prefix("merge=") {
            field.strategy.merge = true;
            field.strategy.merge_key = Some(key.into());
        } else if word == "merge" {
            field.strategy.merge = true;
        } else if word == "replace" {
            field.strategy.replace = true;
        } else if word == "retain" {
            field.strategy.retain_keys = true;
        } else {
            return None;
        }
    }
    Some(field)
}

fn scalar(text: &str) -> Option<Scalar> {
    Some(match text {
        "string" => Scalar::String,
        "bytes" => Scalar::Bytes,
        "bool" => Scalar::Boolean,
        "int32" => Scalar::Int32,
        "int64" => Scalar::Int64,
        "number" => Scalar::Number,
        "intstr" => Scalar::IntOrString,
        "quantity" => Scalar::Quantity,
        "time" => Scalar::Time,
        "microtime" => Scalar::MicroTime,
        "duration" => Scalar::Duration,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::TypeRef;
    use super::*;

    fn at<'a>(api_version: &str, kind: &str, path: &[&str]) -> TypeRef<'a> {
        let root = builtin().root(api_version, kind).expect("a known kind");
        path.iter().fold(root, |ty, name| match ty.item() {
            Some(item) => item.child(name).expect("a known field"),
            None => ty.child(name).expect("a known field"),
        })
    }

    #[test]
    fn every_line_of_the_embedded_table_is_understood() {
        let (schema, skipped) = parse(TABLE);
        assert_eq!(skipped, Vec::<&str>::new());
        assert!(schema.roots().count() > 500);
        assert!(schema.types.iter().filter(|ty| matches!(ty, Type::Object(_))).count() > 900);
    }

    #[test]
    fn fields_are_sorted_and_unique() {
        for ty in &builtin().types {
            let Type::Object(object) = ty else { continue };
            assert!(object.fields.is_sorted_by(|a, b| a.name < b.name), "{}", object.name);
        }
    }

    #[test]
    fn damaged_lines_are_left_out() {
        let table =
            "package io.example.v1 example/v1\ntype A\n1 b string\nx c string\n2 d .Missing\n3 e what\n";
        let (schema, skipped) = parse(table);
        assert_eq!(skipped, ["x c string", "2 d .Missing", "3 e what"]);
        assert!(matches!(&schema.types[0], Type::Object(object) if object.fields.len() == 1));
    }

    #[test]
    fn inlined_structs_are_flat() {
        let volume = at("v1", "Pod", &["spec", "volumes"]).item().expect("a list");
        assert!(volume.field("name").is_some());
        assert!(volume.field("configMap").is_some());
        assert!(at("v1", "Pod", &[]).field("apiVersion").is_some());
    }

    #[test]
    fn strategic_merge_directives_are_on_the_field() {
        let spec = at("v1", "Pod", &["spec"]);
        let containers = spec.field("containers").expect("a field");
        assert!(containers.required);
        assert!(containers.strategy.merge);
        assert_eq!(containers.strategy.merge_key.as_deref(), Some("name"));
        assert!(spec.field("volumes").expect("a field").strategy.retain_keys);
        let strategy = &at("apps/v1", "Deployment", &["spec"]).field("strategy").expect("a field").strategy;
        assert!(strategy.retain_keys && !strategy.merge);
        let budget = at("policy/v1", "PodDisruptionBudget", &["spec"]);
        assert!(budget.field("selector").expect("a field").strategy.replace);
    }

    #[test]
    fn apply_list_types_are_on_the_list() {
        let keys = |ty: TypeRef<'_>| match ty.ty() {
            Type::List { merge: ListMerge::Map(keys), .. } => keys.join(","),
            other => format!("{other:?}"),
        };
        assert_eq!(keys(at("v1", "Pod", &["spec", "containers", "ports"])), "containerPort,protocol");
        assert_eq!(
            keys(at("apiextensions.k8s.io/v1", "CustomResourceDefinition", &["status", "conditions"])),
            "type"
        );
        let finalizers = at("v1", "Pod", &["metadata", "finalizers"]);
        assert!(matches!(finalizers.ty(), Type::List { merge: ListMerge::Set, .. }));
        let command = at("v1", "Pod", &["spec", "containers", "command"]);
        assert!(matches!(command.ty(), Type::List { merge: ListMerge::Atomic, .. }));
        let selector = at("apps/v1", "Deployment", &["spec", "selector"]);
        assert!(matches!(selector.ty(), Type::Object(Object { atomic: true, .. })));
        assert!(matches!(at("v1", "Pod", &["spec", "nodeSelector"]).ty(), Type::Map { atomic: true, .. }));
        assert!(matches!(at("v1", "Pod", &["metadata", "labels"]).ty(), Type::Map { atomic: false, .. }));
    }

    #[test]
    fn an_atomic_struct_can_be_granular_in_one_place() {
        let claim = at("v1", "PersistentVolume", &["spec", "claimRef"]);
        assert_eq!(claim.name(), Some("io.k8s.api.core.v1.ObjectReference"));
        assert!(
            matches!(claim.ty(), Type::Object(Object { atomic: false, fields, .. }) if fields.len() == 7)
        );
        let target = at("v1", "Binding", &["target"]);
        assert_eq!(target.name(), claim.name());
        assert!(matches!(target.ty(), Type::Object(Object { atomic: true, .. })));
    }

    #[test]
    fn pointers_are_known_also_of_inlined_structs() {
        let volume = at("v1", "Pod", &["spec", "volumes"]).item().expect("a list");
        assert_eq!(volume.is_pointer("name"), Some(false));
        assert_eq!(volume.is_pointer("emptyDir"), Some(true));
        assert_eq!(at("apps/v1", "Deployment", &["spec"]).is_pointer("replicas"), Some(true));
        assert_eq!(at("v1", "PersistentVolume", &["spec", "claimRef"]).is_pointer("kind"), Some(false));
    }

    #[test]
    fn defaults_are_json() {
        let port = at("v1", "Pod", &["spec", "containers", "ports"]).item().expect("a list");
        assert_eq!(port.field("protocol").expect("a field").default, Some(json!("TCP")));
    }

    #[test]
    fn named_types_keep_their_names() {
        let policy = at("v1", "Pod", &["spec", "restartPolicy"]);
        assert_eq!(policy.name(), Some("io.k8s.api.core.v1.RestartPolicy"));
        assert!(matches!(policy.ty(), Type::Scalar(Scalar::String)));
        assert_eq!(at("v1", "Pod", &[]).name(), Some("io.k8s.api.core.v1.Pod"));
        assert_eq!(at("v1", "Pod", &["metadata", "name"]).name(), None);
    }
}
