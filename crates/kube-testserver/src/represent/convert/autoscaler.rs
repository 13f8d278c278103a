//! Horizontal pod autoscalers: stored as `autoscaling/v2`, of which `autoscaling/v1` has one metric.
//!
//! Everything else travels in annotations, as in Kubernetes, so that a write through v1 keeps what v1 has no fields for. Those
//! annotations are never stored.

use serde_json::{Map, Value, json};

use super::Object;
use crate::schema;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

/// Fields of the metrics in the spec.
const TARGET: Names = Names {
    v2: "target",
    utilization: "targetAverageUtilization",
    average: "targetAverageValue",
    value: "targetValue",
};

/// Fields of the metrics in the status.
const CURRENT: Names = Names {
    v2: "current",
    utilization: "currentAverageUtilization",
    average: "currentAverageValue",
    value: "currentValue",
};

/// What the parts of a metric are called.
#[derive(Clone, Copy)]
struct Names {
    /// The object that v2 has them in.
    v2: &'static str,
    utilization: &'static str,
    average: &'static str,
    value: &'static str,
}

/// Whether an object of v1 has metrics in its annotation.
pub(crate) fn has_other_metrics(object: &Object) -> bool {
    let annotations = object.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let text = annotations.and_then(|annotations| annotations.get(METRICS)).and_then(Value::as_str);
    text.and_then(|text| to_v2(&list_in(text)?, TARGET)).is_some_and(|metrics| !metrics.is_empty())
}

/// Completes the rules of a behavior, in both directions, with their defaults.
pub(crate) fn complete_behavior(spec: &mut Object) {
    let Some(Value::Object(behavior)) = spec.get_mut("behavior") else { return };
    let policy = |kind: &str, value: i64| json!({"type": kind, "value": value, "periodSeconds": 15});
    let all = policy("Percent", 100);
    for (direction, mut rules) in [
        (
            "scaleUp",
            json!({"policies": [policy("Pods", 4), all], "selectPolicy": "Max", "stabilizationWindowSeconds": 0}),
        ),
        // How long a scale-down waits is an option of the controller.
        ("scaleDown", json!({"policies": [all], "selectPolicy": "Max"})),
    ] {
        if let (Some(Value::Object(given)), Value::Object(rules)) = (behavior.remove(direction), &mut rules) {
            rules.extend(given.into_iter().filter(|(_, value)| !value.is_null()));
        }
        behavior.insert(direction.to_owned(), rules);
    }
}

/// Turns a stored object into v1.
pub(super) fn to_v1(object: &mut Object) {
    let mut annotations: Vec<(&str, Value)> = Vec::new();
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        let metrics = list(spec.remove("metrics"));
        let cpu = |metric: &&Value| utilization_of_cpu(metric, TARGET).is_some();
        if let Some(target) = metrics.iter().find_map(|metric| utilization_of_cpu(metric, TARGET)) {
            spec.insert("targetCPUUtilizationPercentage".to_owned(), target.clone());
        }
        let others: Vec<Value> =
            metrics.iter().filter(|metric| !cpu(metric)).map(|metric| metric_to_v1(metric, TARGET)).collect();
        if !others.is_empty() {
            annotations.push((METRICS, Value::Array(others)));
        }
        if let Some(behavior) = spec.remove("behavior") {
            annotations
                .push((BEHAVIOR, renamed(behavior, &|name| first_letter(name, char::to_ascii_uppercase))));
        }
    }
    if let Some(Value::Object(status)) = object.get_mut("status") {
        let metrics = list(status.remove("currentMetrics"));
        let conditions = list(status.remove("conditions"));
        status.entry("currentReplicas").or_insert_with(|| json!(0));
        if let Some(current) = metrics.iter().find_map(|metric| utilization_of_cpu(metric, CURRENT)) {
            status.insert("currentCPUUtilizationPercentage".to_owned(), current.clone());
        }
        if !metrics.is_empty() {
            let metrics = metrics.iter().map(|metric| metric_to_v1(metric, CURRENT)).collect();
            annotations.push((CURRENT_METRICS, metrics));
        }
        if !conditions.is_empty() {
            annotations.push((CONDITIONS, Value::Array(conditions)));
        }
    }
    annotate(object, annotations);
}

