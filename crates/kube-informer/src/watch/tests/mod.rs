//! Every rule of watching again and of waiting, without a server.

mod retry;
mod script;
mod until;
