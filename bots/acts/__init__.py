"""What each command does: one function per command, from what was asked to the reply.

They call the service and put its answers into words; refusals pass through to dispatch.
"""
