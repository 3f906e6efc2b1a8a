"""Options that many commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from turnback.config import Loaded, load

Config = Annotated[Path | None, typer.Option("--config", help="Settings file; default: config/turnback.toml.")]
Data = Annotated[Path | None, typer.Option("--data", help="Folder of the data; default: storage.path.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Account = Annotated[str, typer.Option("--account", help="Name of the account; made if need be.")]

ThreadRef = Annotated[str, typer.Argument(metavar="THREAD", help="Id of the chat, or its beginning.")]
StepRef = Annotated[str, typer.Argument(metavar="STEP", help="Beginning of the step's id, or @label.")]


def settings(config: Path | None, data: Path | None, **options: object) -> Loaded:
    """All settings, with the command line's own on top (`web_port=1` is web.port)."""
    flat = {name.replace("_", ".", 1): value for name, value in options.items()}
    return load(config, options={"storage.path": str(data) if data else None, **flat})


def folder(loaded: Loaded) -> Path:
    """The data folder."""
    return Path(loaded.settings.storage.path)
