//! Tables of what limits and scales workloads.

use serde_json::{Value, json};

use super::age::age;
use super::cell::{
    NONE, UNKNOWN, at, first_of, flag, is_deleted, join, list, number, or, plain, text, text_or, time,
};
use super::column::{AGE, Column, NAME, boolean, integer, string};

pub(super) const DISRUPTION_BUDGETS: &[Column] = &[
    NAME,
    string("Min Available", "How many pods must be there.", |budget, _| {
        json!(or(&plain(at(budget, "/spec/minAvailable")), "N/A"))
    }),
    string("Max Unavailable", "How many pods may be missing.", |budget, _| {
        json!(or(&plain(at(budget, "/spec/maxUnavailable")), "N/A"))
    }),
    integer("Allowed Disruptions", "How many pods may be evicted now.", |budget, _| {
        json!(number(budget, "/status/disruptionsAllowed"))
    }),
    AGE,
];

pub(super) const AUTOSCALERS: &[Column] = &[
    NAME,
    string("Reference", "What is scaled.", |scaler, _| {
        json!(format!(
            "{}/{}",
            text(scaler, "/spec/scaleTargetRef/kind"),
            text(scaler, "/spec/scaleTargetRef/name")
        ))
    }),
    string("Targets", "What is measured, and what it should be.", |scaler, _| json!(targets(scaler))),
    string("MinPods", "The smallest number of pods.", |scaler, _| {
        json!(or(&plain(at(scaler, "/spec/minReplicas")), "1"))
    }),
    string("MaxPods", "The largest number of pods.", |scaler, _| json!(number(scaler, "/spec/maxReplicas"))),
    string("Replicas", "How many pods there are.", |scaler, _| {
        json!(number(scaler, "/status/currentReplicas"))
    }),
    AGE,
];

/// How many metrics a cell shows.
const METRICS_SHOWN: usize = 2;

fn targets(scaler: &Value) -> String {
    // The first version of the kind knows one metric, the use of the processor.
    let percent = |pointer: &str| at(scaler, pointer).as_i64().map(|percent| format!("{percent}%"));
    if let Some(target) = percent("/spec/targetCPUUtilizationPercentage") {
        let current = percent("/status/currentCPUUtilizationPercentage");
        return format!("cpu: {}/{target}", current.as_deref().unwrap_or(UNKNOWN));
    }
    let current = list(scaler, "/status/currentMetrics");
    let metrics: Vec<String> = list(scaler, "/spec/metrics")
        .iter()
        .enumerate()
        .map(|(position, metric)| target(metric, current.get(position).unwrap_or(&Value::Null)))
        .collect();
    or(&first_of(&metrics, METRICS_SHOWN, ", "), NONE).to_owned()
}

