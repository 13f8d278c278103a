//! Who plays a scenario.

mod clientgo;
mod informer;
mod ours;

pub use clientgo::ClientGo;
pub use ours::Ours;

use std::sync::Arc;

use crate::command::{Answer, Command};

/// One who plays one scenario.
#[derive(Debug)]
pub enum Player {
    /// This library.
    Ours(Box<Ours>),
    /// client-go, under the name of this run.
    ClientGo(Arc<ClientGo>, String),
}

impl Player {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Player::Ours(_) => "ours",
            Player::ClientGo(..) => "client-go",
        }
    }

    /// Does what it is told, and answers.
    pub async fn call(&mut self, command: Command) -> Result<Answer, String> {
        match self {
            Player::Ours(ours) => ours.call(command).await,
            Player::ClientGo(process, run) => process.call(run, command).await,
        }
    }
}
