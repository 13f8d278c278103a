//! Tables of the kinds that make pods.

use serde_json::{Value, json};

use super::age::{age, duration, seconds_between};
use super::cell::{
    NONE, at, condition_is_true, count, each, is_deleted, labels, list, number, replicas, selector, text,
    text_or, time,
};
use super::column::{AGE, Column, NAME, boolean, integer, string};

const CONTAINERS: Column = string("Containers", "The names of the containers.", |object, _| {
    json!(each(object, "/spec/template/spec/containers", "name"))
})
.wide();
const IMAGES: Column = string("Images", "The images of the containers.", |object, _| {
    json!(each(object, "/spec/template/spec/containers", "image"))
})
.wide();
const SELECTOR: Column = string("Selector", "The labels that the pods have.", |object, _| {
    json!(selector(at(object, "/spec/selector")))
})
.wide();
const DESIRED: Column =
    integer("Desired", "How many pods there should be.", |object, _| json!(replicas(object)));
const CURRENT: Column =
    integer("Current", "How many pods there are.", |object, _| json!(number(object, "/status/replicas")));
const READY: Column =
    integer("Ready", "How many pods are ready.", |object, _| json!(number(object, "/status/readyReplicas")));

/// Replication controllers have the same columns.
pub(super) const REPLICA_SETS: &[Column] =
    &[NAME, DESIRED, CURRENT, READY, AGE, CONTAINERS, IMAGES, SELECTOR];

pub(super) const DEPLOYMENTS: &[Column] = &[
    NAME,
    READY_OF_DESIRED,
    string("Up-to-date", "How many pods are made from the current template.", |object, _| {
        json!(number(object, "/status/updatedReplicas"))
    }),
    string("Available", "How many pods have been ready for long enough.", |object, _| {
        json!(number(object, "/status/availableReplicas"))
    }),
    AGE,
    CONTAINERS,
    IMAGES,
    string("Selector", "The labels that the pods have.", |object, _| {
        let text = crate::crd::selector_text(at(object, "/spec/selector"));
        json!(text.unwrap_or_else(|| "<invalid>".to_owned()))
    })
    .wide(),
];

const READY_OF_DESIRED: Column = string("Ready", "How many of the desired pods are ready.", |object, _| {
    json!(format!("{}/{}", number(object, "/status/readyReplicas"), replicas(object)))
});

pub(super) const STATEFUL_SETS: &[Column] = &[NAME, READY_OF_DESIRED, AGE, CONTAINERS, IMAGES];

