"""`turnback`: every command, and how one ends: 0, 1 with a line on stderr, or 2 for bad usage."""

from __future__ import annotations

import logging
import sqlite3
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from turnback import __version__
from turnback.cli import accounts, bench, chat, check, cleanup, data, rewinding, serve, steps
from turnback.cli.logs import configure_logs
from turnback.cli.output import Failed, note
from turnback.config import SettingsError
from turnback.core.errors import Refusal
from turnback.core.folder import FolderBusy
from turnback.core.sqlite import NewerSchema

app = typer.Typer(
    name="turnback",
    help="Time travel for chat agents: list, restore, compare and fork every step of a conversation.",
    add_completion=False,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command()(serve.demo)
app.command()(serve.serve)
app.command()(check.check)
app.command()(chat.chat)
app.command()(accounts.login)
app.command()(accounts.token)
app.add_typer(steps.app, name="steps")
for rewinding_command in (
    rewinding.restore,
    rewinding.undo,
    rewinding.redo,
    rewinding.reset,
    rewinding.fork,
    rewinding.compare,
    rewinding.label,
    rewinding.clear,
    rewinding.delete,
):
    app.command()(rewinding_command)
app.command()(cleanup.cleanup)
app.command()(data.backup)
app.command("restore-backup")(data.restore_backup)
app.command("import")(data.import_)
app.command()(bench.bench)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"turnback {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Without a command there is nothing to do; typer says so."""


def main() -> None:
    """Run a command and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command; answers its exit code. Whatever people can cause is one line, not a traceback."""
    configure_logs(level=logging.WARNING)
    try:
        code = app(arguments, prog_name="turnback", standalone_mode=False)
    except (SettingsError, Failed, FolderBusy, Refusal) as error:
        for line in str(error).splitlines():
            note(line)
        return 1
    except NewerSchema as error:
        note(f"the data was written by a newer Turnback ({error}); update this one")
        return 1
    except (sqlite3.Error, OSError) as error:
        note(f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error))
        return 1
    except (KeyboardInterrupt, typer.Abort):
        return 1
    except TyperException as error:
        note(error.format_message())
        return error.exit_code
    return code if isinstance(code, int) else 0
