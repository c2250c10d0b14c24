"""Rigs: a scenario on real Linux.

`plan` describes what is built (pure data), `namespaces` builds it, `transfers` and `programs` use it, `run` measures
one run in it, `agent` does so for one job after the other, inside a user-mode Linux in virtual time (`virtual`) or on
this machine (`local`); `executor` shares the jobs of a campaign among agents; `kernel` builds the user-mode Linux.
"""
