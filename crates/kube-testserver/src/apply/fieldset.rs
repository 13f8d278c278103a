//! Sets of field paths.
//!
//! A set is kept in the form in which Kubernetes writes it (`fieldsV1`): a tree of JSON objects whose keys
//! are [path elements](super::element). A node without children is a member of the set; a node with children
//! is one only if it has the key `.` as well:
//!
//! ```json
//! {"f:spec": {"f:replicas": {}, "f:template": {".": {}, "f:metadata": {}}}}
//! ```
//!
//! holds `.spec.replicas`, `.spec.template` and `.spec.template.metadata`, but not `.spec`. Keeping this form
//! means that the sets of managers which a request does not touch are never translated.
//!
//! Every operation leaves the tree in its one canonical form: no node whose only key is `.`, and no node
//! below which nothing is a member. Two sets are equal exactly if their trees are.

use serde_json::{Map, Value};

use super::element;
use crate::paths::FieldPath;

type Node = Map<String, Value>;

/// The key that makes a node with children a member.
const SELF: &str = ".";

/// A set of field paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet(Node);

impl FieldSet {
    /// Reads `fieldsV1`, however it is spelled. The error says what is wrong with it.
    pub(crate) fn from_fields_v1(fields: &Value) -> Result<Self, String> {
        let Value::Object(fields) = fields else {
            return Err("fieldsV1 must be an object".to_owned());
        };
        Ok(Self(read(fields)?.0))
    }

    /// Takes `fieldsV1` that this module wrote.
    pub(super) fn trusted(fields: Value) -> Self {
        match fields {
            Value::Object(fields) => Self(fields),
            _ => Self::default(),
        }
    }

    /// Writes `fieldsV1`.
    pub(crate) fn into_fields_v1(self) -> Value {
        Value::Object(self.0)
    }

    /// A set of paths made of plain field names.
    pub(crate) fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let mut below = Self::default();
            for (depth, name) in path.iter().rev().enumerate() {
                let mut node = Self::default();
                node.put(element::field(name), depth == 0, below);
                below = node;
            }
            set.union(below);
        }
        set
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an element that must not be in the set yet: itself, if it is a member, and what is below it.
    pub(super) fn put(&mut self, element: String, member: bool, below: FieldSet) {
        let mut node = below.0;
        if member || !node.is_empty() {
            set_member(&mut node, member);
            self.0.insert(element, Value::Object(node));
        }
    }

    /// Whether a path is a member; the path is given by its elements.
    #[cfg(test)]
    pub(super) fn contains(&self, path: &[&str]) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        let mut view = self.as_view();
        for element in parents {
            let Some(below) = view.below(element) else { return false };
            view = below;
        }
        view.has(last)
    }

    pub(super) fn as_view(&self) -> View<'_> {
        View(&self.0)
    }

    /// Adds the members of another set.
    pub(crate) fn union(&mut self, other: FieldSet) {
        union(&mut self.0, other.0);
    }

    /// Removes the members of another set; what is below them stays.
    pub(crate) fn subtract(&mut self, other: &FieldSet) {
        subtract(&mut self.0, &other.0);
    }

    /// Removes the members of another set and everything below them.
    pub(crate) fn subtract_recursive(&mut self, other: &FieldSet) {
        subtract_recursive(&mut self.0, &other.0);
    }

    /// The members that both sets have.
    pub(crate) fn intersection(&self, other: &FieldSet) -> FieldSet {
        FieldSet(intersection(&self.0, &other.0))
    }

    /// Whether the sets have a member in common; cheaper than building their intersection.
    pub(crate) fn intersects(&self, other: &FieldSet) -> bool {
        intersects(&self.0, &other.0)
    }

    /// Whether all members are in another set, too.
    pub(crate) fn is_within(&self, other: &FieldSet) -> bool {
        is_within(&self.0, &other.0)
    }

    /// Counts the members.
    pub(crate) fn len(&self) -> usize {
        members(&self.0)
    }

    /// The first members as people read them, at most so many, in the order in which Kubernetes lists them: at each level first
    /// the members themselves, then what is below each element.
    pub(crate) fn paths(&self, limit: usize) -> Vec<String> {
        let mut paths = Vec::new();
        collect_paths(&self.0, &mut FieldPath::default(), limit, &mut paths);
        paths
    }
}

