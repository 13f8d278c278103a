//! `cargo xtask places`: which field of k8s-openapi's types each number of a protobuf message is, as files.
//!
//! For the kinds that clusters have many of, and all that they are made of. The numbers are those of the table that
//! `cargo xtask schema` makes; the fields are read off the sources of k8s-openapi, for every version of Kubernetes that
//! it supports at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use crate::made;
use crate::sources::{files_below, gates, sources, supported};
use crate::step::Failed;

/// Where the files are, from the workspace's root. Everything there is made here.
const FOLDER: &str = "crates/kube-wire/src/proto/typed/places";

const TABLE: &str = "crates/kube-wire/data/protobuf.txt";

/// The first line of each file, after what it is.
const MADE: &str = "Made by `cargo xtask places`: not to be edited.";

/// What clusters have many of, or what is watched by many.
pub(crate) const KINDS: [&str; 32] = [
    "apps/v1.DaemonSet",
    "apps/v1.Deployment",
    "apps/v1.ReplicaSet",
    "apps/v1.StatefulSet",
    "autoscaling/v2.HorizontalPodAutoscaler",
    "batch/v1.CronJob",
    "batch/v1.Job",
    "coordination/v1.Lease",
    "core/v1.ConfigMap",
    "core/v1.Endpoints",
    "core/v1.Event",
    "core/v1.LimitRange",
    "core/v1.Namespace",
    "core/v1.Node",
    "core/v1.PersistentVolume",
    "core/v1.PersistentVolumeClaim",
    "core/v1.Pod",
    "core/v1.ReplicationController",
    "core/v1.ResourceQuota",
    "core/v1.Secret",
    "core/v1.Service",
    "core/v1.ServiceAccount",
    "discovery/v1.EndpointSlice",
    "events/v1.Event",
    "networking/v1.Ingress",
    "networking/v1.NetworkPolicy",
    "policy/v1.PodDisruptionBudget",
    "rbac/v1.ClusterRole",
    "rbac/v1.ClusterRoleBinding",
    "rbac/v1.Role",
    "rbac/v1.RoleBinding",
    "storage/v1.StorageClass",
];

/// What the number of an inlined message counts in a place, as in `Walk::next`.
const INLINED: u32 = 1000;

/// How long lines may get.
const WIDTH: usize = 110;

/// Makes the files anew, or fails if they are not up to date.
pub(crate) fn places(check: bool) -> Result<(), Failed> {
    made::files(FOLDER, "cargo xtask places", &wanted()?, check)
}

/// The files as they should be: path in the folder, and text.
pub(crate) fn wanted() -> Result<BTreeMap<PathBuf, String>, Failed> {
    let table = crate::root().join(TABLE);
    let table = std::fs::read_to_string(&table)
        .map_err(|error| Failed::new(format!("cannot read {}: {error}", table.display())))?;
    let messages = messages(&table);
    let structs = structs()?;
    let all = supported(&sources()?)?;

    KINDS.iter().try_for_each(|kind| check_depth(&messages, kind, &mut Vec::new()))?;
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in reached(&messages, &structs)? {
        groups.entry(group(name)).or_default().push(name);
    }
    let mut files = BTreeMap::new();
    let mut whole = format!("//! The fields of all types. {MADE}\n\n");
    for (group, names) in &groups {
        let module = group.replace('/', "_");
        // The versions of Kubernetes that have the group at all.
        let since = names.iter().flat_map(|name| structs[*name].since.iter().copied()).collect();
        let declaration = gates(&since, &all)
            .iter()
            .rev()
            .fold(format!("mod {module};"), |line, gate| format!("k8s_openapi::{gate}! {{ {line} }}"));
        let _ = writeln!(whole, "{declaration}");
        let mut text = format!(
            "//! `{group}`. {MADE}\n\nuse k8s_openapi::{} as types;\n\nuse super::*;\n\nplaces! {{\n    \"{group}\"\n",
            module_of(group)
        );
        for name in names {
            let mut places = BTreeMap::new();
            add_places(&messages, &structs, name, name, 0, &mut places)?;
            text.push_str(&entry(name, &places, &structs[*name], &since)?);
        }
        files.insert(PathBuf::from(format!("{module}.rs")), text + "}\n");
    }
    whole.push_str("\nuse super::*;\n\nkinds! {\n");
    for kind in KINDS {
        let _ = writeln!(whole, "    {}::{},", module_of(group(kind)), type_of(kind));
    }
    whole.push_str("}\n");
    files.insert("mod.rs".into(), whole);
    Ok(files)
}

