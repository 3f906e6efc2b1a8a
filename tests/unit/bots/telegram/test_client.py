"""What Telegram tells, before the library reads it."""

from __future__ import annotations

from turnback.bots.telegram.client import readable


def test_form_that_is_no_button_is_left_out_at_any_depth() -> None:
    buttons = {"inline_keyboard": [[{"text": "Fork", "callback_data": "f"}]]}
    asked = {"message_id": 1, "reply_markup": {"force_reply": True}}
    told = [{"update_id": 1, "message": {"reply_to_message": asked, "reply_markup": buttons}}]
    assert readable(told) == [
        {"update_id": 1, "message": {"reply_to_message": {"message_id": 1}, "reply_markup": buttons}}
    ]
