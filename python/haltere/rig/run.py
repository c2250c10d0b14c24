"""One run on real Linux: builds the rig, makes the transfers, measures them, takes the rig down."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

from haltere import _core
from haltere.rig import hosts, namespaces, transfers
from haltere.rig.namespaces import Rig
from haltere.rig.plan import Plan, plan

Json = dict[str, Any]


def run_job(job: Json) -> Json:
    """Run a job: `scenario` (JSON text), `seed`, `replication`, and optionally `sample_ns` for time series.

    With `packets` every packet is in the result, and `taps` says which tap is whose.
    """
    what = plan(job["scenario"])
    rig = namespaces.build(what, job["scenario"], job["seed"], job["replication"])
    try:
        with hosts.prepared(rig), _emulator(rig, job) as emulator:
            namespaces.start(rig)
            return _measured(rig, job, emulator)
    finally:
        rig.close()


@contextlib.contextmanager
def _emulator(rig: Rig, job: Json) -> Iterator[Any]:
    if not rig.emulated:
        yield None
        return
    network = json.loads(_core.network(job["scenario"]))
    links = [
        {**link, "ends": [{"netns": e["netns"], "interface": e["interface"]} for e in spec["ends"]]}
        for link, spec in zip(network["links"], rig.emulated, strict=True)
    ]
    spec = {"seed": job["seed"], "replication": job["replication"], "links": links}
    emulator = _core.Emulator(json.dumps(spec))
    emulator.start()
    try:
        yield emulator
    finally:
        emulator.stop()


def _measured(rig: Rig, job: Json, emulator: Any) -> Json:
    what = rig.plan
    spec = _capture_spec(rig) | {"packets": bool(job.get("packets"))}
    capture = _core.Capture(json.dumps(spec))
    phase = _core.clock_phase(job["seed"], job["replication"])
    capture.start()
    try:
        answer = transfers.make(rig, sample_ns=job.get("sample_ns"), phase_ns=phase)
    finally:
        seen = json.loads(capture.stop())
    links = seen["links"] if emulator is None else json.loads(emulator.stop())["links"]
    outcome = result(what, answer, seen, links)
    return outcome | {"taps": spec["flows"], "packets": seen["packets"]} if spec["packets"] else outcome


def result(what: Plan, answer: Json, seen: Json, links: list[Json]) -> Json:
    """Return a RunResult: what the endpoints say, and what was seen on the wire."""
    measured_s = None if what.duration_ns is None else (what.duration_ns - what.measure_from_ns) * 1e-9
    by_number = {flow["flow"]: flow for flow in seen["flows"]}
    flows = [_flow(what, told, by_number[told["flow"]], measured_s) for told in answer["flows"]]
    error = next((f"flow {f['flow']}: {f['error']}" for f in flows if f["error"]), None)
    if seen["lost_records"]:
        error = error or f"the capture lost {seen['lost_records']} records: its counts are too small"
    return {
        "status": "failed" if error else "ok",
        "error": error,
        "virtual_s": answer["virtual_s"],
        "events": None,
        "data_packets": sum(flow["received_data_packets"] for flow in seen["flows"]),
        "flows": flows,
        "links": links,
        "series": answer.get("series") or [],
        "kernel": os.uname().release,
    }


def _flow(what: Plan, told: Json, seen: Json, measured_s: float | None) -> Json:
    flow = what.flows[told["flow"]]
    info = told.get("tcp_info", {}).get("server", {})
    told = _as_seen(told, seen) | {name: value for name, value in told.items() if value is not None}
    seconds = told["completion_s"] or measured_s or None
    size = told["bytes"]
    return {
        "flow": flow.number,
        "contender": flow.contender,
        "pair": flow.pair,
        "start_s": told["start_s"],
        "completion_s": told["completion_s"],
        "handshake_s": told["handshake_s"],
        "first_byte_s": told["first_byte_s"],
        "bytes": size,
        "goodput_bps": 8 * size / seconds if seconds else None,
        "throughput_bps": 8 * seen["wire_bytes"] / seconds if seconds else None,
        "wire_bytes": seen["wire_bytes"],
        "overhead_bytes": max(0, seen["wire_bytes"] - size),
        "sent_packets": seen["sent_packets"],
        "retransmitted_packets": seen["retransmitted_packets"],
        "lost_packets": None,
        "spurious_retransmissions": seen.get("spurious_retransmissions"),
        "timeouts": info.get("total_rto"),
        "min_rtt_s": seen["min_rtt_s"],
        "mean_rtt_s": seen["mean_rtt_s"],
        "status": told["status"],
        "error": told["error"],
    }


def _as_seen(told: Json, seen: Json) -> Json:
    """Return the times of a flow as its packets show them, for programs that do not tell: from the client's first packet.

    What is encrypted cannot be told apart: of QUIC's packets only the times of the first and the last one are known.
    """
    finished = told["status"] == "ok" and told["bytes"] > 0
    return {
        "handshake_s": seen["handshake_s"],
        "first_byte_s": None,
        "completion_s": seen["completion_s"] if finished else None,
        "error": None,
    }


def _capture_spec(rig: Rig) -> Json:
    what = rig.plan
    taps: list[Json] = []

    def tap(interface: namespaces.Interface) -> int:
        entry = {"netns": interface.namespace.path, "interface": interface.name}
        if entry not in taps:
            taps.append(entry)
        return taps.index(entry)

    flows = [
        {
            "flow": flow.number,
            "protocol": "udp" if flow.transport == "quic" else "tcp",
            "server": {
                "tap": tap(_towards(rig, flow.server, flow.client)),
                "address": what.address(flow.server),
                "port": flow.port,
            },
            "client": {
                "tap": tap(_towards(rig, flow.client, flow.server)),
                "address": what.address(flow.client),
                "port": None,
            },
        }
        for flow in what.flows
    ]
    links = []
    for (number, way), places in rig.taps.items():
        link = what.links[number]
        direction = dict(link.directions)[way]
        spec: Json = {"link": link.name, "direction": way, "rate_bps": direction.rate_bps}
        spec["delay_ns"] = 0 if places.departed else direction.delay_ns
        for name, place in (("offered", places.offered), ("departed", places.departed), ("arrived", places.arrived)):
            spec[name] = None if place is None else {"tap": tap(place[0]), "way": place[1]}
        links.append(spec)
    return {"taps": taps, "flows": flows, "links": links, "epoch_ns": None, "pcap": None}


def _towards(rig: Rig, node: int, to: int) -> namespaces.Interface:
    link = next(link for at, target, link in rig.plan.routes if (at, target) == (node, to))
    return rig.ends[link, node]

