//! Work that goes on only while it may.

use std::pin::pin;
use std::task::Poll;

/// Does work, and asks each time before it goes on. None if it may not go on: then it is dropped where it stands. Who was
/// frozen learns of it before anything else happens.
pub(crate) async fn while_allowed<W: Future>(may_act: impl Fn() -> bool, work: W) -> Option<W::Output> {
    let mut work = pin!(work);
    std::future::poll_fn(
        |context| {
            if may_act() { work.as_mut().poll(context).map(Some) } else { Poll::Ready(None) }
        },
    )
    .await
}