/// A set, or the part of one that is below an element.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a>(&'a Node);

impl<'a> View<'a> {
    /// Whether a path of one element is a member.
    pub(super) fn has(self, element: &str) -> bool {
        self.0.get(element).and_then(Value::as_object).is_some_and(is_member)
    }

    /// What is below an element, if there is anything.
    pub(super) fn below(self, element: &str) -> Option<View<'a>> {
        let node = self.0.get(element)?.as_object()?;
        has_children(node).then_some(View(node))
    }

    /// The elements with whether they are members and what is below them.
    pub(super) fn elements(self) -> impl Iterator<Item = (&'a str, bool, Option<View<'a>>)> {
        children(self.0).map(|(element, node)| {
            (element.as_str(), is_member(node), has_children(node).then_some(View(node)))
        })
    }
}

fn is_member(node: &Node) -> bool {
    node.is_empty() || node.contains_key(SELF)
}

fn has_children(node: &Node) -> bool {
    node.len() > usize::from(node.contains_key(SELF))
}

fn children(node: &Node) -> impl Iterator<Item = (&String, &Node)> {
    node.iter()
        .filter(|(element, _)| *element != SELF)
        .filter_map(|(element, child)| Some((element, child.as_object()?)))
}

/// The children of a node whose elements another node has, too. It takes as long as the smaller of them: an object
/// may have many owners with few fields each.
fn common<'a>(node: &'a Node, other: &Node) -> Vec<(String, &'a Node)> {
    if node.len() <= other.len() {
        let both = children(node).filter(|(element, _)| other.contains_key(*element));
        return both.map(|(element, child)| (element.clone(), child)).collect();
    }
    let elements = other.keys().filter(|element| *element != SELF);
    elements.filter_map(|element| Some((element.clone(), node.get(element)?.as_object()?))).collect()
}

/// Makes a node with the right children say whether it is a member. The caller drops a node that has neither
/// children nor is a member.
fn set_member(node: &mut Node, member: bool) {
    if member && has_children(node) {
        if !node.contains_key(SELF) {
            node.insert(SELF.to_owned(), Value::Object(Node::new()));
        }
    } else {
        node.remove(SELF);
    }
}

/// Reads a node in any spelling; the second part says whether it is a member.
fn read(fields: &Node) -> Result<(Node, bool), String> {
    let mut node = Node::new();
    let mut member = false;
    for (key, below) in fields {
        if key == SELF {
            member = true;
            continue;
        }
        let Some(element) = element::canonical(key)? else { continue };
        let below = below.as_object().ok_or_else(|| format!("{key} must be an object"))?;
        let (mut child, child_member) = read(below)?;
        set_member(&mut child, child_member);
        match node.get_mut(&element) {
            // Two spellings of one element.
            Some(Value::Object(known)) => union_nodes(known, child),
            _ => {
                node.insert(element, Value::Object(child));
            }
        }
    }
    member |= node.is_empty();
    Ok((node, member))
}

fn union(into: &mut Node, other: Node) {
    for (element, child) in other {
        if element == SELF {
            continue;
        }
        let Value::Object(child) = child else { continue };
        match into.get_mut(&element) {
            Some(Value::Object(known)) => union_nodes(known, child),
            _ => {
                into.insert(element, Value::Object(child));
            }
        }
    }
}

fn union_nodes(into: &mut Node, other: Node) {
    let member = is_member(into) || is_member(&other);
    union(into, other);
    set_member(into, member);
}

fn subtract(from: &mut Node, other: &Node) {
    for (element, out) in common(other, from) {
        let Some(Value::Object(node)) = from.get_mut(&element) else { continue };
        let member = is_member(node) && !is_member(out);
        if has_children(out) && has_children(node) {
            subtract(node, out);
        }
        if member || has_children(node) {
            set_member(node, member);
        } else {
            from.remove(&element);
        }
    }
}

