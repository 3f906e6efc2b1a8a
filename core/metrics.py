"""What is counted and measured, in a registry of its own, so that several services live in one process."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from turnback.core.models import CaptureResult

_FAST = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Bounds in seconds: a capture is a millisecond, waiting for a locked file some seconds."""


class Metrics:
    """Every metric, under the name that `/metrics` shows."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self.registry = registry
        self.captures = Counter("turnback_capture_total", "Captures of steps", ["result"], registry=registry)
        self.capture_seconds = Histogram(
            "turnback_capture_seconds", "How long a capture took", buckets=_FAST, registry=registry
        )
        self.rewinds = Counter(
            "turnback_rewind_total", "Restores, undos, redos, forks …", ["action", "outcome"], registry=registry
        )
        self.rewind_seconds = Histogram(
            "turnback_rewind_seconds", "How long going back took", buckets=_FAST, registry=registry
        )
        self.steps = Gauge("turnback_steps", "Steps that are kept", registry=registry)
        self.stored_bytes = Gauge("turnback_stored_bytes", "Bytes that the kept steps use", registry=registry)
        self.turns_running = Gauge("turnback_turns_running", "Turns that run now", registry=registry)
        self.platform_errors = Counter(
            "turnback_platform_errors_total", "Errors of chat platforms", ["surface", "kind"], registry=registry
        )
        self.cleanups = Counter("turnback_cleanup_runs_total", "Clean-ups", ["result"], registry=registry)
        self.cleanup_deleted = Counter(
            "turnback_cleanup_deleted_total", "Steps deleted by the clean-up", registry=registry
        )
        self.cleanup_last_success = Gauge(
            "turnback_cleanup_last_success_timestamp_seconds", "When the clean-up last succeeded", registry=registry
        )
        self.alerts = Counter("turnback_alerts_total", "Operator alerts", ["kind"], registry=registry)
        for result in CaptureResult:
            self.captures.labels(result.value)
