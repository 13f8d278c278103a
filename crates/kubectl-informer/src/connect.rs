//! From a kubeconfig to a client, or to the one line that says why there is none.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kube_client::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube_client::{Client, Config};

/// A cluster to ask.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) url: String,
    /// That of the context.
    pub(crate) namespace: String,
}

/// Why there is no cluster to ask.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error(
        "there is no kubeconfig at {}; name one with --kubeconfig or $KUBECONFIG, or use --embedded, which needs none",
        listed(.0.iter().map(|path| path.display().to_string()))
    )]
    NoKubeconfig(Vec<PathBuf>),
    #[error("there is no home folder to find a kubeconfig in; name one with --kubeconfig or $KUBECONFIG")]
    NoHome,
    #[error("cannot read the kubeconfig {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is not a kubeconfig: {why}; mend it, or name another with --kubeconfig or $KUBECONFIG", path.display())]
    Invalid { path: PathBuf, why: String },
    #[error("the kubeconfig has no context {name:?}; choose one of {}", listed(known.iter().cloned()))]
    UnknownContext { name: String, known: Vec<String> },
    #[error("the kubeconfig has no current context; choose one with --context: {}", listed(known.iter().cloned()))]
    NoContext { known: Vec<String> },
    #[error("the kubeconfig cannot be used: {0}")]
    Unusable(KubeconfigError),
    #[error("this pod's service account cannot be used: {0}")]
    InCluster(String),
    #[error("cannot make a client of the kubeconfig: {0}")]
    Client(kube_client::Error),
}

/// Makes a client as kubectl does: from the file that is named, or those in `$KUBECONFIG`, or the one in the home
/// folder, or else from the service account of the pod it runs in.
pub(crate) async fn connect(file: Option<&Path>, context: Option<&str>) -> Result<Cluster, ConnectError> {
    let config = match read(file) {
        Ok(kubeconfig) => configured(kubeconfig, context).await?,
        Err(ConnectError::NoKubeconfig(_) | ConnectError::NoHome)
            if file.is_none() && context.is_none() && is_in_cluster() =>
        {
            Config::incluster().map_err(|error| ConnectError::InCluster(error.to_string()))?
        }
        Err(error) => return Err(error),
    };
    client(config)
}

fn client(mut config: Config) -> Result<Cluster, ConnectError> {
    // Informers try again by themselves, and say so.
    config.default_retry = false;
    let (url, namespace) = (config.cluster_url.to_string(), config.default_namespace.clone());
    let client = Client::try_from(config).map_err(ConnectError::Client)?;
    Ok(Cluster { client, url: url.trim_end_matches('/').to_owned(), namespace })
}

async fn configured(kubeconfig: Kubeconfig, context: Option<&str>) -> Result<Config, ConnectError> {
    let known: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
    let current = kubeconfig.current_context.clone().filter(|name| !name.is_empty());
    let Some(name) = context.map(str::to_owned).or(current) else {
        return Err(ConnectError::NoContext { known });
    };
    if !known.contains(&name) {
        return Err(ConnectError::UnknownContext { name, known });
    }
    let options = KubeConfigOptions { context: Some(name), ..KubeConfigOptions::default() };
    Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(ConnectError::Unusable)
}

/// Reads and merges the files. Of several, those that are not there are passed over.
fn read(file: Option<&Path>) -> Result<Kubeconfig, ConnectError> {
    let paths = match file {
        Some(file) => vec![file.to_owned()],
        None => usual_paths()?,
    };
    let mut merged: Option<Kubeconfig> = None;
    for path in &paths {
        let next = match read_one(path) {
            Err(ConnectError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => continue,
            next => next?,
        };
        merged = Some(match merged {
            None => next,
            Some(before) => before.merge(next).map_err(ConnectError::Unusable)?,
        });
    }
    merged.ok_or(ConnectError::NoKubeconfig(paths))
}

fn read_one(path: &Path) -> Result<Kubeconfig, ConnectError> {
    let bytes = std::fs::read(path).map_err(|source| ConnectError::Read { path: path.to_owned(), source })?;
    let invalid = |why: &str| ConnectError::Invalid { path: path.to_owned(), why: why.to_owned() };
    // The reader below takes UTF-16 too, but trusts it to be whole.
    let utf16 = bytes.starts_with(&[0xfe, 0xff]) || bytes.starts_with(&[0xff, 0xfe]);
    if utf16 && bytes.len() % 2 != 0 {
        return Err(invalid("it ends in the middle of a letter"));
    }
    Kubeconfig::read_from(path).map_err(|error| match error {
        KubeconfigError::ReadConfig(source, path) => ConnectError::Read { path, source },
        error => {
            // The first line says what is wrong and where; a picture of it follows.
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            let line = line.strip_prefix("failed to parse kubeconfig YAML: ").unwrap_or(line);
            invalid(line.strip_prefix("error: ").unwrap_or(line))
        }
    })
}

fn usual_paths() -> Result<Vec<PathBuf>, ConnectError> {
    let named = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let paths: Vec<PathBuf> =
        std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect();
    if !paths.is_empty() {
        return Ok(paths);
    }
    let home = std::env::home_dir().ok_or(ConnectError::NoHome)?;
    Ok(vec![home.join(".kube").join("config")])
}

fn is_in_cluster() -> bool {
    std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() { "(there is none)".to_owned() } else { names.join(", ") }
}
