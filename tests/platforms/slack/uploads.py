"""Files: uploads in three steps, and what the app may fetch.

https://docs.slack.dev/messaging/working-with-files: ask for a URL, send the bytes there, then share the file.
The answer of the last step names no message; files.info does.
"""

from __future__ import annotations

from platforms.core import Json
from platforms.slack.api import Handler, Request
from platforms.slack.channels import Channel, tell
from platforms.slack.refusals import missing, wrong
from platforms.slack.scene import Scene, StoredFile
from platforms.slack.wire import unescaped

LOGIN_PAGE = "<!DOCTYPE html><html><body>Sign in to your workspace</body></html>"


def get_upload_url(request: Request) -> Json:
    request.need_scope("files:write")
    name, size = request.params.needed("filename"), request.params.number("length")
    if not 0 < size <= request.limits.upload_bytes:
        raise wrong("file_upload_size_restricted")
    scene = request.world.scene
    stored = scene.store(name, size, scene.app.user_id, mime="text/plain")
    return {"upload_url": scene.url("files", f"/upload/v1/{stored.id}"), "file_id": stored.id}


def complete_upload(request: Request) -> Json:
    request.need_scope("files:write")
    scene = request.world.scene
    items = request.params.json("files") or []
    files = [_uploaded(scene, str(item.get("id"))) for item in items]
    if not files:
        raise wrong("invalid_arguments", "[ERROR] missing required field: files")
    if request.params.text("channel_id"):
        _share(request, request.channel("channel_id", write=True), files)
    for stored in files:
        stored.shared = True
    return {"files": [scene.file_json(stored) for stored in files]}


def files_info(request: Request) -> Json:
    request.need_scope("files:read")
    scene = request.world.scene
    stored = scene.files.get(request.params.needed("file"))
    if stored is None:
        raise wrong("file_not_found")
    shares: Json = {}
    for channel_id, messages in stored.shares.items():
        kind = "public" if request.world.channels[channel_id].kind == "channel" else "private"
        shares.setdefault(kind, {})[channel_id] = messages
    return {"file": {**scene.file_json(stored), "shares": shares}}


def take_upload(scene: Scene, file_id: str, data: bytes) -> str:
    """The bytes of the second step; answers what is wrong with them."""
    stored = scene.files.get(file_id)
    if stored is None or stored.data is not None:
        return "the URL was never given out, or used"
    if len(data) != stored.size:
        return f"{len(data)} bytes, where {stored.size} were announced"
    stored.data = data
    return ""


def find_readable(scene: Scene, file_id: str, channels: dict[str, Channel]) -> StoredFile | None:
    """The file, if the bot is where it was shared."""
    stored = scene.files.get(file_id)
    if stored is None or stored.data is None:
        return None
    return stored if any(channels[channel_id].bot_in for channel_id in stored.shares) else None


def _uploaded(scene: Scene, file_id: str) -> StoredFile:
    stored = scene.files.get(file_id)
    if stored is None or stored.data is None or stored.shared:
        raise wrong("file_not_found")
    return stored


def _share(request: Request, channel: Channel, files: list[StoredFile]) -> None:
    scene, comment = request.world.scene, request.params.text("initial_comment")
    request.violations.extend(unescaped(comment))
    thread = request.thread(channel)
    if scene.app.user_id not in {stored.user for stored in files}:
        raise missing("file_not_found")
    raw: Json = {**scene.app.author(), "subtype": "file_share", "text": comment}
    raw["files"] = [scene.file_json(stored) for stored in files]
    if thread:
        raw["thread_ts"] = thread
    message = channel.add(raw, from_bot=True, data=files[0].data)
    for stored in files:
        share = {"ts": message.ts} | ({"thread_ts": thread} if thread else {})
        stored.shares.setdefault(channel.id, []).append(share)
    tell(message)


METHODS: dict[str, Handler] = {
    "files.completeUploadExternal": complete_upload,
    "files.getUploadURLExternal": get_upload_url,
    "files.info": files_info,
}
