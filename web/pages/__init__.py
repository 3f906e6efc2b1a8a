"""The pages: server-rendered HTML with real addresses, working without a script where that is possible.

`frame` is what all pages share. Each other module is one page or a few that belong together: it asks the
service, makes plain values of the answers, and renders a template of the same name.
"""
