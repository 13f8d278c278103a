//! `rbac/v1`. Made by `cargo xtask places`: not to be edited.

use k8s_openapi::api::rbac::v1 as types;

use super::*;

places! {
    "rbac/v1"
    AggregationRule {
        1 cluster_role_selectors;
    }
    ClusterRole {
        1 metadata, 2 rules, 3 aggregation_rule;
    }
    ClusterRoleBinding {
        1 metadata, 2 subjects, 3 role_ref;
    }
    PolicyRule {
        1 verbs, 2 api_groups, 3 resources, 4 resource_names, 5 non_resource_urls;
    }
    Role {
        1 metadata, 2 rules;
    }
    RoleBinding {
        1 metadata, 2 subjects, 3 role_ref;
    }
    RoleRef {
        1 api_group, 2 kind, 3 name;
    }
    Subject {
        1 kind, 2 api_group, 3 name, 4 namespace;
        empty 2 4;
    }
}