fn subtract_recursive(from: &mut Node, other: &Node) {
    for (element, out) in common(other, from) {
        let Some(Value::Object(node)) = from.get_mut(&element) else { continue };
        if is_member(out) {
            from.remove(&element);
            continue;
        }
        let member = is_member(node);
        subtract_recursive(node, out);
        if member || has_children(node) {
            set_member(node, member);
        } else {
            from.remove(&element);
        }
    }
}

fn intersection(a: &Node, b: &Node) -> Node {
    let mut both = Node::new();
    for (element, in_b) in common(b, a) {
        let Some(Value::Object(in_a)) = a.get(&element) else { continue };
        let member = is_member(in_a) && is_member(in_b);
        let mut node = intersection(in_a, in_b);
        if member || !node.is_empty() {
            set_member(&mut node, member);
            both.insert(element, Value::Object(node));
        }
    }
    both
}

fn intersects(a: &Node, b: &Node) -> bool {
    common(b, a).into_iter().any(|(element, in_b)| match a.get(&element) {
        Some(Value::Object(in_a)) => (is_member(in_a) && is_member(in_b)) || intersects(in_a, in_b),
        _ => false,
    })
}

fn is_within(a: &Node, b: &Node) -> bool {
    children(a).all(|(element, in_a)| match b.get(element) {
        Some(Value::Object(in_b)) => (!is_member(in_a) || is_member(in_b)) && is_within(in_a, in_b),
        _ => false,
    })
}

fn members(node: &Node) -> usize {
    children(node).map(|(_, child)| usize::from(is_member(child)) + members(child)).sum()
}

