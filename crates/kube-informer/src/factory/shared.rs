//! What a factory asks of an informer, whatever its type.

use futures::future::try_join_all;

use super::{NotSynced, Synced};
use crate::informer::{Inform, InformerStatus, Phase, ScopeStatus, Trouble};
use crate::source::SourceError;

/// It has been started, though it may have been stopped since.
pub(super) fn is_started(informer: &dyn Inform) -> bool {
    informer.watch_status().borrow().phase != Phase::Created
}

/// What is wrong so far; none if it has synced.
pub(super) fn not_synced(informer: &dyn Inform) -> Option<NotSynced> {
    let own = informer.watch_status().borrow().clone();
    if !own.synced {
        return Some(unsynced(informer, &own, cause(&own)));
    }
    informer.views().iter().find_map(|view| not_synced(&**view))
}

/// Waits until an informer has synced, or until it is known that it cannot; and so those that are views of it.
pub(super) async fn settled(informer: &dyn Inform) -> Result<Synced, NotSynced> {
    let mut synced = alone_settled(informer).await?;
    let views = informer.views();
    for view in try_join_all(views.iter().map(|view| alone_settled(&**view))).await? {
        synced.quarantined = synced.quarantined.max(view.quarantined);
    }
    Ok(synced)
}

async fn alone_settled(informer: &dyn Inform) -> Result<Synced, NotSynced> {
    let mut status = informer.watch_status();
    let seen = status.wait_for(|status| status.synced || is_hopeless(status)).await;
    // The sender lives in the informer, which is held here, so waiting cannot fail.
    let Ok(status) = seen else { return Err(unsynced(informer, &informer.status(), None)) };
    if status.synced && status.objects == 0 && !status.quarantined.is_empty() {
        return Err(unsynced(informer, &status, Some(undecodable(&status))));
    }
    if !status.synced {
        return Err(unsynced(informer, &status, cause(&status)));
    }
    let (objects, quarantined) = (status.objects, status.quarantined.len());
    Ok(Synced { resource: informer.resource(), objects, quarantined })
}

fn unsynced(informer: &dyn Inform, status: &InformerStatus, cause: Option<SourceError>) -> NotSynced {
    let confined = status.scopes.iter().any(|scope| scope.namespace.is_some());
    NotSynced { resource: informer.resource(), cause, confined }
}

/// An answer that makes no sense may be an accident, and a request that is not understood is put in other words; so many
/// in a row are not.
const TOO_OFTEN: u64 = 3;

/// Trouble that time alone does not change.
fn is_lasting(trouble: &Trouble) -> bool {
    let often = trouble.times >= TOO_OFTEN;
    match trouble.error.code {
        401 | 403 | 404 => !trouble.list_is_next,
        400 | 405 | 422 => often,
        _ => trouble.error.garbled && often,
    }
}

/// Nothing that time alone would change.
fn is_hopeless(status: &InformerStatus) -> bool {
    status.phase == Phase::Stopped || status.scopes.iter().any(is_scope_hopeless)
}

/// Trouble with one scope that time alone does not change.
pub(crate) fn is_scope_hopeless(scope: &ScopeStatus) -> bool {
    scope.trouble.as_ref().is_some_and(is_lasting)
}

/// What is wrong: what lasts, if something does.
fn cause(status: &InformerStatus) -> Option<SourceError> {
    status.end_cause().cloned().or_else(|| cause_in(&status.scopes.iter()))
}

/// What is wrong with some scopes.
pub(crate) fn cause_in<'a>(scopes: &(impl Iterator<Item = &'a ScopeStatus> + Clone)) -> Option<SourceError> {
    let troubles = || scopes.clone().filter_map(|scope| scope.trouble.as_ref());
    let worst = troubles().find(|trouble| is_lasting(trouble)).or_else(|| troubles().next());
    worst.map(|trouble| trouble.error.clone())
}

/// What is wrong when there are objects, and none of them can be decoded.
fn undecodable(status: &InformerStatus) -> SourceError {
    let example = status.quarantined.iter().next();
    let example = example.map(|(key, why)| format!("{key}: {why}")).unwrap_or_default();
    let count = status.quarantined.len();
    SourceError::garbled(format!("none of {count} objects fits its type; {example}"))
}
