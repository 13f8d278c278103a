//! Everything a source has, once: for programs that want a list and not a copy.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use kube_core::Resource;

use super::{ListPart, ListWatch, SourceError, Want};
use crate::continuation::ContinueTokens;
use crate::object::Object;
use crate::reflector::{Failure, ListRequest};

/// The size of pages, unless it is said otherwise.
const PAGE_SIZE: u32 = 500;

/// Lists everything that a source has, page by page, item by item: never more than a page is in memory.
///
/// When the pages take so long that the server has forgotten their version, the rest cannot be had any more: then
/// everything is listed once more, without a limit, and the objects that have already come come again
/// ([`Listed::Again`] says so before). If the pages of that list expire as well, the error is returned. What cannot be decoded is
/// told with its name.
///
/// ```
/// use futures::StreamExt;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_informer::source::{KubeSource, Listed, list_all};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # server.seed("{apiVersion: v1, kind: ConfigMap, metadata: {name: hello}}")?;
/// # let client = server.client()?;
/// let mut objects = list_all(KubeSource::<ConfigMap>::all(client, &()), None);
/// while let Some(listed) = objects.next().await {
///     if let Listed::Object(config) = listed? {
///         println!("{}", config.key());
///     }
/// }
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub fn list_all<K>(
    source: impl ListWatch<K>,
    page_size: Option<u32>,
) -> BoxStream<'static, Result<Listed<K>, SourceError>>
where
    K: Resource + Send + Sync + 'static,
{
    let request = ListRequest { limit: Some(page_size.unwrap_or(PAGE_SIZE)), ..ListRequest::default() };
    let (want, tokens) = (Arc::new(Want::new()), ContinueTokens::default());
    let pager =
        Pager { source, want, request: Some(request), page: None, items: 0, tokens, is_fallback: false };
    stream::unfold(Some(pager), async |pager| {
        let mut pager = pager?;
        let listed = pager.next().await.transpose()?;
        let more = listed.is_ok().then_some(pager);
        Some((listed, more))
    })
    .boxed()
}

/// Something that a list had to say.
#[derive(Debug)]
#[non_exhaustive]
pub enum Listed<K> {
    /// An object.
    Object(Object<K>),
    /// An object that is not what its type says.
    Undecodable(kube_wire::DecodeError),
    /// The pages have expired, and everything comes again, in one piece.
    Again,
    /// That was all, at this version.
    End {
        /// The version.
        resource_version: String,
    },
}

struct Pager<K, S> {
    source: S,
    want: Arc<Want<K>>,
    /// The next page; none after the last one.
    request: Option<ListRequest>,
    page: Option<super::ListStream<K>>,
    /// How many items the page has had.
    items: u64,
    tokens: ContinueTokens,
    /// Pages have expired, and everything is being listed without a limit.
    is_fallback: bool,
}

impl<K: Resource + Send + Sync + 'static, S: ListWatch<K>> Pager<K, S> {
    async fn next(&mut self) -> Result<Option<Listed<K>>, SourceError> {
        loop {
            let Some(page) = &mut self.page else {
                let Some(request) = &self.request else { return Ok(None) };
                let may_fall_back = !request.continue_token.is_empty() && !self.is_fallback;
                match self.source.list(request, &self.want).await {
                    Ok(page) => self.page = Some(page),
                    Err(error) if may_fall_back && error.failure == Failure::Expired => {
                        self.is_fallback = true;
                        self.tokens = ContinueTokens::default();
                        self.request = Some(ListRequest::default());
                        return Ok(Some(Listed::Again));
                    }
                    Err(error) => return Err(error),
                }
                continue;
            };
            let part = page.next().await;
            self.items += u64::from(matches!(part, Some(Ok(ListPart::Item(_) | ListPart::Undecodable(_)))));
            match part {
                Some(Ok(ListPart::Item(object))) => return Ok(Some(Listed::Object(object))),
                Some(Ok(ListPart::Undecodable(error))) => return Ok(Some(Listed::Undecodable(error))),
                Some(Ok(ListPart::Bytes(_) | ListPart::Trouble { .. } | ListPart::Epoch { .. })) => {}
                Some(Ok(ListPart::End(meta))) => {
                    self.page = None;
                    if meta.continue_token.is_empty() {
                        self.request = None;
                        return Ok(Some(Listed::End { resource_version: meta.resource_version }));
                    }
                    let items = std::mem::take(&mut self.items);
                    let limit = self.request.as_ref().and_then(|request| request.limit);
                    let endless = self.tokens.take(&meta.continue_token, items, limit);
                    endless.map_err(SourceError::endless)?;
                    if let Some(request) = &mut self.request {
                        request.continue_token = meta.continue_token;
                    }
                }
                Some(Err(error)) => return Err(error),
                None => return Err(SourceError::garbled("the list ended before its end")),
            }
        }
    }
}
