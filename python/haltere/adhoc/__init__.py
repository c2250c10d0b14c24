"""Runs without a study file: `run` and `trace` a scenario, `compare` contenders, `validate` a model beside a kernel."""