/// Turns an object of v1 into the stored one. Annotations that cannot be read count as absent. The behavior is completed here:
/// v1 has no field for it.
pub(super) fn from_v1(object: &mut Object) {
    let [metrics, behavior, current_metrics, conditions] = take_annotations(object);
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        let mut all = metrics.and_then(|text| to_v2(&list_in(&text)?, TARGET)).unwrap_or_default();
        if let Some(target) = spec.remove("targetCPUUtilizationPercentage") {
            let target = json!({"type": "Utilization", "averageUtilization": target});
            all.push(json!({"type": "Resource", "resource": {"name": "cpu", "target": target}}));
        }
        if !all.is_empty() {
            spec.insert("metrics".to_owned(), Value::Array(all));
        }
        let behavior = behavior.and_then(|text| serde_json::from_str(&text).ok());
        let behavior =
            behavior.map(|value| renamed(value, &|name| first_letter(name, char::to_ascii_lowercase)));
        let behavior = behavior.and_then(|value| typed(value, "spec", "behavior"));
        if let Some(behavior) = behavior.filter(|behavior| *behavior != json!({})) {
            spec.insert("behavior".to_owned(), behavior);
            complete_behavior(spec);
        }
    }
    if let Some(Value::Object(status)) = object.get_mut("status") {
        if status.get("currentReplicas").is_some_and(|replicas| replicas == 0) {
            // v2 leaves it out.
            status.remove("currentReplicas");
        }
        let current = status.remove("currentCPUUtilizationPercentage").map(|current| {
            let resource = json!({"name": "cpu", "current": {"averageUtilization": current}});
            vec![json!({"type": "Resource", "resource": resource})]
        });
        let annotated = current_metrics.and_then(|text| to_v2(&list_in(&text)?, CURRENT));
        if let Some(metrics) = annotated.or(current) {
            status.insert("currentMetrics".to_owned(), Value::Array(metrics));
        }
        let conditions = conditions.and_then(|text| Some(Value::Array(list_in(&text)?)));
        if let Some(conditions) = conditions.and_then(|value| typed(value, "status", "conditions")) {
            status.insert("conditions".to_owned(), conditions);
        }
    }
}

/// The average utilization of a CPU metric: the one that v1 has a field for.
fn utilization_of_cpu(metric: &Value, names: Names) -> Option<&Value> {
    let resource = metric.get("resource").filter(|_| metric["type"] == "Resource")?;
    resource.get(names.v2).filter(|_| resource["name"] == "cpu")?.get("averageUtilization")
}

