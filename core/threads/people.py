"""Accounts, the platform users that are tied to them, and their secrets' digests.

All functions run inside the caller's transaction.
"""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Any

from turnback.core.models import Account, AccountId, Identity, Surface
from turnback.core.text import well_formed
from turnback.core.threads.accounts import NameTaken, Secret
from turnback.core.threads.values import (
    account_of,
    identity_of,
    maybe_micros,
    maybe_when,
    micros,
    when,
)

ACCOUNT = "id, name, admin, named, created_at"
IDENTITY = "surface, user_key, account, name"
SECRET = "digest, kind, account, label, created_at, expires_at, used_at"  # noqa: S105 - column names


def create_account(db: sqlite3.Connection, account_id: AccountId, name: str, at: datetime, *, admin: bool) -> Account:
    name = well_formed(name)
    if find_account_named(db, name) is not None:
        raise NameTaken(name)
    made = db.execute(
        f"INSERT INTO account (id, name, folded, admin, created_at) VALUES (?, ?, ?, ?, ?) RETURNING {ACCOUNT}",
        (account_id, name, name.casefold(), admin, micros(at)),
    )
    return account_of(made.fetchone())


def find_account(db: sqlite3.Connection, account_id: AccountId) -> Account | None:
    row = db.execute(f"SELECT {ACCOUNT} FROM account WHERE id = ?", (account_id,)).fetchone()
    return None if row is None else account_of(row)


def find_account_named(db: sqlite3.Connection, name: str) -> Account | None:
    row = db.execute(f"SELECT {ACCOUNT} FROM account WHERE folded = ?", (well_formed(name).casefold(),)).fetchone()
    return None if row is None else account_of(row)


def accounts(db: sqlite3.Connection) -> list[Account]:
    return [account_of(row) for row in db.execute(f"SELECT {ACCOUNT} FROM account ORDER BY created_at, folded")]


def set_admin(db: sqlite3.Connection, account_id: AccountId, admin: bool) -> None:
    db.execute("UPDATE account SET admin = ? WHERE id = ?", (admin, account_id))


def set_named(db: sqlite3.Connection, account_id: AccountId, named: bool) -> None:
    db.execute("UPDATE account SET named = ? WHERE id = ?", (named, account_id))


def admins(db: sqlite3.Connection, surface: Surface) -> list[str]:
    found = db.execute(
        "SELECT i.user_key FROM identity i JOIN account a ON a.id = i.account "
        "WHERE i.surface = ? AND (a.admin OR a.named) ORDER BY i.user_key",
        (surface,),
    )
    return [user_key for (user_key,) in found]


def merge_accounts(db: sqlite3.Connection, kept: AccountId, gone: AccountId) -> None:
    for right in ("admin", "named"):
        db.execute(
            f"UPDATE account SET {right} = 1 WHERE id = ? AND (SELECT {right} FROM account WHERE id = ?)", (kept, gone)
        )
    db.execute("UPDATE thread SET owner = ? WHERE owner = ?", (kept, gone))
    db.execute("UPDATE OR IGNORE participant SET account = ? WHERE account = ?", (kept, gone))
    db.execute("DELETE FROM participant WHERE account = ?", (gone,))
    db.execute("UPDATE binding SET account = ? WHERE account = ?", (kept, gone))
    db.execute("UPDATE identity SET account = ? WHERE account = ?", (kept, gone))
    db.execute("UPDATE secret SET account = ? WHERE account = ?", (kept, gone))
    db.execute("UPDATE waiting SET account = ? WHERE account = ?", (kept, gone))
    db.execute("DELETE FROM account WHERE id = ?", (gone,))


def find_identity(db: sqlite3.Connection, surface: Surface, user_key: str) -> Identity | None:
    row = db.execute(
        f"SELECT {IDENTITY} FROM identity WHERE surface = ? AND user_key = ?", (surface, user_key)
    ).fetchone()
    return None if row is None else identity_of(row)


def identities(db: sqlite3.Connection, account_id: AccountId | None) -> list[Identity]:
    where, given = ("", ()) if account_id is None else ("WHERE account = ?", (account_id,))
    found = db.execute(f"SELECT {IDENTITY} FROM identity {where} ORDER BY surface, user_key", given)
    return [identity_of(row) for row in found]


def add_identity(db: sqlite3.Connection, identity: Identity) -> None:
    """A platform user who was somebody else's becomes this account's."""
    db.execute(
        f"INSERT OR REPLACE INTO identity ({IDENTITY}) VALUES (?, ?, ?, ?)",
        (identity.surface, identity.user_key, identity.account, well_formed(identity.name)),
    )


def add_secret(db: sqlite3.Connection, secret: Secret) -> None:
    db.execute(
        f"INSERT INTO secret ({SECRET}) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            secret.digest,
            secret.kind,
            secret.account,
            well_formed(secret.label),
            micros(secret.created_at),
            maybe_micros(secret.expires_at),
            maybe_micros(secret.used_at),
        ),
    )


def find_secret(db: sqlite3.Connection, digest: str) -> Secret | None:
    row = db.execute(f"SELECT {SECRET} FROM secret WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else _secret_of(row)


def use_secret(db: sqlite3.Connection, digest: str, at: datetime) -> bool:
    used = db.execute("UPDATE secret SET used_at = ? WHERE digest = ? AND used_at IS NULL", (micros(at), digest))
    return used.rowcount == 1


def drop_secret(db: sqlite3.Connection, digest: str) -> bool:
    return db.execute("DELETE FROM secret WHERE digest = ?", (digest,)).rowcount == 1


def secrets(db: sqlite3.Connection, account: AccountId | None) -> list[Secret]:
    where, given = ("", ()) if account is None else ("WHERE account = ?", (account,))
    return [_secret_of(row) for row in db.execute(f"SELECT {SECRET} FROM secret {where} ORDER BY created_at", given)]


def _secret_of(row: tuple[Any, ...]) -> Secret:
    digest, kind, account, label, created_at, expires_at, used_at = row
    return Secret(
        digest=digest,
        kind=kind,
        account=account,
        label=label,
        created_at=when(created_at),
        expires_at=maybe_when(expires_at),
        used_at=maybe_when(used_at),
    )