pub(super) const DAEMON_SETS: &[Column] = &[
    NAME,
    integer("Desired", "How many nodes should run a pod.", |object, _| {
        json!(number(object, "/status/desiredNumberScheduled"))
    }),
    integer("Current", "How many nodes that should run a pod do.", |object, _| {
        json!(number(object, "/status/currentNumberScheduled"))
    }),
    integer("Ready", "How many nodes run a pod that is ready.", |object, _| {
        json!(number(object, "/status/numberReady"))
    }),
    integer("Up-to-date", "How many nodes run a pod made from the current template.", |object, _| {
        json!(number(object, "/status/updatedNumberScheduled"))
    }),
    integer("Available", "How many nodes run a pod that has been ready for long enough.", |object, _| {
        json!(number(object, "/status/numberAvailable"))
    }),
    string("Node Selector", "The labels of the nodes that are meant.", |object, _| {
        json!(labels(at(object, "/spec/template/spec/nodeSelector")))
    }),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

pub(super) const JOBS: &[Column] = &[
    NAME,
    string("Status", "Whether the job runs, has ended, or waits.", |job, _| json!(job_status(job))),
    string("Completions", "How many pods have succeeded, of how many that must.", |job, _| {
        json!(completions(job))
    }),
    string("Duration", "How long the job ran, or has been running.", |job, now| {
        let Some(start) = time(job, "/status/startTime") else { return json!("") };
        let end = time(job, "/status/completionTime").unwrap_or(now);
        json!(duration(seconds_between(start, end)))
    }),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

fn job_status(job: &Value) -> &'static str {
    let is = |ty: &str| condition_is_true(job, ty);
    if is("Complete") {
        "Complete"
    } else if is("Failed") {
        "Failed"
    } else if is_deleted(job) {
        "Terminating"
    } else if is("Suspended") {
        "Suspended"
    } else if is("FailureTarget") {
        "FailureTarget"
    } else if is("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    }
}

fn completions(job: &Value) -> String {
    let succeeded = number(job, "/status/succeeded");
    match (at(job, "/spec/completions").as_i64(), number(job, "/spec/parallelism")) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

pub(super) const CRON_JOBS: &[Column] = &[
    NAME,
    string("Schedule", "When jobs are started, in the format of cron.", |object, _| {
        json!(text(object, "/spec/schedule"))
    }),
    string("Timezone", "The time zone of the schedule.", |object, _| {
        json!(at(object, "/spec/timeZone").as_str().unwrap_or(NONE))
    }),
    boolean("Suspend", "Whether no jobs are started for now.", |object, _| {
        json!(match at(object, "/spec/suspend").as_bool() {
            Some(true) => "True",
            Some(false) | None => "False",
        })
    }),
    integer("Active", "How many jobs are running.", |object, _| json!(count(object, "/status/active"))),
    string("Last Schedule", "The time since a job was last started.", |object, now| {
        match time(object, "/status/lastScheduleTime") {
            Some(then) => json!(age(now, Some(then))),
            None => json!(NONE),
        }
    }),
    AGE,
    string("Containers", "The names of the containers.", |object, _| {
        json!(each(object, "/spec/jobTemplate/spec/template/spec/containers", "name"))
    })
    .wide(),
    string("Images", "The images of the containers.", |object, _| {
        json!(each(object, "/spec/jobTemplate/spec/template/spec/containers", "image"))
    })
    .wide(),
    string("Selector", "The labels that the pods have.", |object, _| {
        json!(selector(at(object, "/spec/jobTemplate/spec/selector")))
    })
    .wide(),
];

pub(super) const POD_TEMPLATES: &[Column] = &[
    NAME,
    string("Containers", "The names of the containers.", |object, _| {
        json!(each(object, "/template/spec/containers", "name"))
    }),
    string("Images", "The images of the containers.", |object, _| {
        json!(each(object, "/template/spec/containers", "image"))
    }),
    string("Pod Labels", "The labels that the pods get.", |object, _| {
        json!(labels(at(object, "/template/metadata/labels")))
    }),
];

pub(super) const CONTROLLER_REVISIONS: &[Column] = &[
    NAME,
    string("Controller", "The object whose revision this is.", |object, _| json!(controller(object))),
    string("Revision", "The number of the revision.", |object, _| json!(number(object, "/revision"))),
    AGE,
];

/// The owner that controls an object, as `kind.group/name`.
fn controller(object: &Value) -> String {
    let owners = list(object, "/metadata/ownerReferences");
    let Some(owner) = owners.iter().find(|owner| owner["controller"] == json!(true)) else {
        return NONE.to_owned();
    };
    let kind = text(owner, "/kind").to_lowercase();
    let name = text_or(owner, "/name", "");
    match text(owner, "/apiVersion").split_once('/') {
        Some((group, _)) => format!("{kind}.{group}/{name}"),
        None => format!("{kind}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::columns_for;
    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_700_000_000, 0);

    #[track_caller]
    fn check(group: &str, plural: &str, object: &Value, expected: &Value) {
        assert_eq!(json!(columns_for(group, plural, None).cells(object, NOW)), *expected);
    }

    #[test]
    fn deployments_count_their_pods() {
        let object = json!({
            "metadata": {"name": "web", "creationTimestamp": "2023-11-14T22:13:15Z"},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}},
                "template": {"spec": {"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y"}]}}},
            "status": {"replicas": 3, "readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1}});
        check("apps", "deployments", &object, &json!(["web", "2/3", 3, 1, "5s", "a,b", "x:1,y", "app=web"]));
        check("apps", "replicasets", &object, &json!(["web", 3, 3, 2, "5s", "a,b", "x:1,y", "app=web"]));
        check("apps", "statefulsets", &object, &json!(["web", "2/3", "5s", "a,b", "x:1,y"]));
    }

    #[test]
    fn jobs_say_how_far_they_are() {
        let job = json!({"metadata": {"name": "j"}, "spec": {"completions": 2},
            "status": {"succeeded": 1, "startTime": "2023-11-14T22:12:20Z"}});
        check("batch", "jobs", &job, &json!(["j", "Running", "1/2", "60s", "<unknown>", "", "", "<none>"]));
        let done = json!({"metadata": {"name": "j"}, "spec": {"parallelism": 3},
            "status": {"succeeded": 1, "startTime": "2023-11-14T22:12:20Z", "completionTime": "2023-11-14T22:12:25Z",
                "conditions": [{"type": "Complete", "status": "True"}]}});
        check(
            "batch",
            "jobs",
            &done,
            &json!(["j", "Complete", "1/1 of 3", "5s", "<unknown>", "", "", "<none>"]),
        );
    }

    #[test]
    fn cron_jobs_say_when_they_last_ran() {
        let object = json!({"metadata": {"name": "c"}, "spec": {"schedule": "* * * * *", "suspend": false},
            "status": {"active": [{}], "lastScheduleTime": "2023-11-14T22:12:20Z"}});
        check(
            "batch",
            "cronjobs",
            &object,
            &json!(["c", "* * * * *", "<none>", "False", 1, "60s", "<unknown>", "", "", "<none>"]),
        );
    }

    #[test]
    fn revisions_name_their_controller() {
        let object = json!({"metadata": {"name": "r", "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "controller": true}]}, "revision": 4});
        check("apps", "controllerrevisions", &object, &json!(["r", "statefulset.apps/s", 4, "<unknown>"]));
    }
}
