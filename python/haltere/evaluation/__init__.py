"""`haltere evaluate`: a new congestion control in the places that RFC 9743 names, beside established ones."""

from __future__ import annotations

from haltere.evaluation.evaluating import Evaluation, evaluate
from haltere.evaluation.judging import Effect, Judged, Judgement
from haltere.evaluation.suites.running import Suited, run_suite

__all__ = ["Effect", "Evaluation", "Judged", "Judgement", "Suited", "evaluate", "run_suite"]
