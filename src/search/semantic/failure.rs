//! A failed request to a server, and how to fix it.
//!
//! It names the setting or the command that fixes the failure. It does not know whether the server is suspended: the
//! [circuit breaker](super::breaker) does.

use super::http::RequestError;
use super::ollama::OllamaClient;
use super::qdrant::QdrantClient;
use crate::error::{Error, Problem};
use crate::text::printed_command;

/// A request that failed, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerFailure {
    pub(super) address: String,
    pub(super) error: RequestError,
    hint: String,
}

/// Why a call for vectors ended early.
pub(super) enum EmbedStop {
    /// A server failed.
    Server(ServerFailure),
    /// The cache cannot be written.
    Cache(Error),
}

impl From<ServerFailure> for EmbedStop {
    fn from(failure: ServerFailure) -> EmbedStop {
        EmbedStop::Server(failure)
    }
}

impl From<Error> for EmbedStop {
    fn from(error: Error) -> EmbedStop {
        EmbedStop::Cache(error)
    }
}

impl OllamaClient {
    /// Describes a failure of this server.
    pub(super) fn failure(&self, error: RequestError) -> ServerFailure {
        let hint = match &error {
            RequestError::Unreachable(_) => "start it with `ollama serve`, or correct `ollama.url`".to_owned(),
            RequestError::TimedOut(_) => {
                "see whether the model fits into memory with `ollama ps`, or raise `ollama.timeout_ms`".to_owned()
            }
            RequestError::Refused { status: 404, .. } => {
                format!("run {}", printed_command("ollama pull MODEL", &[("MODEL", self.model())]))
            }
            RequestError::Refused { .. } => "check the log of Ollama".to_owned(),
            RequestError::Broken(_) => "check that `ollama.url` is the address of an Ollama server, and \
                                        `ollama.model` an embedding model"
                .to_owned(),
        };
        ServerFailure { address: self.url().to_owned(), error, hint }
    }
}

impl QdrantClient {
    /// Describes a failure of this server.
    pub(super) fn failure(&self, error: RequestError) -> ServerFailure {
        let hint = match &error {
            error if error.is_of_other_vectors() => {
                "run `ralph-memory index --rebuild --remote`: its collection is for vectors of another model or version"
            }
            error if error.is_denied() => "correct `qdrant.api_key`",
            RequestError::TimedOut(_) => "check the load of the server, or raise `qdrant.timeout_ms`",
            RequestError::Unreachable(_) => "start the server, or correct `qdrant.url`",
            _ => "check that `qdrant.url` is the address of a Qdrant server, and check its log",
        };
        ServerFailure { address: self.url().to_owned(), error, hint: hint.to_owned() }
    }
}

impl ServerFailure {
    /// Returns the warning that a user sees.
    pub(super) fn problem(&self) -> Problem {
        self.problem_that("words alone count")
    }

    /// Returns the warning with this consequence.
    pub(super) fn problem_that(&self, consequence: &str) -> Problem {
        let message = format!("{}; {consequence}", self.error);
        Problem::warning(self.address.as_str(), "semantic-off", message, self.hint.as_str())
    }
}
