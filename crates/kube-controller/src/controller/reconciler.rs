//! What a controller calls with each request.

use std::future::Future;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Action, Context, ReconcileError};

/// Brings the world to where a request says it should be.
///
/// An async closure or function of a request and a [`Context`] is one. It returns an [`Action`], or `()`.
pub trait Reconciler<R>: Send + Sync + 'static {
    /// Takes one request. Never called twice at the same time with the same request.
    fn reconcile(
        &self,
        request: R,
        context: Context,
    ) -> impl Future<Output = Result<Action, ReconcileError>> + Send;
}

impl<R, F, Fut, A> Reconciler<R> for F
where
    R: Send,
    F: Fn(R, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<A, ReconcileError>> + Send,
    A: Into<Action>,
{
    async fn reconcile(&self, request: R, context: Context) -> Result<Action, ReconcileError> {
        self(request, context).await.map(Into::into)
    }
}

/// A reconciler whose type is forgotten.
pub(super) trait AnyReconciler<R>: Send + Sync {
    fn call(&self, request: R, context: Context) -> BoxFuture<'_, Result<Action, ReconcileError>>;
}

impl<R: Send + 'static, T: Reconciler<R>> AnyReconciler<R> for T {
    fn call(&self, request: R, context: Context) -> BoxFuture<'_, Result<Action, ReconcileError>> {
        // In a block of its own, so that a panic before the first wait is one inside the future.
        async move { self.reconcile(request, context).await }.boxed()
    }
}