/// A field of a message in the table.
struct Field<'a> {
    number: u32,
    /// As in JSON; `^` if its fields are those of the message around it.
    name: &'a str,
    /// The type of the value, or of each of them.
    ty: &'a str,
    none_if: NoneIf,
}

/// When a field is the same as none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NoneIf {
    /// Its text or its bytes are empty.
    Empty,
    /// It is the number zero, or false.
    Zero,
    Never,
}

impl NoneIf {
    /// What the table says, as `kube-wire` reads it.
    fn of(name: &str, ty: &str) -> Self {
        match ty.trim_start_matches('*') {
            // A time that was never set is the same as an absent one, pointer or not.
            "time" | "microtime" => Self::Empty,
            _ if name.ends_with('!') => Self::Never,
            _ => match ty {
                "string" | "bytes" => Self::Empty,
                "bool" | "int32" | "int64" => Self::Zero,
                _ => Self::Never,
            },
        }
    }
}

/// The messages of the table with their fields.
fn messages(table: &str) -> BTreeMap<&str, Vec<Field<'_>>> {
    let mut messages: BTreeMap<&str, Vec<Field<'_>>> = BTreeMap::new();
    let mut last = "";
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["message", name, ..] => {
                last = name;
                messages.entry(name).or_default();
            }
            [number, name, ty] => {
                let Ok(number) = number.parse() else { continue };
                let none_if = NoneIf::of(name, ty);
                let ty = ty.trim_start_matches('*').trim_start_matches("[]").trim_start_matches("{}");
                let field = Field { number, name: name.trim_end_matches('!'), ty, none_if };
                messages.entry(last).or_default().push(field);
            }
            _ => {}
        }
    }
    messages
}

/// A struct of k8s-openapi.
#[derive(Default)]
struct Struct {
    /// The versions of Kubernetes that have it.
    since: BTreeSet<u32>,
    /// By their names in JSON: the name in Rust, and the versions that have it.
    fields: BTreeMap<String, (String, BTreeSet<u32>)>,
}

/// The structs that can be filled, by the names of their messages.
fn structs() -> Result<BTreeMap<String, Struct>, Failed> {
    let sources = sources()?;
    let mut structs: BTreeMap<String, Struct> = BTreeMap::new();
    for minor in supported(&sources)? {
        let folder = sources.join(format!("v1_{minor}"));
        for file in files_below(&folder)? {
            let text = std::fs::read_to_string(&file)
                .map_err(|error| Failed::new(format!("cannot read {}: {error}", file.display())))?;
            let inside = file.strip_prefix(&folder).unwrap_or(&file).with_file_name("");
            let folders: Vec<_> =
                inside.components().map(|part| part.as_os_str().to_string_lossy()).collect();
            let [.., group, version] = &folders[..] else { continue };
            // What has no default cannot be filled.
            let Some((derives, rest)) = text.split_once("\npub struct ") else { continue };
            let derives = derives.rsplit('\n').next().unwrap_or_default();
            let Some((name, _)) = rest.split_once(" {\n").filter(|_| derives.contains("Default,")) else {
                continue;
            };
            let found = structs.entry(format!("{group}/{version}.{name}")).or_default();
            found.since.insert(minor);
            for line in text.lines() {
                let Some((json, rust)) = line.trim().split_once(" => Field::Key_") else { continue };
                let (Some(rust), Some(json)) = (rust.strip_suffix(','), json.strip_prefix('"')) else {
                    continue;
                };
                // What an object is, is read with its fields and is none of them.
                if !rest.contains(&format!("    pub {rust}: ")) {
                    continue;
                }
                let json = json.trim_end_matches('"').to_owned();
                let known = found.fields.entry(json).or_insert((rust.to_owned(), BTreeSet::new()));
                if known.0 != rust {
                    return Err(Failed::new(format!("{name} has {rust} and {}", known.0)));
                }
                known.1.insert(minor);
            }
        }
    }
    Ok(structs)
}

