//! `meta/v1`. Made by `cargo xtask places`: not to be edited.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as types;

use super::*;

places! {
    "meta/v1"
    LabelSelector {
        1 match_labels, 2 match_expressions;
    }
    LabelSelectorRequirement {
        1 key, 2 operator, 3 values;
    }
    ManagedFieldsEntry {
        1 manager, 2 operation, 3 api_version, 4 time, 6 fields_type, 8 subresource;
        ~ 7 fields_v1;
        empty 1 2 3 4 6 8;
    }
    ObjectMeta {
        1 name, 2 generate_name, 3 namespace, 4 self_link, 5 uid, 6 resource_version, 7 generation,
        8 creation_timestamp, 9 deletion_timestamp, 10 deletion_grace_period_seconds, 11 labels,
        12 annotations, 13 owner_references, 14 finalizers, 17 managed_fields;
        empty 1 2 3 4 5 6 8 9;
        zero 7;
    }
    OwnerReference {
        1 kind, 3 name, 4 uid, 5 api_version, 6 controller, 7 block_owner_deletion;
    }
}
