//! Elections on the embedded server, in paused time. The question is always the same: do two ever act?

mod candidates;
mod chaos;
mod losing;
mod sight;
mod support;
mod writes;
