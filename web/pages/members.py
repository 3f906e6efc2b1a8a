"""Accounts, who they are elsewhere, and the tokens of programs, for admins."""

from __future__ import annotations

from starlette.responses import Response

from turnback.core.directory import LONGEST_NAME, Known
from turnback.core.errors import InvalidRequest
from turnback.core.people import LOCAL, OPERATOR
from turnback.web.pages.frame import Page, PageAskedByAdmin, page_router

router = page_router()

LISTED = 200
"""Accounts that a page names; a search finds the others."""


@router.get("/settings/accounts")
async def accounts(page: PageAskedByAdmin, q: str = "", done: str = "") -> Response:
    """Everybody, or those whose name or identity has `q` in it; `done` is the account that was just changed."""
    everybody = await page.web.service.directory.everybody(page.actor)
    found = [known for known in everybody if q.casefold() in _text_of(known)]
    return page.page(
        "accounts.html",
        here="settings",
        at="accounts",
        known=found[:LISTED],
        found=len(found),
        total=len(everybody),
        query=q[:LONGEST_NAME],
        changed=next((known.account for known in everybody if known.account.id == done), None),
        operator=OPERATOR,
    )


@router.post("/settings/accounts/admin")
async def set_admin(page: PageAskedByAdmin) -> Response:
    """Make somebody an admin, or one no longer."""
    form = await page.form()
    account = await page.web.service.directory.set_admin(
        page.actor, form.get("account", ""), form.get("admin") == "yes"
    )
    return page.redirect(f"/settings/accounts?done={account.id}")


@router.get("/settings/tokens")
async def tokens(page: PageAskedByAdmin, revoked: str = "") -> Response:
    """The tokens that are valid."""
    return await _tokens(page, revoked=bool(revoked))


@router.post("/settings/tokens")
async def issue(page: PageAskedByAdmin) -> Response:
    """Make a token. This answer is the only place where it can ever be read."""
    form = await page.form()
    account, label = form.get("account", ""), form.get("label", "")
    try:
        token = await page.web.service.directory.issue_token(page.actor, account, label)
    except InvalidRequest as refusal:
        return await _tokens(page, refusal.status, account=account, label=label, problem=refusal.detail)
    return await _tokens(page, made=token, account=" ".join(account.split()), label=" ".join(label.split()))


@router.post("/settings/tokens/revoke")
async def revoke(page: PageAskedByAdmin) -> Response:
    """Drop a token."""
    await page.web.service.directory.revoke_token(page.actor, (await page.form()).get("token", ""))
    return page.redirect("/settings/tokens?revoked=1")


async def _tokens(
    page: Page,
    status: int = 200,
    *,
    made: str | None = None,
    account: str = "",
    label: str = "",
    problem: str | None = None,
    revoked: bool = False,
) -> Response:
    everybody = await page.web.service.directory.everybody(page.actor)
    return page.page(
        "tokens.html",
        status,
        here="settings",
        at="tokens",
        tokens=await page.web.service.directory.tokens(page.actor),
        names=[known.account.name for known in everybody][:LISTED],
        made=made,
        account=account,
        label=label,
        local=LOCAL,
        problem=problem,
        revoked=revoked,
        longest=LONGEST_NAME,
    )


def _text_of(known: Known) -> str:
    """All that a search looks at."""
    elsewhere = (f"{one.surface.value}:{one.user_key} {one.name}" for one in known.identities)
    return " ".join((known.account.name, *elsewhere)).casefold()
