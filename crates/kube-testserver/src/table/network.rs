//! Tables of services and what belongs to them.

use serde_json::{Value, json};

use super::cell::{
    NONE, UNKNOWN, UNSET, annotation, at, first_of, join, labels, list, number, or, plain, selector, text,
    text_or,
};
use super::column::{AGE, Column, NAME, string};

/// How many addresses, ports or hosts a cell shows.
const SHOWN: usize = 3;

pub(super) const SERVICES: &[Column] = &[
    NAME,
    string("Type", "How the service is reached.", |service, _| json!(service_type(service))),
    string("Cluster-IP", "The address inside the cluster.", |service, _| {
        json!(or(text(service, "/spec/clusterIPs/0"), text_or(service, "/spec/clusterIP", NONE)))
    }),
    string("External-IP", "The addresses outside the cluster.", |service, _| json!(external_ip(service))),
    string("Port(s)", "The ports that the service has, and those it has on nodes.", |service, _| {
        json!(or(&join(list(service, "/spec/ports").iter().map(port), ","), NONE))
    }),
    AGE,
    string("Selector", "The labels of the pods behind the service.", |service, _| {
        json!(labels(at(service, "/spec/selector")))
    })
    .wide(),
];

fn service_type(service: &Value) -> &str {
    text_or(service, "/spec/type", "ClusterIP")
}

