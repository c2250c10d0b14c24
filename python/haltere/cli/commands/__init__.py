"""The commands' arguments, options and help. What a command does stands in the module of `haltere.cli` of its name.

No module here imports at its top what only a run needs, so that help appears at once.
"""
