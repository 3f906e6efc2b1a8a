"""Where settings come from: command line > environment > page > file > default, and what is said about bad ones.

Everything that is wrong is found in one go, a line each: where it was set, the key, the value (never
a secret) and what is allowed.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource

from turnback.config.keys import HIDDEN, KEYS, nearest
from turnback.config.sections import Settings

DEFAULT_FILE = Path("config/turnback.toml")
PREFIX = "TURNBACK_"

Layer = dict[str, dict[str, Any]]

_SECTIONS_WITH_SECRETS = frozenset(key.section for key in KEYS.values() if key.secret)


class SettingsError(Exception):
    """Settings that cannot be used; `lines` says what is wrong, one line each; `by_key` for the form."""

    def __init__(self, lines: Sequence[str], by_key: Mapping[str, str] | None = None) -> None:
        self.lines = tuple(lines)
        self.by_key = dict(by_key or {})
        super().__init__("\n".join(lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Settings with where each came from. `layers` are (source, values), strongest first."""

    settings: Settings
    file: Path | None
    layers: tuple[tuple[str, Layer], ...] = field(repr=False)

    def value(self, key: str) -> Any:
        """The value of `section.name`."""
        section, name = key.split(".", 1)
        return getattr(getattr(self.settings, section), name)

    def source(self, key: str) -> str:
        """`command line`, `environment`, `page`, `file` or `default`."""
        return _source(self.layers, key) or "default"

    def with_page(self, overrides: Mapping[str, Any]) -> Loaded:
        """The same with other settings of the page. Raises SettingsError."""
        layers = tuple((source, nested(overrides) if source == "page" else layer) for source, layer in self.layers)
        return Loaded(settings=_validate(layers, self.file), file=self.file, layers=layers)


def load(
    file: Path | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    page: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Loaded:
    """Read all settings. `page` and `options` (the command line's own) are by full key.

    Without `file` it is config/turnback.toml, if that exists. Raises SettingsError.
    """
    if file is None and DEFAULT_FILE.is_file():
        file = DEFAULT_FILE
    layers = (
        ("command line", nested({k: v for k, v in (options or {}).items() if v is not None})),
        ("environment", _environment(environment)),
        ("page", nested(page or {})),
        ("file", _file(file) if file else {}),
    )
    return Loaded(settings=_validate(layers, file), file=file, layers=layers)


def variable_of(key: str) -> str:
    """The environment variable that sets a key."""
    return PREFIX + key.replace(".", "__").upper()


def nested(flat: Mapping[str, Any]) -> Layer:
    """`{"web.port": 1}` as `{"web": {"port": 1}}`."""
    layer: Layer = {}
    for key, value in flat.items():
        section, _, name = key.partition(".")
        layer.setdefault(section, {})[name] = value
    return layer


def _environment(environment: Mapping[str, str]) -> Layer:
    """`TURNBACK_SECTION__KEY`; an empty one counts as not set."""
    flat, bad = {}, []
    by_flat_name = {key.replace(".", "_"): key for key in KEYS}
    for variable, text in environment.items():
        if not variable.startswith(PREFIX) or not text.strip():
            continue
        section, separator, name = variable.removeprefix(PREFIX).lower().partition("__")
        if separator:
            key = f"{section}.{name}"
            flat[key] = KEYS[key].read(text) if key in KEYS else text
        elif section in by_flat_name:
            right = by_flat_name[section].replace(".", "__").upper()
            bad.append(f"environment: {variable} has one underscore too few: {PREFIX}{right}")
    if bad:
        raise SettingsError(bad)
    return nested(flat)


def _file(path: Path) -> Layer:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError([f"{path}: there is no such file"]) from None
    except OSError as error:
        raise SettingsError([f"{path}: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise SettingsError([f"{path}: is not UTF-8 text"]) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError([f"{path}: is not TOML: {error}"]) from None
    bad = [
        f"{path}: {name} is not a section; the sections are {', '.join(Settings.model_fields)}"
        for name, value in content.items()
        if name not in Settings.model_fields or not isinstance(value, dict)
    ]
    if bad:
        raise SettingsError(bad)
    return content


def _validate(layers: Sequence[tuple[str, Layer]], file: Path | None) -> Settings:
    lines = [
        _unknown(_place(source, file, f"{section}.{name}"), section, name, value)
        for source, layer in layers
        for section, values in layer.items()
        for name, value in values.items()
        if f"{section}.{name}" not in KEYS
    ]
    if lines:
        raise SettingsError(lines)

    class Layered(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            del init_settings, env_settings, dotenv_settings, file_secret_settings  # ours say what is wrong better
            return tuple(InitSettingsSource(settings_cls, layer) for _, layer in layers)

    try:
        settings = Layered()
    except ValidationError as error:
        # One line per key: a list's bad items are one bad value.
        bad = {f"{e['loc'][0]}.{e['loc'][1]}": _bad(e["loc"], layers, file) for e in error.errors()}
        raise SettingsError(list(bad.values()), {key: f"It must be {KEYS[key].allowed()}." for key in bad}) from None
    if refused := _refused(settings):
        lines = [f"{_place(_source(layers, key) or 'default', file, key)}: {why}" for key, why in refused]
        raise SettingsError(lines, dict(refused))
    return settings


def _place(source: str, file: Path | None, key: str) -> str:
    if source == "environment":
        return f"environment {variable_of(key)}"
    return str(file) if source == "file" else source


def _unknown(place: str, section: str, name: str, value: Any) -> str:
    key = f"{section}.{name}"
    near = nearest(key)
    if near:
        hint = f"did you mean {near}?"
    elif section in Settings.model_fields:
        hint = f"{section} has " + ", ".join(k.name for k in KEYS.values() if k.section == section)
    else:
        hint = f"the sections are {', '.join(Settings.model_fields)}"
    known_harmless = section in Settings.model_fields and section not in _SECTIONS_WITH_SECRETS
    shown = f" = {value!r}" if known_harmless and not (near and KEYS[near].secret) else ""
    return f"{place}: unknown key {key}{shown}; {hint}"


def _bad(loc: tuple[int | str, ...], layers: Sequence[tuple[str, Layer]], file: Path | None) -> str:
    key = KEYS[f"{loc[0]}.{loc[1]}"]
    source = _source(layers, str(key)) or "default"
    value = next(layer[key.section][key.name] for name, layer in layers if name == source)
    shown = HIDDEN if key.secret else repr(key.show(value))
    return f"{_place(source, file, str(key))}: {key} = {shown} is not allowed; it must be {key.allowed()}"


def _refused(settings: Settings) -> list[tuple[str, str]]:
    """Keys that are valid but belong to a feature that this version does not have, or miss another; and why."""
    found = [
        (name, f"{name} is set, but this version has no such feature yet")
        for name, key in KEYS.items()
        if not key.built and _is_set(getattr(getattr(settings, key.section), key.name))
    ]
    if settings.agent.kind == "langgraph":
        allowed = KEYS["agent.kind"].allowed()
        found.append(("agent.kind", f"agent.kind = 'langgraph' is not in this version yet; {allowed} is"))
    if settings.agent.kind == "pydantic-ai" and settings.agent.model is None:
        found.append(("agent.kind", "agent.kind = 'pydantic-ai' needs agent.model, the name of a model"))
    return found


def _is_set(value: Any) -> bool:
    return bool(value.get_secret_value() if isinstance(value, SecretStr) else value)


def _source(layers: Sequence[tuple[str, Layer]], key: str) -> str | None:
    section, name = key.split(".", 1)
    return next((source for source, layer in layers if name in layer.get(section, {})), None)