fn external_ip(service: &Value) -> String {
    let fixed = join(list(service, "/spec/externalIPs").iter().map(plain), ",");
    match service_type(service) {
        "ClusterIP" | "NodePort" => or(&fixed, NONE).to_owned(),
        "LoadBalancer" => {
            let balancer = load_balancer(service);
            let both = join([balancer, fixed].into_iter().filter(|part| !part.is_empty()), ",");
            or(&both, "<pending>").to_owned()
        }
        "ExternalName" => text(service, "/spec/externalName").to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

/// The addresses that a load balancer has been given, each once.
fn load_balancer(object: &Value) -> String {
    let mut addresses: Vec<&str> = list(object, "/status/loadBalancer/ingress")
        .iter()
        .map(|ingress| or(text(ingress, "/ip"), text(ingress, "/hostname")))
        .filter(|address| !address.is_empty())
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses.join(",")
}

fn port(port: &Value) -> String {
    let protocol = text_or(port, "/protocol", "TCP");
    match (number(port, "/port"), number(port, "/nodePort")) {
        (port, node @ 1..) => format!("{port}:{node}/{protocol}"),
        (port, _) => format!("{port}/{protocol}"),
    }
}

pub(super) const ENDPOINTS: &[Column] = &[
    NAME,
    string("Endpoints", "The addresses and ports of the pods.", |object, _| json!(endpoints(object))),
    AGE,
];

fn endpoints(object: &Value) -> String {
    let subsets = list(object, "/subsets");
    if subsets.is_empty() {
        return NONE.to_owned();
    }
    let mut all = Vec::new();
    for subset in subsets {
        let addresses = || list(subset, "/addresses").iter().map(|address| text(address, "/ip"));
        let ports = list(subset, "/ports");
        if ports.is_empty() {
            all.extend(addresses().map(str::to_owned));
        }
        for port in ports {
            all.extend(addresses().map(|ip| host_and_port(ip, number(port, "/port"))));
        }
    }
    first_of(&all, SHOWN, ",")
}

fn host_and_port(ip: &str, port: i64) -> String {
    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
}

pub(super) const ENDPOINT_SLICES: &[Column] = &[
    NAME,
    string("AddressType", "What the addresses are.", |slice, _| json!(text(slice, "/addressType"))),
    string("Ports", "The ports of the endpoints.", |slice, _| {
        let ports: Vec<String> = list(slice, "/ports")
            .iter()
            .map(|port| match (at(port, "/port").as_i64(), at(port, "/name").as_str()) {
                (Some(number), _) => number.to_string(),
                (None, Some(name)) => name.to_owned(),
                (None, None) => "*".to_owned(),
            })
            .collect();
        json!(or(&first_of(&ports, SHOWN, ","), UNSET))
    }),
    string("Endpoints", "The addresses of the endpoints.", |slice, _| {
        let endpoints = list(slice, "/endpoints").iter();
        let addresses: Vec<String> =
            endpoints.flat_map(|endpoint| list(endpoint, "/addresses")).map(plain).collect();
        json!(or(&first_of(&addresses, SHOWN, ","), UNSET))
    }),
    AGE,
];

pub(super) const INGRESSES: &[Column] = &[
    NAME,
    string("Class", "The class that decides who serves the ingress.", |ingress, _| {
        json!(at(ingress, "/spec/ingressClassName").as_str().unwrap_or(NONE))
    }),
    string("Hosts", "The hosts that the rules are about.", |ingress, _| json!(hosts(ingress))),
    string("Address", "The addresses under which the ingress is reached.", |ingress, _| {
        json!(load_balancer(ingress))
    }),
    string("Ports", "The ports that are open.", |ingress, _| {
        json!(if list(ingress, "/spec/tls").is_empty() { "80" } else { "80, 443" })
    }),
    AGE,
];

/// Rules without a host do not count as shown, but they do count as more.
fn hosts(ingress: &Value) -> String {
    let rules = list(ingress, "/spec/rules");
    let mut shown = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= shown.len() == SHOWN;
        if !more && !text(rule, "/host").is_empty() {
            shown.push(text(rule, "/host"));
        }
    }
    match (shown.join(","), more) {
        (hosts, true) => format!("{hosts} + {} more...", rules.len() - SHOWN),
        (hosts, false) => or(&hosts, "*").to_owned(),
    }
}

pub(super) const INGRESS_CLASSES: &[Column] = &[
    Column {
        cell: |class, _| {
            let name = text(class, "/metadata/name");
            let default = annotation(class, "ingressclass.kubernetes.io/is-default-class") == Some("true");
            json!(if default { format!("{name} (default)") } else { name.to_owned() })
        },
        ..NAME
    },
    string("Controller", "The controller that serves this class.", |class, _| {
        json!(text(class, "/spec/controller"))
    }),
    string("Parameters", "The object with further settings.", |class, _| {
        let parameters = at(class, "/spec/parameters");
        if parameters.is_null() {
            return json!(NONE);
        }
        let kind = text(parameters, "/kind");
        let kind = match at(parameters, "/apiGroup").as_str() {
            Some(group) => format!("{kind}.{group}"),
            None => kind.to_owned(),
        };
        json!(format!("{kind}/{}", text(parameters, "/name")))
    }),
    AGE,
];

pub(super) const NETWORK_POLICIES: &[Column] = &[
    NAME,
    string("Pod-Selector", "The labels of the pods that are meant.", |policy, _| {
        json!(selector(at(policy, "/spec/podSelector")))
    }),
    AGE,
];

pub(super) const SERVICE_CIDRS: &[Column] = &[
    NAME,
    string("CIDRs", "The ranges of addresses for services.", |object, _| {
        json!(join(list(object, "/spec/cidrs").iter().map(plain), ","))
    }),
    AGE,
];

/// Kubernetes sends the age as a third cell that no column names; it is left out here.
pub(super) const IP_ADDRESSES: &[Column] = &[
    NAME,
    string("ParentRef", "The object that has the address.", |object, _| {
        let parent = at(object, "/spec/parentRef");
        if parent.is_null() {
            return json!(NONE);
        }
        let (resource, group) = (text(parent, "/resource"), text(parent, "/group"));
        let resource = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
        let place = [text(parent, "/namespace"), text(parent, "/name")];
        let place = join(place.iter().filter(|part| !part.is_empty()), "/");
        json!(format!("{}/{place}", resource.to_lowercase()))
    }),
];

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
    fn services_show_where_they_are_reached() {
        let service =
            |spec: Value, status: Value| json!({"metadata": {"name": "s"}, "spec": spec, "status": status});
        check(
            "",
            "services",
            &service(
                json!({"type": "NodePort", "clusterIPs": ["10.0.0.1"], "selector": {"a": "b"},
                    "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}),
                json!({}),
            ),
            &json!(["s", "NodePort", "10.0.0.1", "<none>", "80:30080/TCP,53/UDP", "<unknown>", "a=b"]),
        );
        let balanced = json!({"type": "LoadBalancer", "clusterIP": "10.0.0.2"});
        check(
            "",
            "services",
            &service(balanced.clone(), json!({})),
            &json!(["s", "LoadBalancer", "10.0.0.2", "<pending>", "<none>", "<unknown>", "<none>"]),
        );
        let given = json!({"loadBalancer": {"ingress": [{"ip": "2.2.2.2"}, {"hostname": "a.example"}, {"ip": "1.1.1.1"}]}});
        check(
            "",
            "services",
            &service(balanced, given),
            &json!([
                "s",
                "LoadBalancer",
                "10.0.0.2",
                "1.1.1.1,2.2.2.2,a.example",
                "<none>",
                "<unknown>",
                "<none>"
            ]),
        );
    }

    #[test]
    fn long_lists_of_endpoints_are_cut() {
        let object = json!({"metadata": {"name": "e"}, "subsets": [{"ports": [{"port": 80}],
            "addresses": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.2"}, {"ip": "1.1.1.3"}, {"ip": "::1"}]}]});
        check(
            "",
            "endpoints",
            &object,
            &json!(["e", "1.1.1.1:80,1.1.1.2:80,1.1.1.3:80 + 1 more...", "<unknown>"]),
        );
        check("", "endpoints", &json!({"metadata": {"name": "e"}}), &json!(["e", "<none>", "<unknown>"]));
        let slice = json!({"metadata": {"name": "e"}, "addressType": "IPv4", "ports": [{"name": "http"}],
            "endpoints": [{"addresses": ["1.1.1.1"]}]});
        check(
            "discovery.k8s.io",
            "endpointslices",
            &slice,
            &json!(["e", "IPv4", "http", "1.1.1.1", "<unknown>"]),
        );
    }

    #[test]
    fn ingresses_show_their_hosts() {
        let ingress = |hosts: &[&str]| {
            let rules: Vec<Value> = hosts.iter().map(|host| json!({"host": host})).collect();
            json!({"metadata": {"name": "i"}, "spec": {"rules": rules, "tls": [{}], "ingressClassName": "x"}})
        };
        check(
            "networking.k8s.io",
            "ingresses",
            &ingress(&["a", "b", "c", "d"]),
            &json!(["i", "x", "a,b,c + 1 more...", "", "80, 443", "<unknown>"]),
        );
        check(
            "networking.k8s.io",
            "ingresses",
            &ingress(&[""]),
            &json!(["i", "x", "*", "", "80, 443", "<unknown>"]),
        );
    }
}
