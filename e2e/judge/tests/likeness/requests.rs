//! Requests are answered the same by a real server and by ours.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Request;
use http_body_util::BodyExt;
use kube_client::Client;
use kube_client::client::Body;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::common::common;
use crate::{Both, PATIENCE, folder};

/// One request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    /// The method and the path.
    #[serde(rename = "do")]
    what: String,
    #[serde(default)]
    body: Option<Value>,
    /// The type of the body.
    #[serde(default, rename = "type")]
    content_type: Option<String>,
    #[serde(default)]
    accept: Option<String>,
    /// Remembers the version and the token of the answer under this name.
    #[serde(default)]
    keep: Option<String>,
    /// Compares only this part of the answers; a JSON pointer.
    #[serde(default)]
    part: Option<String>,
    /// Asks again until the answer has this code, and this part.
    #[serde(default)]
    until: Option<u16>,
    /// Why it may be answered differently.
    #[serde(default)]
    differs: String,
}

/// One who asks one server.
struct Asker {
    client: Client,
    /// What was remembered, by what stands for it.
    kept: BTreeMap<String, String>,
}

/// An answer: its code, its warnings, and what it says.
type Answer = (u16, Vec<String>, Value);

impl Asker {
    async fn ask(&mut self, ask: &Ask) -> Answer {
        let answered = async {
            loop {
                let answer = self.ask_once(ask).await;
                let is_whole = ask.part.is_none() || !answer.2.is_null();
                if ask.until.is_none_or(|code| answer.0 == code && is_whole) {
                    return answer;
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        let answered = tokio::time::timeout(PATIENCE, answered).await;
        answered.unwrap_or_else(|_| panic!("{} is never answered as it should be", ask.what))
    }

    async fn ask_once(&mut self, ask: &Ask) -> Answer {
        let (method, path) = ask.what.split_once(' ').unwrap();
        let body = ask.body.as_ref().map(ToString::to_string).unwrap_or_default();
        let mut request = Request::builder().method(method).uri(self.fill(path));
        request = request.header("accept", ask.accept.as_deref().unwrap_or("application/json"));
        if ask.body.is_some() {
            request =
                request.header("content-type", ask.content_type.as_deref().unwrap_or("application/json"));
        }
        let request = request.body(Body::from(self.fill(&body).into_bytes())).unwrap();
        let response = self.client.send(request).await.unwrap();
        let code = response.status().as_u16();
        let warnings = response.headers().get_all("warning").iter();
        let warnings = warnings.map(|warning| warning.to_str().unwrap().to_owned()).collect();
        let value = read(&response.into_body().collect().await.unwrap().to_bytes());
        if let Some(name) = &ask.keep {
            let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or("").to_owned();
            let token = text("/metadata/continue") + &text("/status/token");
            self.kept.insert(format!("${name}.token"), token);
            self.kept.insert(format!("${name}"), text("/metadata/resourceVersion"));
        }
        let value = match &ask.part {
            Some(part) => value.pointer(part).cloned().unwrap_or_default(),
            None => value,
        };
        (code, warnings, common(&value))
    }

    /// Puts in what was remembered; the longest names first.
    fn fill(&self, text: &str) -> String {
        self.kept.iter().rev().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }
}

/// One value, or one for each event of a watch.
fn read(bytes: &[u8]) -> Value {
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_slice(bytes).into_iter().collect();
    match values {
        Ok(mut values) if values.len() == 1 && values[0].get("type").is_none() => values.remove(0),
        Ok(values) => values.into_iter().filter(|event| !is_chance(event)).collect(),
        Err(_) => json!({"text": String::from_utf8_lossy(bytes)}),
    }
}

/// Whether it is chance that an event is there. A bookmark before the end of a watch says that the version has moved since the
/// last event, and that is up to whoever else writes to a server meanwhile, and in the real one to when its cache hears of
/// it. The one that ends the initial events is no chance.
fn is_chance(event: &Value) -> bool {
    event["type"] == "BOOKMARK" && event.pointer("/object/metadata/annotations").is_none()
}

/// Between two questions of the same.
const PAUSE: Duration = Duration::from_millis(50);

/// What makes both servers forget all history.
const COMPACT: &str = "COMPACT";

/// Asks both servers what is in a file.
pub(crate) async fn compare(both: &Both, file: &str) {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    let asks: Vec<Ask> = serde_saphyr::from_str(&text).unwrap();
    let mut real = Asker { client: both.real.client().await.unwrap(), kept: BTreeMap::new() };
    let mut ours = Asker { client: both.ours.client().unwrap(), kept: BTreeMap::new() };
    let mut differences = Vec::new();
    for ask in &asks {
        if ask.what == COMPACT {
            both.real.compact().await.unwrap();
            both.ours.compact();
            continue;
        }
        let (real, ours) = tokio::join!(real.ask(ask), ours.ask(ask));
        if real != ours && ask.differs.is_empty() {
            let shown = |answer: &Answer| format!("{} {:?} {}", answer.0, answer.1, answer.2);
            differences.push(format!("{}\n  real: {}\n  ours: {}", ask.what, shown(&real), shown(&ours)));
        }
        if real == ours && !ask.differs.is_empty() {
            differences.push(format!("{} does not differ any more: {}", ask.what, ask.differs));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {} answers differ:\n{}",
        differences.len(),
        asks.len(),
        differences.join("\n")
    );
}
