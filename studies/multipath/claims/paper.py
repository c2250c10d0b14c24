"""The paper's statements in its order, as claims on the stacks of 2017 and on today's."""

from __future__ import annotations

from . import blocking, losses, numbers, retransmissions, times
from .ground import STACKS

STATEMENTS = (
    retransmissions.median_of_mice,
    retransmissions.outliers_of_mice,
    retransmissions.retransmissions_of_1mb,
    retransmissions.retransmissions_of_elephants,
    retransmissions.retransmissions_alike,
    retransmissions.one_path_for_mice,
    losses.losses_of_mice,
    losses.losses_of_1mb,
    losses.losses_of_elephants,
    losses.steadier_losses,
    times.times_of_mice,
    times.times_of_1mb,
    times.times,
    times.sooner,
    blocking.out_of_order,
    numbers.numbers_of_retransmissions,
    numbers.numbers_of_losses,
    numbers.numbers_of_times,
)
CLAIMS = [one.claim(stack) for stack in STACKS for one in STATEMENTS]
