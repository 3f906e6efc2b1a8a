"""What an admin may set: `turnback.toml`, the environment, and the page, merged into one `Settings`."""

from turnback.config.live import LiveSettings
from turnback.config.loading import Loaded, SettingsError, load
from turnback.config.sections import Settings

__all__ = ["LiveSettings", "Loaded", "Settings", "SettingsError", "load"]