fn target(metric: &Value, status: &Value) -> String {
    let ty = text(metric, "/type");
    let part = match ty {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let (wanted, current) = (&metric[part]["target"], &status[part]["current"]);
    let shown = |field: &str| {
        // What has been measured but has no value is zero.
        let value = plain(&current[field]);
        if current.is_null() { UNKNOWN.to_owned() } else { or(&value, "0").to_owned() }
    };
    let average = plain(&wanted["averageValue"]);
    let by_resource = matches!(ty, "Resource" | "ContainerResource");
    let (current, wanted) = if !average.is_empty() || ty == "Pods" {
        let known = by_resource || ty == "Pods" || !current["averageValue"].is_null();
        (if known { shown("averageValue") } else { UNKNOWN.to_owned() }, average.clone())
    } else if by_resource {
        let percent = |value: &Value| value.as_i64().map(|percent| format!("{percent}%"));
        (
            percent(&current["averageUtilization"]).unwrap_or_else(|| UNKNOWN.to_owned()),
            percent(&wanted["averageUtilization"]).unwrap_or_else(|| "<auto>".to_owned()),
        )
    } else {
        (shown("value"), plain(&wanted["value"]))
    };
    if by_resource {
        format!("{}: {current}/{wanted}", text(&metric[part], "/name"))
    } else if !average.is_empty() && ty != "Pods" {
        format!("{current}/{wanted} (avg)")
    } else {
        format!("{current}/{wanted}")
    }
}

pub(super) const QUOTAS: &[Column] = &[
    NAME,
    string("Request", "What is used and what is allowed, apart from limits.", |quota, _| {
        json!(usage(quota, false))
    }),
    string("Limit", "Which limits are used and which are allowed.", |quota, _| json!(usage(quota, true))),
    AGE,
];

fn usage(quota: &Value, limits: bool) -> String {
    let hard = at(quota, "/status/hard").as_object().into_iter().flatten();
    let parts = hard.filter(|(name, _)| name.starts_with("limits.") == limits).map(|(name, hard)| {
        let used = plain(at(quota, "/status/used").get(name).unwrap_or(&Value::Null));
        format!("{name}: {}/{}", or(&used, "0"), plain(hard))
    });
    join(parts, ", ")
}

pub(super) const PRIORITY_CLASSES: &[Column] = &[
    NAME,
    integer("Value", "The priority; higher goes first.", |class, _| json!(number(class, "/value"))),
    boolean("Global-Default", "Whether pods without a class get this one.", |class, _| {
        json!(flag(class, "/globalDefault"))
    }),
    AGE,
    string("PreemptionPolicy", "Whether other pods are evicted to make room.", |class, _| {
        json!(text_or(class, "/preemptionPolicy", "PreemptLowerPriority"))
    }),
];

pub(super) const RESOURCE_CLAIMS: &[Column] = &[
    NAME,
    string("State", "Whether the claim has been allocated, and is in use.", |claim, _| {
        let allocated = !at(claim, "/status/allocation").is_null();
        let states = [
            (is_deleted(claim), "deleted"),
            (!allocated && !is_deleted(claim), "pending"),
            (allocated, "allocated"),
            (allocated && !list(claim, "/status/reservedFor").is_empty(), "reserved"),
        ];
        json!(join(states.iter().filter(|(holds, _)| *holds).map(|(_, state)| state), ","))
    }),
    AGE,
];

pub(super) const RESOURCE_SLICES: &[Column] = &[
    NAME,
    string("Node", "The node that has the devices.", |slice, _| json!(text(slice, "/spec/nodeName"))),
    string("Driver", "The driver of the devices.", |slice, _| json!(text(slice, "/spec/driver"))),
    string("Pool", "The pool that the devices belong to.", |slice, _| json!(text(slice, "/spec/pool/name"))),
    AGE,
];

pub(super) const DEVICE_TAINTS: &[Column] = &[
    NAME,
    string("Key", "The key of the taint.", |rule, _| json!(text(rule, "/spec/taint/key"))),
    string("Value", "The value of the taint.", |rule, _| json!(text(rule, "/spec/taint/value"))),
    string("Effect", "What the taint does to pods.", |rule, _| json!(text(rule, "/spec/taint/effect"))),
    string("TimeAdded", "The time since the taint was added.", |rule, now| {
        json!(time(rule, "/spec/taint/timeAdded").map_or_else(String::new, |then| age(now, Some(then))))
    }),
    AGE,
];

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::columns_for;
    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_700_000_000, 0);

    #[test]
    fn autoscalers_show_what_they_measure() {
        let scaler = |metrics: Value, current: Value| json!({"spec": {"metrics": metrics}, "status": {"currentMetrics": current}});
        let cpu =
            json!({"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}});
        let memory =
            json!({"type": "Resource", "resource": {"name": "memory", "target": {"averageValue": "1Gi"}}});
        let outside = json!({"type": "External", "external": {"target": {"value": "5"}}});
        assert_eq!(targets(&scaler(json!([]), json!([]))), "<none>");
        assert_eq!(targets(&scaler(json!([cpu]), json!([]))), "cpu: <unknown>/80%");
        let measured = json!([{"resource": {"current": {"averageUtilization": 10}}},
            {"resource": {"current": {"averageValue": "512Mi"}}}]);
        assert_eq!(
            targets(&scaler(json!([cpu, memory, outside]), measured)),
            "cpu: 10%/80%, memory: 512Mi/1Gi + 1 more..."
        );
        assert_eq!(targets(&scaler(json!([outside]), json!([]))), "<unknown>/5");
        let first = json!({"spec": {"targetCPUUtilizationPercentage": 50}});
        assert_eq!(targets(&first), "cpu: <unknown>/50%");
    }

    #[test]
    fn quotas_tell_limits_from_the_rest() {
        let quota = json!({"metadata": {"name": "q"}, "status": {
            "hard": {"pods": "10", "limits.cpu": "4", "requests.cpu": "2"}, "used": {"pods": "3"}}});
        assert_eq!(
            json!(columns_for("", "resourcequotas", None).cells(&quota, NOW)),
            json!(["q", "pods: 3/10, requests.cpu: 0/2", "limits.cpu: 0/4", "<unknown>"])
        );
    }

    #[test]
    fn budgets_take_numbers_and_percentages() {
        let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "maxUnavailable": "50%"}});
        let columns = columns_for("policy", "poddisruptionbudgets", None);
        assert_eq!(json!(columns.cells(&budget, NOW)), json!(["b", "1", "50%", 0, "<unknown>"]));
    }
}
