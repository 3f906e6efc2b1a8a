"""The simulated server, and the real library talking to it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from platforms.telegram.server import TelegramServer
from telegram import Bot, Update
from telegram.ext import Application, ApplicationBuilder, CallbackQueryHandler, MessageHandler, filters
from telegram.request import HTTPXRequest

AnyApplication = Application[Any, Any, Any, Any, Any, Any]


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server


@pytest.fixture
async def bot(telegram: TelegramServer) -> AsyncIterator[Bot]:
    """The library's client, with nobody polling."""
    async with Bot(telegram.token, base_url=telegram.base_url, base_file_url=telegram.base_file_url) as client:
        yield client


@pytest.fixture
async def echo(telegram: TelegramServer) -> AsyncIterator[AnyApplication]:
    """A polling bot that repeats what it is told, with a button."""
    async with polling(telegram) as application:
        yield application


@contextlib.asynccontextmanager
async def polling(telegram: TelegramServer) -> AsyncIterator[AnyApplication]:
    application = echo_application(telegram)
    assert application.updater is not None
    async with application:
        await application.start()
        await application.updater.start_polling(timeout=10, allowed_updates=Update.ALL_TYPES)
        try:
            yield application
        finally:
            await application.updater.stop()
            await application.stop()


def echo_application(telegram: TelegramServer) -> AnyApplication:
    builder = ApplicationBuilder().base_url(telegram.base_url).base_file_url(telegram.base_file_url)
    application = builder.token(telegram.token).request(HTTPXRequest(connect_timeout=2)).build()
    application.add_handler(CallbackQueryHandler(_pressed))
    application.add_handler(MessageHandler(~filters.StatusUpdate.ALL, _repeat))
    return application


async def _repeat(update: Update, _: Any) -> None:
    message = update.effective_message
    assert message is not None
    who = message.sender_chat.title if message.sender_chat else message.from_user and message.from_user.first_name
    changed = " (edited)" if message.edit_date else ""
    markup = {"inline_keyboard": [[{"text": "Next", "callback_data": "next"}]]}
    topic = message.message_thread_id if message.is_topic_message else None
    await message.get_bot().send_message(
        message.chat_id,
        f"{who}: {message.text or message.caption or 'something'}{changed}",
        api_kwargs={"reply_markup": markup},
        message_thread_id=topic,
    )


async def _pressed(update: Update, _: Any) -> None:
    assert update.callback_query is not None
    await update.callback_query.answer("turned")
    await update.callback_query.edit_message_text("page 2")
