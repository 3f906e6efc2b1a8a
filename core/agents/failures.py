"""A turn that its agent could not finish, in words for the person who waits for it."""

from __future__ import annotations

from pydantic_ai import exceptions as library

_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (library.ModelAuthenticationError, "it refused the API key"),
    (library.ModelContextWindowExceededError, "the conversation is too long for it"),
    (library.ModelQuotaExceededError, "the provider's quota is used up"),
    (library.ModelRateLimitError, "too many requests, try again in a minute"),
    (library.ModelOverloadedError, "the provider is overloaded, try again in a minute"),
    (library.ModelTimeoutError, "it took too long"),
    (library.ModelRequestTimeout, "it took too long"),
    (library.ModelConnectionError, "no connection to the provider"),
    (library.ContentFilterError, "the provider's content filter stopped it"),
    (library.OutputTokenLimitExceeded, "its answer was cut off by its own limit"),
)


class AgentFailed(Exception):
    """The agent cannot finish this turn; `user_message` is one plain line about it."""

    def __init__(self, user_message: str) -> None:
        super().__init__(user_message)
        self.user_message = user_message


def failed(error: Exception) -> AgentFailed:
    """What the library raised, without a provider's body: that may repeat keys and messages."""
    if isinstance(error, library.ModelNotFoundError):
        return AgentFailed(f"The model did not answer ({error.model_name} is not known to the provider).")
    for kind, why in _KINDS:
        if isinstance(error, kind):
            return AgentFailed(f"The model did not answer ({why}).")
    if isinstance(error, library.ModelHTTPError):
        return AgentFailed(f"The model did not answer (the provider said HTTP {error.status_code}).")
    if isinstance(error, library.UnexpectedModelBehavior):
        return AgentFailed("The model did not answer (it did not give anything that can be used).")
    return AgentFailed("The model did not answer (the request could not be made).")
