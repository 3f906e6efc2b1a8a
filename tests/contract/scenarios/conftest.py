"""Scenarios live beside the tests that run them: their assertions say what they saw, too."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("contract.scenarios")
