//! Tables of volumes and what belongs to them.

use serde_json::{Value, json};

use super::cell::{UNSET, annotation, at, count, flag, is_deleted, join, list, or, plain, text, text_or};
use super::column::{AGE, Column, NAME, boolean, integer, string};

const VOLUME_MODE: Column =
    string("VolumeMode", "Whether the volume is a file system or a device.", |object, _| {
        json!(text_or(object, "/spec/volumeMode", "Filesystem"))
    })
    .wide();
const STORAGE_CLASS: Column = string("StorageClass", "The storage class.", |object, _| {
    let beta = annotation(object, "volume.beta.kubernetes.io/storage-class");
    json!(beta.unwrap_or_else(|| text(object, "/spec/storageClassName")))
});
const ATTRIBUTES_CLASS: Column =
    string("VolumeAttributesClass", "The class of changeable attributes.", |object, _| {
        json!(at(object, "/spec/volumeAttributesClassName").as_str().unwrap_or(UNSET))
    });
const STATUS: Column = string("Status", "Whether the object is bound, free, or going away.", |object, _| {
    json!(if is_deleted(object) { "Terminating" } else { text_or(object, "/status/phase", "Pending") })
});

pub(super) const VOLUMES: &[Column] = &[
    NAME,
    string("Capacity", "How much fits in.", |volume, _| {
        json!(quantity(at(volume, "/spec/capacity/storage")))
    }),
    string("Access Modes", "How many may mount it, and how.", |volume, _| {
        json!(access_modes(list(volume, "/spec/accessModes")))
    }),
    string("Reclaim Policy", "What happens when the claim is gone.", |volume, _| {
        json!(text_or(volume, "/spec/persistentVolumeReclaimPolicy", "Retain"))
    }),
    STATUS,
    string("Claim", "The claim that has the volume.", |volume, _| {
        json!(match at(volume, "/spec/claimRef") {
            Value::Null => String::new(),
            claim => format!("{}/{}", text(claim, "/namespace"), text(claim, "/name")),
        })
    }),
    STORAGE_CLASS,
    ATTRIBUTES_CLASS,
    string("Reason", "Why the volume failed, in one word.", |volume, _| {
        json!(text(volume, "/status/reason"))
    }),
    AGE,
    VOLUME_MODE,
];

pub(super) const CLAIMS: &[Column] = &[
    NAME,
    STATUS,
    string("Volume", "The volume that the claim has.", |claim, _| json!(text(claim, "/spec/volumeName"))),
    string("Capacity", "How much fits in.", |claim, _| {
        json!(if is_bound(claim) { quantity(at(claim, "/status/capacity/storage")) } else { String::new() })
    }),
    string("Access Modes", "How many may mount it, and how.", |claim, _| {
        json!(if is_bound(claim) { access_modes(list(claim, "/status/accessModes")) } else { String::new() })
    }),
    STORAGE_CLASS,
    ATTRIBUTES_CLASS,
    AGE,
    VOLUME_MODE,
];

fn is_bound(claim: &Value) -> bool {
    !text(claim, "/spec/volumeName").is_empty()
}

/// A quantity that is absent is zero.
fn quantity(value: &Value) -> String {
    or(&plain(value), "0").to_owned()
}

fn access_modes(modes: &[Value]) -> String {
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    join(known.into_iter().filter(|(mode, _)| modes.contains(&json!(mode))).map(|(_, short)| short), ",")
}

pub(super) const CLASSES: &[Column] = &[
    NAME,
    string("Provisioner", "Who makes the volumes.", |class, _| json!(text(class, "/provisioner"))),
    string("ReclaimPolicy", "What happens to a volume when its claim is gone.", |class, _| {
        json!(text_or(class, "/reclaimPolicy", "Delete"))
    }),
    string("VolumeBindingMode", "When volumes are made.", |class, _| {
        json!(text_or(class, "/volumeBindingMode", "Immediate"))
    }),
    string("AllowVolumeExpansion", "Whether volumes can grow.", |class, _| {
        json!(flag(class, "/allowVolumeExpansion"))
    }),
    AGE,
];

