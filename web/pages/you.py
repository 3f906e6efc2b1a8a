"""Me: who I am here and elsewhere, the browsers where I am signed in, and how the page looks."""

from __future__ import annotations

from starlette.responses import Response

from turnback.core.errors import InvalidRequest, NotFound
from turnback.core.models import Account
from turnback.core.people import SESSION_DAYS
from turnback.web.auth import session_of
from turnback.web.pages.frame import THEME_COOKIE, THEMES, Page, PageAsked, page_router

router = page_router()

_YEAR = 365 * 86400


@router.get("/you")
async def show(page: PageAsked) -> Response:
    """Who I am, and where I am signed in."""
    people, account = page.web.service.people, await _account(page)
    return page.page(
        "you.html",
        here="you",
        account=account,
        identities=await page.web.service.threads.identities(account.id),
        sessions=await people.sessions(account),
        current=people.digest_of(session_of(page.request.headers) or ""),
        days=SESSION_DAYS,
    )


@router.post("/you/theme")
async def choose_theme(page: PageAsked) -> Response:
    """Light, dark, or as the system is."""
    theme = (await page.form()).get("theme", "")
    answer = page.redirect("/you")
    if theme in THEMES:
        secure = page.web.site.secure or page.request.url.scheme == "https"
        answer.set_cookie(THEME_COOKIE, theme, max_age=_YEAR, path="/", secure=secure, httponly=True, samesite="lax")
    else:
        answer.delete_cookie(THEME_COOKIE, path="/")
    return answer


@router.post("/you/sessions/end")
async def end_session(page: PageAsked) -> Response:
    """Sign a browser of mine out; `others` all but this one."""
    people, account = page.web.service.people, await _account(page)
    which = (await page.form()).get("session", "")
    current = people.digest_of(session_of(page.request.headers) or "")
    mine = {session.digest for session in await people.sessions(account)}
    ended = mine - {current} if which == "others" else mine & {which}
    if not ended and which != "others":
        raise InvalidRequest("That browser is signed out already.")
    for digest in ended:
        await page.web.service.threads.drop_secret(digest)
    return page.redirect("/login" if current in ended else "/you")


async def _account(page: Page) -> Account:
    account = await page.web.service.threads.find_account(page.actor.account)
    if account is None:
        raise NotFound("That account is gone.")
    return account
