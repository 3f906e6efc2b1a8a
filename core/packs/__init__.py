"""States of agents, stored once however many steps share them."""

from turnback.core.packs.bundle import Bundle
from turnback.core.packs.log import Damaged, load, opened
from turnback.core.packs.sqlite import SCHEMA, Packs, Stored

__all__ = ["SCHEMA", "Bundle", "Damaged", "Packs", "Stored", "load", "opened"]