/// The messages that the kinds are made of and that are structs which can be filled.
fn reached<'a>(
    messages: &BTreeMap<&'a str, Vec<Field<'a>>>,
    structs: &BTreeMap<String, Struct>,
) -> Result<BTreeSet<&'a str>, Failed> {
    let (mut reached, mut waiting, mut seen) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
    for kind in KINDS {
        let known = messages.get_key_value(kind).filter(|_| structs.contains_key(kind));
        waiting.push(*known.ok_or_else(|| Failed::new(format!("there is no {kind}")))?.0);
    }
    while let Some(name) = waiting.pop() {
        let Some(fields) = messages.get(name).filter(|_| seen.insert(name)) else { continue };
        // Inlined messages are no structs; what is in them may be.
        if structs.contains_key(name) {
            reached.insert(name);
        }
        let below = |field: &&Field<'a>| field.name == "^" || structs.contains_key(field.ty);
        waiting.extend(fields.iter().filter(below).map(|field| field.ty));
    }
    Ok(reached)
}

/// Makes sure that no message is in itself: nothing but the types says how deep what is filled in place may go.
fn check_depth(
    messages: &BTreeMap<&str, Vec<Field<'_>>>,
    name: &str,
    around: &mut Vec<String>,
) -> Result<(), Failed> {
    if around.iter().any(|outer| outer == name) {
        return Err(Failed::new(format!("{name} is in itself: {}", around.join(", "))));
    }
    around.push(name.to_owned());
    for field in messages.get(name).into_iter().flatten() {
        check_depth(messages, field.ty, around)?;
    }
    around.pop();
    Ok(())
}

/// A field of a struct.
struct Place {
    field: String,
    since: BTreeSet<u32>,
    /// Its type has no places.
    through_serde: bool,
    none_if: NoneIf,
}

/// Adds the fields of a message to those of the struct that has them.
fn add_places(
    messages: &BTreeMap<&str, Vec<Field<'_>>>,
    structs: &BTreeMap<String, Struct>,
    of: &str,
    message: &str,
    outer: u32,
    places: &mut BTreeMap<u32, Place>,
) -> Result<(), Failed> {
    /// What is read without serde, besides structs.
    const PLAIN: [&str; 9] =
        ["string", "bytes", "bool", "int32", "int64", "time", "microtime", "quantity", "intstr"];
    for Field { number, name, ty, none_if } in messages.get(message).into_iter().flatten() {
        if *number >= INLINED || (outer > 0 && *name == "^") {
            return Err(Failed::new(format!("{message} has {number} {name}, which is not provided for")));
        }
        if *name == "^" {
            add_places(messages, structs, of, ty, number * INLINED, places)?;
            continue;
        }
        let Some((field, since)) = structs.get(of).and_then(|found| found.fields.get(*name)) else {
            continue;
        };
        let through_serde = !PLAIN.contains(ty) && !structs.contains_key(*ty);
        let place = Place { field: field.clone(), since: since.clone(), through_serde, none_if: *none_if };
        places.insert(outer + number, place);
    }
    Ok(())
}

