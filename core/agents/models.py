"""The model that an admin names: by the library's `provider:name`, or any OpenAI-compatible server.

Beside `builtin`, which the demo's scripted model needs as well: a provider's library takes long to load.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class
from pydantic_ai.providers.openai import OpenAIProvider

from turnback.core.agents.builtin import PydanticAgent
from turnback.core.agents.options import AgentOptions

_OPENAI = "openai:"
_NO_KEY = "none"


def build(options: AgentOptions) -> PydanticAgent:
    """The agent of `agent.kind = "pydantic-ai"`; raises ValueError for a model that cannot be used."""
    return PydanticAgent(model_for(options), options)


def model_for(options: AgentOptions) -> Model:
    """The model; raises ValueError with one line about the setting that is wrong.

    A name without a provider is OpenAI's. With `base_url` the name is what that server calls it
    (`llama3:8b`), and no key is needed. Short troubles of a provider are retried by its own client.
    """
    name = options.model
    if not name:
        raise ValueError("agent.model: give the model's name, such as openai:gpt-5 (with agent.base_url: any name)")
    try:
        if options.base_url:
            provider = OpenAIProvider(base_url=options.base_url, api_key=options.api_key or _NO_KEY)
            return OpenAIChatModel(name.removeprefix(_OPENAI), provider=provider)
        if ":" not in name or name.startswith(_OPENAI):
            return OpenAIChatModel(name.removeprefix(_OPENAI), provider=OpenAIProvider(api_key=options.api_key))
        return infer_model(name, lambda provider_name: _provider(provider_name, options.api_key))
    except (UserError, ImportError, ValueError) as error:
        line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ValueError(f"agent.model: {name} cannot be used: {line}") from error


def _provider(name: str, api_key: str | None) -> Provider[Any]:
    if api_key is None:
        return infer_provider(name)
    kind: Any = infer_provider_class(name)
    return kind(api_key=api_key)  # type: ignore[no-any-return]
