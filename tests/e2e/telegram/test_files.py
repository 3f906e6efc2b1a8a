"""Files and photos that come with messages."""

from __future__ import annotations

from pathlib import Path

from platforms.telegram.people import JPEG, User
from platforms.telegram.server import TelegramServer
from support.telegram_bot import Bot


async def inbox(bot: Bot, user: User) -> dict[str, bytes]:
    """What lies in the inbox of a direct chat's workspace."""
    folder = Path(bot.service.turns.workspace(await bot.thread(user.id))) / "inbox"
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())} if folder.is_dir() else {}


async def test_document_is_saved_and_named_to_the_agent(bot: Bot, ann: User) -> None:
    await ann.send_document("notes.txt", b"one two", caption="look at this")
    shown = await ann.private.seen("You said: look at this")
    assert "inbox/notes.txt" in shown.text
    assert await inbox(bot, ann) == {"notes.txt": b"one two"}


async def test_photo_is_saved_in_its_largest_size(bot: Bot, ann: User) -> None:
    await ann.send_photo(caption="what is it?")
    await ann.private.seen("inbox/photo.jpg")
    assert await inbox(bot, ann) == {"photo.jpg": JPEG}


async def test_file_without_words_is_a_message_too(bot: Bot, ann: User) -> None:
    await ann.send_document("a.bin", bytes(100))
    await ann.private.seen("inbox/a.bin")
    assert len(await bot.texts(ann.id)) == 2


async def test_album_is_one_message(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    await ann.send_photo(caption="all three", album="a1")
    await ann.send_photo(JPEG + b"2", album="a1")
    await ann.send_document("third.txt", b"3", album="a1")
    shown = await ann.private.seen("You said: all three")
    assert shown.text.count("inbox/") == 3
    assert len(await inbox(bot, ann)) == 3
    assert len(await bot.texts(ann.id)) == 2


async def test_file_that_telegram_does_not_hand_out_is_said_in_one_line(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    telegram.fail_next("getFile", 502)
    await ann.send_document("a.txt", b"x", caption="look")
    await ann.private.seen("a.txt")
    await ann.private.seen("You said: look", since=0)
    assert await inbox(bot, ann) == {}


async def test_file_over_the_download_limit_is_said_in_one_line(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    message = await ann.send_document("ok.txt", b"x")
    await ann.private.seen("inbox/ok.txt")
    payload = message.json()
    payload["document"] = {**payload["document"], "file_name": "film.bin", "file_size": 30 * 1024 * 1024}
    telegram.updates.push("message", {**payload, "message_id": message.id + 1000, "caption": "look"})
    await ann.private.seen("film.bin")
    assert telegram.calls_to("getFile")[1:] == []


async def test_what_is_no_file_is_said_in_one_line(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    message = ann.private.add(sender={"from": ann.json()}, content={"location": {"latitude": 1.0, "longitude": 2.0}})
    ann.private.bot.standing = "member"
    telegram.updates.push("message", message.json())
    await ann.private.seen("location")


async def test_album_in_a_group_is_addressed_by_its_caption(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    telegram.bot.privacy = False
    group = telegram.supergroup("Team", [ann])
    await ann.send_photo(chat=group, caption="@turnback_bot both", album="a1")
    await ann.send_photo(JPEG + b"2", group, album="a1")
    await ann.send_photo(JPEG + b"3", group, album="a2")
    shown = await group.seen("You said: both")
    assert shown.text.count("inbox/") == 2
