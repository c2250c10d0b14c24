"""Shapley values of a game in which not every coalition can be formed: pure mathematics, no transports.

The players are numbered from 0, a coalition is the integer whose bits are its players. An *order* forms the coalition
of all from the empty one, a player at a time. The value of a player is its mean marginal contribution over all orders
in which every coalition on the way can be formed. If all can, this is the Shapley value (L. S. Shapley, Contributions
to the Theory of Games II, 1953); with precedence constraints it is that of U. Faigle and W. Kern (Int. J. Game Theory
21, 1992). In either case the values sum to the difference between the coalition of all and the empty one, and a player
that never contributes gets zero.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float64]


def coalitions(players: int, after: Mapping[int, Collection[int]]) -> list[int]:
    """Return the coalitions that precedence allows, smaller ones first.

    Args:
        players: how many there are.
        after: for a player, those that must be in before it.
    """
    needs = [sum(1 << other for other in after.get(player, ())) for player in range(players)]
    level, found = {0}, [0]
    for _ in range(players):
        level = {
            one | 1 << player
            for one in level
            for player in range(players)
            if not one >> player & 1 and needs[player] & one == needs[player]
        }
        found += sorted(level)
    return found


@dataclass(frozen=True)
class Orders:
    """The orders through coalitions that can be formed.

    Attributes:
        players: how many there are.
        masks: the coalitions that lie on at least one order, smaller ones first.
        count: how many orders there are.
    """

    players: int
    masks: tuple[int, ...]
    count: int
    up: Mapping[int, int]
    down: Mapping[int, int]

    @classmethod
    def through(cls, players: int, feasible: Collection[int]) -> Orders:
        """Return the orders that pass through `feasible` coalitions alone; `count` is 0 if there is none."""
        everyone = (1 << players) - 1
        known = sorted(set(feasible), key=int.bit_count)
        up = dict.fromkeys(known, 0)
        down = dict.fromkeys(known, 0)
        if 0 not in up or everyone not in up:
            return cls(players, (), 0, {}, {})
        up[0], down[everyone] = 1, 1
        for mask in known[1:]:
            up[mask] = sum(up.get(mask & ~(1 << i), 0) for i in range(players) if mask >> i & 1)
        for mask in reversed(known[:-1]):
            down[mask] = sum(down.get(mask | 1 << i, 0) for i in range(players) if not mask >> i & 1)
        masks = tuple(mask for mask in known if up[mask] and down[mask])
        return cls(players, masks, up[everyone] if masks else 0, up, down)

    def values(self) -> Weights:
        """Return the matrix that turns the worths of `masks` into the values of the players.

        Row i, column c: the weight of coalition `masks[c]` in the value of player i.
        """
        place = {mask: column for column, mask in enumerate(self.masks)}
        weights = np.zeros((self.players, len(self.masks)))
        for mask, column in place.items():
            for player in range(self.players):
                with_it = mask | 1 << player
                if with_it != mask and with_it in place:
                    share = self.up[mask] * self.down[with_it] / self.count
                    weights[player, place[with_it]] += share
                    weights[player, column] -= share
        return weights

    def interactions(self) -> dict[tuple[int, int], Weights]:
        """Return, for each pair that can be seen apart, the weights of `masks` in its interaction index.

        The index is by how much the contribution of one player grows if the other is in, averaged as the values are (M.
        Grabisch, M. Roubens, Int. J. Game Theory 28, 1999). A pair has none if one of them always needs the other.
        """
        place = {mask: column for column, mask in enumerate(self.masks)}
        found = {}
        for one, other in combinations(range(self.players), 2):
            bits = (1 << one, 1 << other)
            weights, total = np.zeros(len(self.masks)), 0
            for mask in self.masks:
                corners = (mask, mask | bits[0], mask | bits[1], mask | bits[0] | bits[1])
                if len(set(corners)) < 4 or any(corner not in place for corner in corners):
                    continue
                share = self.up[mask] * self.down[corners[3]]
                total += share
                for corner, sign in zip(corners, (1.0, -1.0, -1.0, 1.0), strict=True):
                    weights[place[corner]] += sign * share
            if total:
                found[one, other] = weights / total
        return found


def draw(
    players: int, after: Mapping[int, Collection[int]], generator: np.random.Generator
) -> Iterator[tuple[int, ...]]:
    """Yield random orders without end, all that precedence allows being equally likely, each followed by its mirror.

    The mirror is the same order backwards; it is left out where precedence does not allow it.
    """
    tied = sorted({player for player, before in after.items() if before} | {p for b in after.values() for p in b})
    free = [player for player in range(players) if player not in tied]
    needs = {player: frozenset(after.get(player, ())) for player in tied}

    @cache
    def ways(done: frozenset[int]) -> int:
        """Count the orders in which the tied players that are not `done` can follow."""
        ready = [player for player in tied if player not in done and needs[player] <= done]
        return sum(ways(done | {player}) for player in ready) if ready else 1

    while True:
        done: frozenset[int] = frozenset()
        chain: list[int] = []
        while len(chain) < len(tied):
            ready = [player for player in tied if player not in done and needs[player] <= done]
            chances = np.array([ways(done | {player}) for player in ready], dtype=np.float64)
            chain.append(ready[int(generator.choice(len(ready), p=chances / chances.sum()))])
            done |= {chain[-1]}
        places = set(generator.permutation(players)[: len(tied)].tolist())
        others = iter(generator.permutation(free).tolist() if free else [])
        chained = iter(chain)
        order = tuple(next(chained) if place in places else next(others) for place in range(players))
        yield order
        if not tied:
            yield order[::-1]


def along(order: Sequence[int]) -> list[int]:
    """Return the coalitions that an order passes, from the empty one to that of all."""
    masks = [0]
    for player in order:
        masks.append(masks[-1] | 1 << player)
    return masks
