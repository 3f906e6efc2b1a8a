"""The HTTP API, the sign-in page and the event stream."""
