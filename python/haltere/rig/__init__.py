"""Rigs: a scenario on real Linux.

`plan` says what is built (pure data), `namespaces` builds it, `run` makes and measures one run in it, `agent` does so for
one job after the other, inside a user-mode Linux in virtual time (`virtual`) or on this machine (`local`).
"""
