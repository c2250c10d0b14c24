"""Shapley values of synthetic games whose values are known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from haltere.explanation.attribution import attributed, effects, interacting, sampled
from haltere.explanation.game import Orders, along, coalitions, draw

CONTRIBUTIONS = np.array([0.3, -0.1, 0.0, 0.5])


def additive(mask: int) -> float:
    return float(sum(value for player, value in enumerate(CONTRIBUTIONS) if mask >> player & 1))


def worths(orders: Orders, worth, noise: np.ndarray | None = None) -> np.ndarray:
    column = np.array([worth(mask) for mask in orders.masks])[:, None]
    return column if noise is None else column + noise


def by_definition(players: int, worth) -> list[float]:
    """Return the Shapley values as the mean over all permutations, which is how they are defined."""
    values = np.zeros(players)
    for order in itertools.permutations(range(players)):
        masks = along(order)
        for player, before, after in zip(order, masks[:-1], masks[1:], strict=True):
            values[player] += worth(after) - worth(before)
    return (values / math.factorial(players)).tolist()


def test_an_additive_game_is_taken_apart():
    orders = Orders.through(4, range(16))
    assert orders.count == 24
    assert (orders.values() @ worths(orders, additive))[:, 0] == pytest.approx(CONTRIBUTIONS, abs=1e-12)


def test_values_are_means_over_all_permutations():
    generator = np.random.default_rng(1)
    table = generator.normal(size=32)
    orders = Orders.through(5, range(32))
    found = orders.values() @ worths(orders, lambda mask: table[mask])
    assert found[:, 0] == pytest.approx(by_definition(5, lambda mask: table[mask]))


def test_an_interaction_is_split_evenly_and_named():
    orders = Orders.through(4, range(16))
    both = lambda mask: additive(mask) + (1.0 if mask & 0b11 == 0b11 else 0.0)  # noqa: E731
    found = (orders.values() @ worths(orders, both))[:, 0]
    assert found == pytest.approx(CONTRIBUTIONS + np.array([0.5, 0.5, 0, 0]), abs=1e-12)
    pairs = {pair: float(weights @ worths(orders, both)[:, 0]) for pair, weights in orders.interactions().items()}
    assert pairs.pop((0, 1)) == pytest.approx(1.0)
    assert list(pairs.values()) == pytest.approx([0.0] * 5, abs=1e-12)


def test_precedence_leaves_the_orders_that_keep_it():
    after = {0: (), 1: (0,), 2: (), 3: (1,)}
    allowed = coalitions(4, after)
    assert 0b0010 not in allowed and 0b0011 in allowed
    orders = Orders.through(4, allowed)
    assert orders.count == 4  # player 2 has four places among the chain of the others
    table = np.random.default_rng(2).normal(size=16)
    values = (orders.values() @ worths(orders, lambda mask: table[mask]))[:, 0]
    assert values.sum() == pytest.approx(table[15] - table[0])
    chain = [order for order in itertools.permutations(range(4)) if order.index(0) < order.index(1) < order.index(3)]
    direct = [np.mean([table[along(o)[o.index(p) + 1]] - table[along(o)[o.index(p)]] for o in chain]) for p in range(4)]
    assert values == pytest.approx(direct)
    assert (0, 1) not in orders.interactions()


def test_a_coalition_that_cannot_be_is_avoided():
    feasible = [mask for mask in range(8) if mask not in (0b001, 0b101)]
    orders = Orders.through(3, feasible)
    assert orders.count == 3
    assert Orders.through(3, [0, 7]).count == 0
    assert Orders.through(3, [0, 1]).count == 0


def test_random_orders_keep_precedence_and_are_equally_likely():
    after = {0: (), 1: (0,), 2: (), 3: (1,)}
    source = draw(4, after, np.random.default_rng(3))
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(4000):
        order = next(source)
        assert order.index(0) < order.index(1) < order.index(3)
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 4
    assert all(900 < count < 1100 for count in seen.values())


def test_a_partial_order_is_sampled_evenly():
    after = {0: (), 1: (), 2: (0, 1), 3: (2,), 4: (2,), 5: ()}
    count = Orders.through(6, coalitions(6, after)).count
    source = draw(6, after, np.random.default_rng(4))
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(200 * count):
        seen[order] = seen.get(order := next(source), 0) + 1
    assert len(seen) == count == 24
    assert all(140 < times < 260 for times in seen.values())


def test_sums_are_the_whole_for_samples_too():
    generator = np.random.default_rng(5)
    table = generator.normal(size=(4096, 6))
    source = draw(12, {}, generator)
    orders = [[next(source) for _ in range(4)] for _ in range(6)]
    worth = {(mask, r): float(table[mask, r]) for mask in range(4096) for r in range(6)}
    found = sampled(12, orders, worth)
    total = np.sum([effect.values for effect in found], axis=0)
    assert total == pytest.approx(table[4095] - table[0])


def test_a_dummy_gets_zero_and_no_p_value():
    orders = Orders.through(4, range(16))
    noise = np.random.default_rng(6).normal(size=(1, 8))
    found = attributed(orders, worths(orders, additive) * (1 + noise))
    assert found[2].nothing
    assert found[2].p is None
    assert found[2].real is False


def simulate(worth, spread: float, replications: int, generator: np.random.Generator, orders: Orders):
    """Return effects where each mixture's noise has a part that is common to all and one of its own."""
    common = generator.normal(0, 3 * spread, size=(1, replications))
    own = generator.normal(0, spread, size=(len(orders.masks), replications))
    return attributed(orders, worths(orders, worth, common + own))