fn list(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

fn list_in(text: &str) -> Option<Vec<Value>> {
    serde_json::from_str(text).ok()
}

/// The field of a metric that has what its type calls for, and whether the metric is identified by name and selector.
fn source_of(metric: &Value) -> Option<(&'static str, bool)> {
    match metric.get("type")?.as_str()? {
        "Resource" => Some(("resource", false)),
        "ContainerResource" => Some(("containerResource", false)),
        "Pods" => Some(("pods", true)),
        "Object" => Some(("object", true)),
        "External" => Some(("external", true)),
        _ => None,
    }
}

fn metric_to_v1(metric: &Value, names: Names) -> Value {
    let mut v1 = json!({"type": metric["type"]});
    let Some((field, is_named)) = source_of(metric) else { return v1 };
    let source = &metric[field];
    let mut out = Map::new();
    let mut put = |name: &str, value: &Value| {
        if !value.is_null() {
            out.insert(name.to_owned(), value.clone());
        }
    };
    let amounts = &source[names.v2];
    if is_named {
        put("metricName", &source["metric"]["name"]);
        put(if field == "external" { "metricSelector" } else { "selector" }, &source["metric"]["selector"]);
        put("target", &source["describedObject"]);
        put(if field == "object" { "averageValue" } else { names.average }, &amounts["averageValue"]);
        put(names.value, &amounts["value"]);
    } else {
        put("name", &source["name"]);
        put("container", &source["container"]);
        put(names.utilization, &amounts["averageUtilization"]);
        put(names.average, &amounts["averageValue"]);
    }
    v1[field] = Value::Object(out);
    v1
}

/// Turns the metrics of an annotation into those of v2; none if they are not metrics.
fn to_v2(metrics: &[Value], names: Names) -> Option<Vec<Value>> {
    let metrics = metrics.iter().map(|metric| metric_to_v2(metric, names)).collect::<Option<Vec<_>>>()?;
    let (part, field) =
        if names.v2 == TARGET.v2 { ("spec", "metrics") } else { ("status", "currentMetrics") };
    match typed(Value::Array(metrics), part, field)? {
        Value::Array(metrics) => Some(metrics),
        _ => None,
    }
}

fn metric_to_v2(metric: &Value, names: Names) -> Option<Value> {
    let (field, is_named) = source_of(metric)?;
    let source = metric.get(field)?.as_object()?;
    let get = |name: &str| source.get(name).filter(|value| !value.is_null());
    let utilization = get(names.utilization).filter(|_| !is_named);
    let average = get(if field == "object" { "averageValue" } else { names.average });
    // Go writes a zero beside an average: the field is no pointer.
    let value = get(names.value).filter(|value| is_named && (average.is_none() || **value != "0"));
    let mut amounts = Map::new();
    if names.v2 == TARGET.v2 {
        let kind = match (utilization, average) {
            (Some(_), _) => "Utilization",
            (None, Some(_)) => "AverageValue",
            (None, None) => "Value",
        };
        amounts.insert("type".to_owned(), json!(kind));
    }
    for (name, amount) in [("averageUtilization", utilization), ("averageValue", average), ("value", value)] {
        amounts.extend(amount.map(|amount| (name.to_owned(), amount.clone())));
    }
    let mut out = Map::new();
    out.insert(names.v2.to_owned(), Value::Object(amounts));
    if is_named {
        let selector = get(if field == "external" { "metricSelector" } else { "selector" });
        let mut identifier = json!({"name": get("metricName")?});
        if let Some(selector) = selector {
            identifier["selector"] = selector.clone();
        }
        out.insert("metric".to_owned(), identifier);
        out.extend(get("target").map(|target| ("describedObject".to_owned(), target.clone())));
    } else {
        for name in ["name", "container"] {
            out.extend(get(name).map(|value| (name.to_owned(), value.clone())));
        }
    }
    let mut v2 = json!({"type": metric["type"]});
    v2[field] = Value::Object(out);
    Some(v2)
}

/// Returns a value as the stored type holds it; none if it cannot.
fn typed(mut value: Value, part: &str, field: &str) -> Option<Value> {
    let ty =
        schema::builtin().root("autoscaling/v2", "HorizontalPodAutoscaler")?.child(part)?.child(field)?;
    schema::coerce(&mut value, ty).ok().map(|_unknown| value)
}

/// Renames all fields of a value, and leaves out those that are null.
fn renamed(value: Value, rename: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::Array(list) => list.into_iter().map(|value| renamed(value, rename)).collect(),
        Value::Object(map) => {
            let present = map.into_iter().filter(|(_, value)| !value.is_null());
            present.map(|(name, value)| (rename(&name), renamed(value, rename))).collect()
        }
        scalar => scalar,
    }
}

/// Kubernetes writes the behavior with the names that its fields have in Go, which begin with a capital.
fn first_letter(name: &str, change: fn(&char) -> char) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| change(&first)).into_iter().chain(letters).collect()
}

/// Replaces the annotations that this module writes.
fn annotate(object: &mut Object, annotations: Vec<(&str, Value)>) {
    take_annotations(object);
    if annotations.is_empty() {
        return;
    }
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        let all = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(all) = all.as_object_mut() {
            all.extend(
                annotations.into_iter().map(|(name, value)| (name.to_owned(), value.to_string().into())),
            );
        }
    }
}

