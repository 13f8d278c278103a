//! `networking/v1`. Made by `cargo xtask places`: not to be edited.

use k8s_openapi::api::networking::v1 as types;

use super::*;

places! {
    "networking/v1"
    HTTPIngressPath {
        1 path, 2 backend, 3 path_type;
        empty 1;
    }
    HTTPIngressRuleValue {
        1 paths;
    }
    IPBlock {
        1 cidr, 2 except;
    }
    Ingress {
        1 metadata, 2 spec, 3 status;
    }
    IngressBackend {
        3 resource, 4 service;
    }
    IngressLoadBalancerIngress {
        1 ip, 2 hostname, 4 ports;
        empty 1 2;
    }
    IngressLoadBalancerStatus {
        1 ingress;
    }
    IngressPortStatus {
        1 port, 2 protocol, 3 error;
    }
    IngressRule {
        1 host, 2001 http;
        empty 1;
    }
    IngressServiceBackend {
        1 name, 2 port;
    }
    IngressSpec {
        1 default_backend, 2 tls, 3 rules, 4 ingress_class_name;
    }
    IngressStatus {
        1 load_balancer;
    }
    IngressTLS {
        1 hosts, 2 secret_name;
        empty 2;
    }
    NetworkPolicy {
        1 metadata, 2 spec;
    }
    NetworkPolicyEgressRule {
        1 ports, 2 to;
    }
    NetworkPolicyIngressRule {
        1 ports, 2 from;
    }
    NetworkPolicyPeer {
        1 pod_selector, 2 namespace_selector, 3 ip_block;
    }
    NetworkPolicyPort {
        1 protocol, 2 port, 3 end_port;
    }
    NetworkPolicySpec {
        1 pod_selector, 2 ingress, 3 egress, 4 policy_types;
    }
    ServiceBackendPort {
        1 name, 2 number;
        empty 1;
        zero 2;
    }
}