/// What the macro is told of a type.
fn entry(
    name: &str,
    places: &BTreeMap<u32, Place>,
    found: &Struct,
    all: &BTreeSet<u32>,
) -> Result<String, Failed> {
    // What has no place would be kept from an old object when a new one is made of it.
    let placed = |field: &String| places.values().filter(|place| place.field == *field).count();
    if let Some((field, _)) = found.fields.values().find(|(field, _)| placed(field) != 1) {
        let count = placed(field);
        return Err(Failed::new(format!(
            "{name}.{field} has {count} places in the message, in place of one"
        )));
    }
    // Those that are always there come first, those whose types have no places last.
    let mut lines: BTreeMap<(bool, String), Vec<String>> = BTreeMap::from([((false, String::new()), vec![])]);
    for (number, Place { field, since, through_serde, .. }) in places {
        let gates = gates(since, &found.since);
        let head = match (gates.is_empty(), through_serde) {
            (true, false) => String::new(),
            (true, true) => "~ ".to_owned(),
            (false, false) => format!("[{}] ", gates.join(" ")),
            (false, true) => return Err(Failed::new(format!("{name}.{field} is not provided for"))),
        };
        if *through_serde && *number >= INLINED {
            return Err(Failed::new(format!("{name}.{field} is inlined, which is not provided for")));
        }
        lines.entry((*through_serde, head)).or_default().push(format!("{number} {field}"));
    }
    let gate = gates(&found.since, all);
    let gate = if gate.is_empty() { String::new() } else { format!("[{}] ", gate.join(" ")) };
    let mut text = format!("    {gate}{} {{\n", type_of(name));
    for ((_, head), fields) in lines {
        text.push_str(&wrapped(&head, &fields, ","));
    }
    for (head, none_if) in [("empty ", NoneIf::Empty), ("zero ", NoneIf::Zero)] {
        let numbers: Vec<String> = places
            .iter()
            .filter(|(_, place)| place.none_if == none_if)
            .map(|(number, _)| number.to_string())
            .collect();
        if !numbers.is_empty() {
            text.push_str(&wrapped(head, &numbers, ""));
        }
    }
    text.push_str("    }\n");
    Ok(text)
}

/// Words with something between them, in lines of their own.
fn wrapped(head: &str, words: &[String], between: &str) -> String {
    let (mut text, mut line) = (String::new(), head.to_owned());
    for (at, word) in words.iter().enumerate() {
        let between = if at == 0 { "" } else { between };
        if line.len() + word.len() + 3 > WIDTH - 8 {
            let _ = writeln!(text, "        {line}{between}");
            line.clone_from(word);
        } else {
            let space = if at == 0 { "" } else { " " };
            let _ = write!(line, "{between}{space}{word}");
        }
    }
    let _ = writeln!(text, "        {line};");
    text
}

/// `core/v1` of `core/v1.Pod`.
fn group(message: &str) -> &str {
    message.split_once('.').map_or(message, |(group, _)| group)
}

/// `Pod` of `core/v1.Pod`.
fn type_of(message: &str) -> &str {
    message.split_once('.').map_or(message, |(_, name)| name)
}

/// Where k8s-openapi has the types of a group and version.
fn module_of(group: &str) -> String {
    match group {
        "meta/v1" => "apimachinery::pkg::apis::meta::v1".to_owned(),
        group => format!("api::{}", group.replace('/', "::")),
    }
}

#[cfg(test)]
mod tests {
    use super::{FOLDER, check_depth, messages, wanted};

    #[test]
    fn a_message_that_is_in_itself_is_refused() {
        let found = |table| check_depth(&messages(table), "a", &mut Vec::new());
        assert!(found("message a\n1 b b\n2 c b\nmessage b\n1 c string\n").is_ok());
        assert!(found("message a\n1 b b\nmessage b\n1 c []a\n").is_err());
    }

    #[test]
    fn the_files_are_up_to_date() {
        let stale = crate::made::stale(FOLDER, &wanted().unwrap()).unwrap();
        assert!(stale.is_empty(), "run `cargo xtask places`: {stale:?}");
    }
}
