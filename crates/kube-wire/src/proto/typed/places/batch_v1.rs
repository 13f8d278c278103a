//! `batch/v1`. Made by `cargo xtask places`: not to be edited.

use k8s_openapi::api::batch::v1 as types;

use super::*;

places! {
    "batch/v1"
    CronJob {
        1 metadata, 2 spec, 3 status;
    }
    CronJobSpec {
        1 schedule, 2 starting_deadline_seconds, 3 concurrency_policy, 4 suspend, 5 job_template,
        6 successful_jobs_history_limit, 7 failed_jobs_history_limit, 8 time_zone;
        empty 3;
    }
    CronJobStatus {
        1 active, 4 last_schedule_time, 5 last_successful_time;
        empty 4 5;
    }
    Job {
        1 metadata, 2 spec, 3 status;
    }
    JobCondition {
        1 type_, 2 status, 3 last_probe_time, 4 last_transition_time, 5 reason, 6 message;
        empty 3 4 5 6;
    }
    [k8s_if_ge_1_37] JobSchedulingConfiguration {
        1 scheduling_policy, 2 scheduling_constraints, 3 disruption_mode, 4 resource_claims;
    }
    JobSpec {
        1 parallelism, 2 completions, 3 active_deadline_seconds, 4 selector, 5 manual_selector, 6 template,
        7 backoff_limit, 8 ttl_seconds_after_finished, 9 completion_mode, 10 suspend, 11 pod_failure_policy,
        12 backoff_limit_per_index, 13 max_failed_indexes, 14 pod_replacement_policy, 15 managed_by,
        16 success_policy;
        [k8s_if_ge_1_37] 17 scheduling;
    }
    JobStatus {
        1 conditions, 2 start_time, 3 completion_time, 4 active, 5 succeeded, 6 failed, 7 completed_indexes,
        8 uncounted_terminated_pods, 9 ready, 10 failed_indexes, 11 terminating;
        empty 2 3 7;
        zero 4 5 6;
    }
    JobTemplateSpec {
        1 metadata, 2 spec;
    }
    PodFailurePolicy {
        1 rules;
    }
    PodFailurePolicyOnExitCodesRequirement {
        1 container_name, 2 operator, 3 values;
    }
    PodFailurePolicyOnPodConditionsPattern {
        1 type_, 2 status;
    }
    PodFailurePolicyRule {
        1 action, 2 on_exit_codes, 3 on_pod_conditions;
    }
    SuccessPolicy {
        1 rules;
    }
    SuccessPolicyRule {
        1 succeeded_indexes, 2 succeeded_count;
    }
    UncountedTerminatedPods {
        1 succeeded, 2 failed;
    }
}
