//! `events/v1`. Made by `cargo xtask places`: not to be edited.

use k8s_openapi::api::events::v1 as types;

use super::*;

places! {
    "events/v1"
    Event {
        1 metadata, 2 event_time, 4 reporting_controller, 5 reporting_instance, 6 action, 7 reason,
        8 regarding, 9 related, 10 note, 11 type_, 12 deprecated_source, 13 deprecated_first_timestamp,
        14 deprecated_last_timestamp, 15 deprecated_count;
        ~ 3 series;
        empty 2 4 5 6 7 10 11 13 14;
        zero 15;
    }
}
