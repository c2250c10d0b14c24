"""Runs of a rig with queue disciplines that are put into its plan: what an agent is told to call (`agent.main`)."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any
from unittest import mock

from haltere.rig import namespaces, run
from haltere.rig.plan import Plan, plan

WORK = "kernel_queues:run_job"


def run_job(job: dict[str, Any], *, wall_clock: bool = False) -> dict[str, Any]:
    """Run a job whose scenario has a field more, `queue`, which takes the place of the bottleneck's queue downwards.

    The result has `qdiscs`: what the kernel says of those at the bottleneck.
    """
    scenario = json.loads(job["scenario"])
    queue = scenario.pop("queue")
    job = {**job, "scenario": json.dumps(scenario)}
    said: list[dict[str, Any]] = []
    before = namespaces.Rig.counts

    def counts(rig: namespaces.Rig) -> Any:
        for place in rig.shaped.values():
            said.extend(asdict(q) for q in place.namespace.netlink.qdiscs() if q.interface == place.index)
        return before(rig)

    def planned(*arguments: Any) -> Plan:
        made = plan(*arguments)
        links = [
            replace(link, down=replace(link.down, queue=queue)) if link.name in ("bottleneck", "link") else link
            for link in made.links
        ]
        return replace(made, links=tuple(links))

    with mock.patch.object(run, "plan", planned), mock.patch.object(namespaces.Rig, "counts", counts):
        result = run.run_job(job, wall_clock=wall_clock)
    for one in said:
        one |= {name: one[name].hex() for name in ("options", "xstats")}
    return result | {"qdiscs": said}