fn collect_paths(node: &Node, path: &mut FieldPath, limit: usize, paths: &mut Vec<String>) {
    let mut elements: Vec<(&String, &Node)> = children(node).collect();
    elements.sort_by(|(a, _), (b, _)| element::compare(a, b));
    for (element, child) in &elements {
        if is_member(child) && paths.len() < limit {
            let parent = path.push_text(&element::display(element));
            paths.push(path.shown());
            path.go_back(parent);
        }
    }
    for (element, child) in elements {
        if has_children(child) && paths.len() < limit {
            let parent = path.push_text(&element::display(element));
            collect_paths(child, path, limit, paths);
            path.go_back(parent);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::paths::copied_bytes;

    fn set(fields: &Value) -> FieldSet {
        FieldSet::from_fields_v1(fields).expect("valid fieldsV1")
    }

    #[test]
    fn fields_v1_of_a_real_pod_round_trips() {
        let pod: Value = serde_json::from_str(include_str!("../../data/pod.json")).expect("a pod");
        for entry in pod["metadata"]["managedFields"].as_array().expect("managed fields") {
            let fields = &entry["fieldsV1"];
            assert_eq!(&set(fields).into_fields_v1(), fields);
        }
    }

    #[test]
    fn other_spellings_become_canonical() {
        let spelled =
            json!({"f:a": {".": {}}, "f:b": {"k:{\"y\": 1, \"x\": 2}": {}}, "z:later": {"f:c": {}}});
        assert_eq!(set(&spelled).into_fields_v1(), json!({"f:a": {}, "f:b": {"k:{\"x\":2,\"y\":1}": {}}}));
        assert!(FieldSet::from_fields_v1(&json!({"nonsense": {}})).is_err());
        assert!(FieldSet::from_fields_v1(&json!([])).is_err());
        assert!(FieldSet::from_fields_v1(&json!({"f:a": 1})).is_err());
    }

    #[test]
    fn only_members_are_contained() {
        let set = set(&json!({"f:spec": {"f:replicas": {}, "f:template": {".": {}, "f:metadata": {}}}}));
        assert!(!set.contains(&["f:spec"]));
        assert!(set.contains(&["f:spec", "f:replicas"]));
        assert!(set.contains(&["f:spec", "f:template"]));
        assert!(set.contains(&["f:spec", "f:template", "f:metadata"]));
        assert!(!set.contains(&["f:spec", "f:replicas", "f:x"]));
        assert!(!set.contains(&[]));
    }

    #[test]
    fn union_keeps_members_of_both() {
        let mut a = set(&json!({"f:a": {}, "f:b": {"f:c": {}}}));
        a.union(set(&json!({"f:a": {"f:x": {}}, "f:b": {".": {}, "f:d": {}}, "f:e": {}})));
        assert_eq!(
            a.into_fields_v1(),
            json!({"f:a": {".": {}, "f:x": {}}, "f:b": {".": {}, "f:c": {}, "f:d": {}}, "f:e": {}})
        );
    }

    #[test]
    fn subtract_takes_members_and_leaves_what_is_below() {
        let mut a = set(&json!({"f:a": {".": {}, "f:x": {}}, "f:b": {".": {}, "f:c": {}}, "f:e": {}}));
        a.subtract(&set(&json!({"f:a": {}, "f:b": {"f:c": {}}, "f:e": {}, "f:z": {}})));
        assert_eq!(a.into_fields_v1(), json!({"f:a": {"f:x": {}}, "f:b": {}}));
    }

    #[test]
    fn recursive_subtract_takes_what_is_below_too() {
        let mut a = set(
            &json!({"f:spec": {"f:a": {}}, "f:status": {".": {}, "f:b": {}}, "f:m": {"f:x": {}, "f:y": {}}}),
        );
        a.subtract_recursive(&set(&json!({"f:status": {}, "f:m": {"f:x": {}}})));
        assert_eq!(a.into_fields_v1(), json!({"f:spec": {"f:a": {}}, "f:m": {"f:y": {}}}));
    }

    #[test]
    fn intersection_has_common_members_only() {
        let a = set(&json!({"f:a": {".": {}, "f:x": {}}, "f:b": {"f:c": {}}}));
        let b = set(&json!({"f:a": {"f:x": {}, "f:y": {}}, "f:b": {}}));
        assert_eq!(a.intersection(&b).into_fields_v1(), json!({"f:a": {"f:x": {}}}));
        assert!(a.intersects(&b));
        assert!(!a.intersects(&set(&json!({"f:b": {}, "f:a": {"f:y": {}}}))));
    }

    #[test]
    fn a_set_is_within_another_that_has_all_its_members() {
        let a = set(&json!({"f:a": {"f:x": {}}, "f:b": {}}));
        assert!(
            a.is_within(&set(&json!({"f:a": {".": {}, "f:x": {}, "f:y": {}}, "f:b": {"f:c": {}, ".": {}}})))
        );
        assert!(!a.is_within(&set(&json!({"f:a": {"f:x": {}}, "f:b": {"f:c": {}}}))));
        assert!(!a.is_within(&set(&json!({"f:a": {}, "f:b": {}}))));
    }

    #[test]
    fn paths_list_members_before_what_is_below() {
        let set = set(&json!({
            "f:spec": {"f:b": {".": {}, "f:x": {}}, "f:a": {"k:{\"name\":\"n\"}": {}}, "f:c": {}}
        }));
        assert_eq!(set.paths(9), [".spec.b", ".spec.c", r#".spec.a[name="n"]"#, ".spec.b.x"]);
    }

    #[test]
    fn plain_paths_make_a_set() {
        let set = FieldSet::of_fields(&[&["status"], &["metadata", "labels"], &["metadata"]]);
        assert_eq!(set.into_fields_v1(), json!({"f:status": {}, "f:metadata": {".": {}, "f:labels": {}}}));
    }

    #[test]
    fn paths_of_many_members_below_a_long_element_do_not_repeat_it() {
        let work = |members: usize| {
            let below: Value = (0..members).map(|at| (format!("f:{at}"), json!({}))).collect();
            let element = format!("f:{}", "k".repeat(10 * members));
            let set = set(&Value::Object([(element, below)].into_iter().collect()));
            assert_eq!(set.len(), members);
            let mut paths = Vec::new();
            let bytes = copied_bytes(|| paths = set.paths(100));
            (bytes, paths)
        };
        let ((few, _), (many, paths)) = (work(2_000), work(4_000));
        assert!(many <= 2 * few + 1_000, "{few} and {many} bytes of paths");
        assert_eq!(paths.len(), 100);
        assert!(paths.iter().all(|path| path.len() < 2_000));
    }
}