def test_intervals_hold_the_truth_as_often_as_they_say():
    orders = Orders.through(4, range(16))
    generator = np.random.default_rng(7)
    times, held = 2000, 0
    for _ in range(times):
        found = simulate(additive, 0.2, 6, generator, orders)
        held += sum(
            one.interval.low <= truth <= one.interval.high for one, truth in zip(found, CONTRIBUTIONS, strict=True)
        )
    assert 0.94 < held / (4 * times) < 0.96


def test_intervals_of_samples_hold_the_truth():
    generator = np.random.default_rng(8)
    truth = np.linspace(-0.3, 0.3, 12)
    pair = 0.4
    values = truth + np.array([pair / 2, pair / 2] + [0.0] * 10)
    times, held = 300, 0
    for _ in range(times):
        source = draw(12, {}, generator)
        orders = [[next(source) for _ in range(4)] for _ in range(8)]
        worth = {}
        for r, some in enumerate(orders):
            common = generator.normal()
            for mask in {mask for order in some for mask in along(order)}:
                level = sum(truth[player] for player in range(12) if mask >> player & 1)
                level += pair if mask & 0b11 == 0b11 else 0.0
                worth[mask, r] = level + common + generator.normal(0, 0.1)
        found = sampled(12, orders, worth)
        held += sum(one.interval.low <= value <= one.interval.high for one, value in zip(found, values, strict=True))
    assert 0.935 < held / (12 * times) < 0.965


def test_false_alarms_are_no_more_than_they_say():
    orders = Orders.through(4, range(16))
    generator = np.random.default_rng(9)
    times = 2000
    alarms = pairs = 0
    for _ in range(times):
        common = generator.lognormal(0, 0.5, size=(1, 8))
        own = generator.normal(0, 0.1, size=(16, 8))
        alarms += any(one.real for one in attributed(orders, common + own))
        pairs += any(one.real for one in interacting(orders, common + own).values())
    assert alarms / times <= 0.06
    assert pairs / times <= 0.06


def test_one_replication_cannot_tell_and_equal_ones_are_exact():
    (one,) = effects(np.array([[0.2]]))
    assert one.real is None
    same, nothing = effects(np.array([[0.2, 0.2, 0.2], [0.0, 0.0, 0.0]]))
    assert (same.real, same.p, same.interval.exact) == (True, None, True)
    assert (nothing.real, nothing.nothing) == (False, True)
