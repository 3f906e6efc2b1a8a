"""What Time Travel shows, as values: pure functions from the service's answers, no request, no template."""