/// The storage class that is the default one in effect: the newest, and of two that are equally new the
/// first by name.
pub(super) fn default_class<'v>(classes: impl IntoIterator<Item = &'v Value>) -> Option<String> {
    let is_default = |class: &&Value| {
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
            .iter()
            .any(|name| annotation(class, name) == Some("true"))
    };
    let rank = |class: &&Value| {
        let name = text(class, "/metadata/name").to_owned();
        (text(class, "/metadata/creationTimestamp").to_owned(), std::cmp::Reverse(name))
    };
    let newest = classes.into_iter().filter(is_default).max_by_key(rank)?;
    Some(text(newest, "/metadata/name").to_owned())
}

pub(super) const ATTACHMENTS: &[Column] = &[
    NAME,
    Column {
        format: "name",
        ..string("Attacher", "Who attaches the volume.", |object, _| json!(text(object, "/spec/attacher")))
    },
    string("PV", "The volume.", |object, _| json!(text(object, "/spec/source/persistentVolumeName"))),
    string("Node", "The node.", |object, _| json!(text(object, "/spec/nodeName"))),
    boolean("Attached", "Whether the volume is attached.", |object, _| {
        json!(flag(object, "/status/attached"))
    }),
    AGE,
];

pub(super) const ATTRIBUTES_CLASSES: &[Column] =
    &[NAME, string("DriverName", "The driver.", |class, _| json!(text(class, "/driverName"))), AGE];

pub(super) const CSI_NODES: &[Column] = &[
    NAME,
    integer("Drivers", "How many drivers are on the node.", |node, _| json!(count(node, "/spec/drivers"))),
    AGE,
];

pub(super) const CSI_DRIVERS: &[Column] = &[
    NAME,
    boolean("AttachRequired", "Whether volumes must be attached.", |driver, _| {
        json!(at(driver, "/spec/attachRequired").as_bool().unwrap_or(true))
    }),
    boolean("PodInfoOnMount", "Whether the driver is told about the pod.", |driver, _| {
        json!(flag(driver, "/spec/podInfoOnMount"))
    }),
    boolean("StorageCapacity", "Whether the free space is considered.", |driver, _| {
        json!(flag(driver, "/spec/storageCapacity"))
    }),
    string("TokenRequests", "For whom the driver gets tokens.", |driver, _| {
        json!(match at(driver, "/spec/tokenRequests") {
            Value::Null => UNSET.to_owned(),
            _ => super::cell::each(driver, "/spec/tokenRequests", "audience"),
        })
    }),
    boolean("RequiresRepublish", "Whether volumes are published again and again.", |driver, _| {
        json!(flag(driver, "/spec/requiresRepublish"))
    }),
    string("Modes", "How long volumes live.", |driver, _| {
        json!(or(&join(list(driver, "/spec/volumeLifecycleModes").iter().map(plain), ","), "Persistent"))
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
    fn volumes_and_claims_show_what_they_are_bound_to() {
        let volume = json!({"metadata": {"name": "v"}, "spec": {"capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteMany", "ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": "a", "name": "b"}, "storageClassName": "fast", "volumeMode": "Filesystem"},
            "status": {"phase": "Bound"}});
        assert_eq!(
            json!(columns_for("", "persistentvolumes", None).cells(&volume, NOW)),
            json!([
                "v",
                "10Gi",
                "RWO,RWX",
                "Retain",
                "Bound",
                "a/b",
                "fast",
                "<unset>",
                "",
                "<unknown>",
                "Filesystem"
            ])
        );
        let claim = json!({"metadata": {"name": "c"}, "spec": {"volumeName": "v", "storageClassName": "fast"},
            "status": {"phase": "Bound", "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"]}});
        assert_eq!(
            json!(columns_for("", "persistentvolumeclaims", None).cells(&claim, NOW)),
            json!(["c", "Bound", "v", "10Gi", "RWO", "fast", "<unset>", "<unknown>", "Filesystem"])
        );
    }
}
