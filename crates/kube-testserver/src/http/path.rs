//! What a request's path names.

use percent_encoding::percent_decode_str;

/// A path below `/api/v1` or `/apis/GROUP/VERSION`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    /// Empty for all namespaces and for cluster-scoped resources.
    pub(crate) namespace: String,
    pub(crate) plural: String,
    /// Empty for the collection.
    pub(crate) name: String,
    /// Empty for the object itself; may hold slashes (`proxy/some/path`).
    pub(crate) subresource: String,
    /// The old way to ask for a watch: `/api/v1/watch/…`.
    pub(crate) watch: bool,
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Resource(ResourcePath),
    /// Discovery, health and everything else, as decoded segments.
    Other(Vec<String>),
}

/// Splits a path into what it names. Whether that exists is for others to say.
pub(crate) fn route(path: &str) -> Route {
    // A slash at the end says nothing; an empty segment in between names something that does not exist.
    let trimmed = path.strip_prefix('/').unwrap_or(path);
    let trimmed = trimmed.strip_suffix('/').unwrap_or(trimmed);
    let segments: Vec<String> = trimmed
        .split('/')
        .filter(|_| !trimmed.is_empty())
        .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
        .collect();
    let words: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (group, version, rest) = match &words[..] {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return Route::Other(segments),
    };
    let (watch, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        rest => (false, rest),
    };
    let (namespace, rest) = match rest {
        [] => return Route::Other(segments),
        // `namespaces/NAME/status` and `/finalize` belong to the namespace itself.
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => ("", rest),
        ["namespaces", namespace, rest @ ..] => (*namespace, rest),
        rest => ("", rest),
    };
    let mut rest = rest.iter();
    let mut next = || rest.next().map_or_else(String::new, |&word| word.to_owned());
    let (plural, name) = (next(), next());
    let subresource = rest.copied().collect::<Vec<_>>().join("/");
    Route::Resource(ResourcePath {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace: namespace.to_owned(),
        plural,
        name,
        subresource,
        watch,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn names(path: &str, [group, version, namespace, plural, name, subresource]: [&str; 6]) {
        let expected = ResourcePath {
            group: group.into(),
            version: version.into(),
            namespace: namespace.into(),
            plural: plural.into(),
            name: name.into(),
            subresource: subresource.into(),
            watch: false,
        };
        assert_eq!(route(path), Route::Resource(expected), "{path}");
    }

    #[test]
    fn paths_name_group_version_namespace_resource_name_and_subresource() {
        names("/api/v1/pods", ["", "v1", "", "pods", "", ""]);
        names("/api/v1/namespaces", ["", "v1", "", "namespaces", "", ""]);
        names("/api/v1/namespaces/a", ["", "v1", "", "namespaces", "a", ""]);
        names("/api/v1/namespaces/a/status", ["", "v1", "", "namespaces", "a", "status"]);
        names("/api/v1/namespaces/a/finalize", ["", "v1", "", "namespaces", "a", "finalize"]);
        names("/api/v1/namespaces/a/pods", ["", "v1", "a", "pods", "", ""]);
        names("/api/v1/namespaces/a/pods/b/log", ["", "v1", "a", "pods", "b", "log"]);
        names("/apis/apps/v1/deployments", ["apps", "v1", "", "deployments", "", ""]);
        names(
            "/apis/apps/v1/namespaces/a/deployments/b/scale",
            ["apps", "v1", "a", "deployments", "b", "scale"],
        );
        names("/api/v1/nodes/n/proxy/x/y", ["", "v1", "", "nodes", "n", "proxy/x/y"]);
        names("/api/v1/namespaces/a/configmaps/x%3Ay", ["", "v1", "a", "configmaps", "x:y", ""]);
        names("/api/v1/pods/", ["", "v1", "", "pods", "", ""]);
        names("/api/v1//pods", ["", "v1", "", "", "pods", ""]);
    }

    #[test]
    fn other_paths_are_left_alone() {
        for path in
            ["/", "/version", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/openapi/v3/api/v1"]
        {
            assert!(matches!(route(path), Route::Other(_)), "{path}");
        }
    }
}
