//! `discovery/v1`. Made by `cargo xtask places`: not to be edited.

use k8s_openapi::api::discovery::v1 as types;

use super::*;

places! {
    "discovery/v1"
    Endpoint {
        1 addresses, 2 conditions, 3 hostname, 4 target_ref, 5 deprecated_topology, 6 node_name, 7 zone,
        8 hints;
    }
    EndpointConditions {
        1 ready, 2 serving, 3 terminating;
    }
    EndpointHints {
        1 for_zones, 2 for_nodes;
    }
    EndpointPort {
        1 name, 2 protocol, 3 port, 4 app_protocol;
    }
    EndpointSlice {
        1 metadata, 2 endpoints, 3 ports, 4 address_type;
    }
    ForNode {
        1 name;
    }
    ForZone {
        1 name;
    }
}
