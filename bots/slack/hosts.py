"""Slack's own hosts: nobody else is handed the token, or an answer."""

from __future__ import annotations

from urllib.parse import urlsplit

OFFICIAL = "https://slack.com/api/"

_DOMAINS = (".slack.com", ".slack-gov.com", ".slack-edge.com")


def is_slacks(url: str, api_base_url: str | None) -> bool:
    """Whether an address is Slack's, or that of the API that we were told to use."""
    try:
        parts, base = urlsplit(url), urlsplit(api_base_url or OFFICIAL)
        host = (parts.hostname or "").lower()
        if (parts.scheme, host, parts.port) == (base.scheme, (base.hostname or "").lower(), base.port):
            return True
    except ValueError:
        return False
    return parts.scheme == "https" and parts.port in (None, 443) and f".{host}".endswith(_DOMAINS)


def base_of(api_base_url: str | None) -> str:
    """The address as the library takes it, with a slash at its end."""
    base = api_base_url or OFFICIAL
    return base if base.endswith("/") else f"{base}/"
