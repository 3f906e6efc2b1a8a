"""A bot of your own that gains `/replay`, `/fork`, `/undo` and `/redo`: run it with TOKEN in the environment."""

import os
from contextlib import AsyncExitStack

from telegram import Update
from telegram.ext import Application, ApplicationBuilder, CommandHandler, ContextTypes, MessageHandler, filters

from turnback.bots.telegram import handlers, record, recorded
from turnback.core import open_service

opened = AsyncExitStack()


async def start(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
    await update.message.reply_text("Say something, and I count it.")


async def chat(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
    service = context.bot_data["turnback"]
    state = await recorded(service, update) or {"messages": []}  # where this conversation stands
    state["messages"].append({"role": "user", "content": update.message.text})
    answer = f"{(len(state['messages']) + 1) // 2}. {update.message.text}"
    state["messages"].append({"role": "assistant", "content": answer})
    sent = await update.message.reply_text(answer)
    await record(service, update, state, answer=sent)  # from now on people can come back here


async def begin(application: Application) -> None:
    service = application.bot_data["turnback"] = await opened.enter_async_context(open_service("data"))
    application.add_handlers(handlers(service), group=-1)  # before your own, so that they see what is not ours


async def end(application: Application) -> None:
    await opened.aclose()


builder = ApplicationBuilder().token(os.environ["TOKEN"]).base_url(os.getenv("API", "https://api.telegram.org/bot"))
bot = builder.post_init(begin).post_shutdown(end).build()
bot.add_handler(CommandHandler("start", start))
bot.add_handler(MessageHandler(filters.TEXT & ~filters.COMMAND, chat))

if __name__ == "__main__":
    bot.run_polling()
