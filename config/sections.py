"""The settings: one frozen model per section, with every key there is, its default and its limits.

The models only say what is valid. Where values come from, and what is said about bad ones, is in
`loading`; what a key means for people is its `description`, shown on the page and in `check`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, StringConstraints
from pydantic_settings import BaseSettings, SettingsConfigDict

MAX_WHOLE = 2**53 - 1
"""The largest whole number that survives every JSON reader."""

Count = Annotated[int, Field(ge=1, le=MAX_WHOLE)]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Url = Annotated[Text, StringConstraints(pattern=r"^https?://[^\s/]+"), AfterValidator(lambda url: url.rstrip("/"))]
Allowed = Annotated[
    str,
    StringConstraints(pattern=r"^(telegram:(\*|-?\d+)|discord:(\*|\d+|guild:(\*|\d+))|slack:(\*|[A-Za-z0-9]+))$"),
]
AgentKind = Annotated[str, StringConstraints(pattern=r"^(demo|pydantic-ai|langgraph|[A-Za-z_][\w.]*:[A-Za-z_][\w.]*)$")]


class Section(BaseModel):
    """What all sections share: nothing unknown, nothing converted silently, nothing changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=False)


class TimeTravel(Section):
    """`time_travel`: saving steps, and how many are kept."""

    enabled: bool = Field(True, description="Save a step after each iteration of a turn.")
    max_snapshots: Count = Field(50, description="Newest steps kept per chat.")
    max_global_snapshots: Count = Field(2000, description="Newest steps kept in all.")
    max_snapshot_bytes: Count = Field(2_097_152, description="Larger states are saved with their longest texts cut.")
    max_thread_bytes: Count = Field(33_554_432, description="Bytes that the saved steps of one chat may take.")
    max_total_bytes: Count = Field(536_870_912, description="Bytes that all saved steps may take.")
    max_per_turn: Count = Field(30, description="Steps kept of one turn.")
    auto_maintain: bool = Field(True, description="Delete steps older than retention_days once a day.")
    retention_days: Annotated[int, Field(ge=1, le=3650)] = Field(30, description="Days that a saved step is kept.")
    on_restore: Literal["keep", "discard"] = Field(
        "keep", description="What happens to later steps after a restore: set aside, or deleted (asks first)."
    )
    lessons: Literal["offer", "auto", "off"] = Field(
        "offer", description="Tell the agent what was tried on a branch that ended badly: on a press, always, never."
    )


class Storage(Section):
    """`storage`: where the data lies."""

    path: Text = Field("data", description="Folder of the SQLite files.")
    url: SecretStr | None = Field(None, description="postgresql://… instead of SQLite files.")
    durability: Literal["normal", "full"] = Field("normal", description="full syncs every commit to the disk.")


class Agent(Section):
    """`agent`: who answers."""

    kind: AgentKind = Field("demo", description="demo, pydantic-ai, langgraph, or module:attribute for your own.")
    model: Text | None = Field(None, description="Name of the model, as the agent's library knows it.")
    base_url: Url | None = Field(None, description="An OpenAI-compatible server to ask instead.")
    api_key: SecretStr | None = Field(None, description="Key for the model's server.")
    system_prompt: str | None = Field(None, description="What the agent is told before every conversation.")
    permission_mode: Literal["confirm_all", "confirm_safes", "auto_approve"] = Field(
        "confirm_safes", description="Which tools ask first: all, those that reach outside the workspace, none."
    )
    approval_timeout: Annotated[float, Field(gt=0, le=86400 * 30)] = Field(
        600, description="Seconds after which an approval that nobody gave counts as denied."
    )
    max_context_tokens: Count | None = Field(None, description="Longer conversations are compacted.")
    shell: Literal["off", "confined", "unconfined"] = Field(
        "off", description="The run_command tool: none, in a bubblewrap sandbox, or with all your rights."
    )


class Telegram(Section):
    """`telegram`."""

    token: SecretStr | None = Field(None, description="The bot's token; none: Telegram is off.")
    api_base_url: Url | None = Field(None, description="A Bot API server of your own; the token is appended.")
    webhook_url: Url | None = Field(None, description="Public address of /hooks/telegram; none: polling.")
    webhook_secret: SecretStr | None = Field(None, description="Secret that Telegram sends with each update.")


class Discord(Section):
    """`discord`."""

    token: SecretStr | None = Field(None, description="The bot's token; none: Discord is off.")
    proxy: Text | None = Field(None, description="HTTP proxy; none: HTTPS_PROXY.")


class Slack(Section):
    """`slack`."""

    bot_token: SecretStr | None = Field(None, description="xoxb-…; none: Slack is off.")
    app_token: SecretStr | None = Field(None, description="xapp-…, for Socket Mode.")
    signing_secret: SecretStr | None = Field(None, description="For /hooks/slack, without Socket Mode.")
    api_base_url: Url | None = Field(None, description="Another Slack API, such as GovSlack.")


class Web(Section):
    """`web`: the HTTP API and the page."""

    host: Text = Field("127.0.0.1", description="Address to listen on.")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(8765, description="Port to listen on; 0: a free one.")
    public_url: Url | None = Field(None, description="Address under which people reach it, for links.")


class Access(Section):
    """`access`: who may use the bot, and do what in a group."""

    admins: list[Text] = Field([], description="Admins: platform:user-id, or the name of an account.")
    allow: list[Allowed] = Field([], description="Platform users that may use the bot; empty: nobody but admins.")
    group_policy: Literal["admins", "starter", "anyone"] = Field(
        "admins", description="Who may go back in a group's chat."
    )
    approvers: Literal["owner", "admins", "anyone"] = Field("owner", description="Who may approve a tool call.")


class Workspace(Section):
    """`workspace`: the agent's files."""

    enabled: bool = Field(True, description="Snapshot the files of each chat.")
    root: Text | None = Field(None, description="Folder of the workspaces; none: workspaces in storage.path.")
    max_file_bytes: Count = Field(10_485_760, description="Larger files are not snapshotted.")
    max_store_bytes: Count = Field(268_435_456, description="Bytes that the snapshots of one chat may take.")


class Chat(Section):
    """`chat`."""

    after_restore: Literal["keep", "delete"] = Field("keep", description="The bot's own later messages: left, deleted.")


class Settings(BaseSettings):
    """All of them. Made by `loading`, which hands in the layers."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True)

    time_travel: TimeTravel = TimeTravel()
    storage: Storage = Storage()
    agent: Agent = Agent()
    telegram: Telegram = Telegram()
    discord: Discord = Discord()
    slack: Slack = Slack()
    web: Web = Web()
    access: Access = Access()
    workspace: Workspace = Workspace()
    chat: Chat = Chat()
