"""The chat layer: one grammar, one dispatch, one adapter per platform."""