/// Removes the annotations that this module writes, and annotations altogether if there are no others.
fn take_annotations(object: &mut Object) -> [Option<String>; 4] {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let Some(metadata) = metadata else { return [const { None }; 4] };
    let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else {
        return [const { None }; 4];
    };
    let taken = [METRICS, BEHAVIOR, CURRENT_METRICS, CONDITIONS].map(|name| match annotations.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    });
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v1(stored: &Value) -> Value {
        let mut object = stored.as_object().unwrap().clone();
        to_v1(&mut object);
        Value::Object(object)
    }

    fn stored(v1: &Value) -> Value {
        let mut object = v1.as_object().unwrap().clone();
        from_v1(&mut object);
        Value::Object(object)
    }

    #[test]
    fn what_v1_has_no_fields_for_comes_back() {
        let selector = json!({"matchLabels": {"a": "b"}});
        let metric = json!({"name": "m", "selector": selector});
        let described = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
        let amount = |kind: &str, field: &str| json!({"type": kind, field: "5"});
        let utilization = json!({"type": "Utilization", "averageUtilization": 7});
        let object = json!({
            "metadata": {"name": "h", "annotations": {"other": "x"}},
            "spec": {
                "behavior": {
                    "scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
                        "selectPolicy": "Max", "stabilizationWindowSeconds": 5},
                    "scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 30}],
                        "selectPolicy": "Min", "stabilizationWindowSeconds": 7},
                },
                "maxReplicas": 3,
                "metrics": [
                    {"type": "Resource", "resource": {"name": "memory", "target": amount("AverageValue", "averageValue")}},
                    {"type": "Resource", "resource": {"name": "memory", "target": utilization}},
                    {"type": "ContainerResource",
                        "containerResource": {"name": "cpu", "container": "c", "target": utilization}},
                    {"type": "Pods", "pods": {"metric": metric, "target": amount("AverageValue", "averageValue")}},
                    {"type": "Object", "object":
                        {"metric": metric, "describedObject": described, "target": amount("Value", "value")}},
                    {"type": "Object", "object":
                        {"metric": metric, "describedObject": described, "target": amount("AverageValue", "averageValue")}},
                    {"type": "External", "external": {"metric": metric, "target": amount("Value", "value")}},
                    {"type": "Resource", "resource": {"name": "cpu", "target": utilization}},
                ],
            },
            "status": {
                "currentReplicas": 2,
                "conditions": [{"type": "AbleToScale", "status": "True"}],
                "currentMetrics": [
                    {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 4, "averageValue": "2m"}}},
                    {"type": "External", "external": {"metric": metric, "current": {"value": "4"}}},
                ],
            },
        });
        let shown = v1(&object);
        assert_eq!(shown["spec"], json!({"maxReplicas": 3, "targetCPUUtilizationPercentage": 7}));
        assert_eq!(shown["status"], json!({"currentReplicas": 2, "currentCPUUtilizationPercentage": 4}));
        let annotation = |name: &str| -> Value {
            serde_json::from_str(shown["metadata"]["annotations"][name].as_str().unwrap()).unwrap()
        };
        assert_eq!(
            annotation(METRICS)[3],
            json!({"type": "Pods", "pods": {"metricName": "m", "selector": selector, "targetAverageValue": "5"}})
        );
        assert_eq!(annotation(BEHAVIOR)["ScaleDown"]["Policies"][0]["PeriodSeconds"], 60);
        assert_eq!(stored(&shown), object);
    }

    #[test]
    fn annotations_that_are_no_metrics_count_as_absent() {
        for text in
            ["", "{}", "[1]", r#"[{"type": "Pods"}]"#, r#"[{"type": "Resource", "resource": {"name": {}}}]"#]
        {
            let object = json!({"metadata": {"annotations": {METRICS: text}}, "spec": {"maxReplicas": 3}});
            assert_eq!(stored(&object), json!({"metadata": {}, "spec": {"maxReplicas": 3}}), "{text}");
            assert!(!has_other_metrics(object.as_object().unwrap()));
        }
    }
}
