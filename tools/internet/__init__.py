"""A small Internet of network namespaces in which real traceroutes run.

`plan` says what there is (pure), `periods` plans the two that the fixture is made in, `build` makes namespaces of a
plan, `measure` runs programs in it, `machine` gives it a machine: a user-mode Linux in virtual time, or this one.
`said` reads what scamper's own tool says of its files, `cities` writes the database of places, `make` the fixture.
"""
