"""The metrics a figure or a table can show: its column in the results, its unit, its definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from haltere.stats.standing import ALIKE


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    `column` of `table` divided by `divisor` is the value in `unit`. `comparison` says how two contenders are set
    against each other: by their ratio, or, for an index, by their difference. `alike` is the margin of practical
    equivalence: a ratio within 1/(1+alike) .. 1+alike, or a difference within ±alike, makes no practical difference.
    With `share_of`, the value is the share that `column` is of that column.
    A metric of the table `expression` is no column: `column` is an expression over metrics and columns of a run.
    `full` is the ratio, or difference, that overviews draw in full colour; `ceiling` is the largest value there can be.
    """

    name: str
    label: str
    unit: str
    table: Literal["flows", "runs", "latency", "expression"]
    column: str
    divisor: float
    better: Literal["lower", "higher", "neither"]
    definition: str
    comparison: Literal["ratio", "difference"] = "ratio"
    alike: float = ALIKE
    full: float = 2.0
    ceiling: float | None = None
    share_of: str | None = None

    @property
    def axis(self) -> str:
        """The label of an axis: name and unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


_ALL = (
    Metric(
        "completion_time",
        "Completion time",
        "s",
        "flows",
        "completion_s",
        1.0,
        "lower",
        "Time from the client's connect to the last byte of the object read by the client, handshakes included; the "
        "same as the total transmission time.",
    ),
    Metric(
        "throughput",
        "Throughput",
        "Mbit/s",
        "flows",
        "throughput_bps",
        1e6,
        "higher",
        "All bits of the IP packets the client received, overhead included, divided by the completion time.",
    ),
    Metric(
        "goodput",
        "Goodput",
        "Mbit/s",
        "flows",
        "goodput_bps",
        1e6,
        "higher",
        "Bits of the object alone, divided by the completion time.",
    ),
    Metric(
        "overhead",
        "Overhead",
        "MB",
        "flows",
        "overhead_bytes",
        1e6,
        "lower",
        "Bytes of the IP packets the client received beyond those of the object itself: headers of every layer, "
        "handshakes, acknowledgements, framing, cryptographic tags, and data received more than once. "
        "1 MB = 1 000 000 B.",
    ),
    Metric(
        "delivery_time",
        "Delivery time",
        "ms",
        "flows",
        "delivery_mean_s",
        1e-3,
        "lower",
        "MQTT: the mean time from the publisher's call to the delivery of the message to the subscriber's application.",
        alike=0.01,
    ),
    Metric(
        "delivery_time_p99",
        "Delivery time, 99th percentile",
        "ms",
        "flows",
        "delivery_p99_s",
        1e-3,
        "lower",
        "MQTT: the time that 99 % of the messages do not exceed on their way to the subscriber's application.",
    ),
    Metric(
        "delivery_time_max",
        "Longest delivery time",
        "ms",
        "flows",
        "delivery_max_s",
        1e-3,
        "lower",
        "MQTT: the longest time that a message took on its way to the subscriber's application.",
    ),
    Metric(
        "radio_on",
        "Radio on, for each message",
        "s",
        "flows",
        "radio_on_per_message_s",
        1.0,
        "lower",
        "MQTT: how long the publishers' radios were on, divided by the messages delivered.",
    ),
    Metric(
        "radio_energy",
        "Estimated radio energy, for each message",
        "J",
        "flows",
        "radio_energy_estimate_per_message_j",
        1.0,
        "lower",
        "MQTT: roughly the energy of the publishers' radios, divided by the messages delivered. An estimate from "
        "measurements of a phone of 2011.",
    ),
    Metric(
        "radio_bytes",
        "Bytes over the radio, for each message",
        "B",
        "flows",
        "radio_bytes_per_message",
        1.0,
        "lower",
        "MQTT: bytes of the packets that the publishers sent and received, IP headers included, divided by the "
        "messages delivered.",
    ),
    Metric(
        "message_loss",
        "Messages lost",
        "%",
        "flows",
        "messages_lost",
        0.01,
        "lower",
        "MQTT: messages of which no copy was delivered, without those that gave way in a queue, as a share of those "
        "published.",
        "difference",
        0.1,
        5.0,
        share_of="messages_published",
    ),
    Metric(
        "setup_time",
        "Set-up time",
        "ms",
        "flows",
        "handshake_s",
        1e-3,
        "lower",
        "Time from the connect to the end of the transport's handshake at the client; with MQTT, to CONNACK at the "
        "publisher.",
    ),
    Metric(
        "retransmissions",
        "Retransmissions",
        "packets",
        "flows",
        "retransmitted_packets",
        1.0,
        "lower",
        "Packets by which the server sent data again that it had sent before.",
        "difference",
        1.0,
        100.0,
    ),
    Metric(
        "retransmission_rate",
        "Retransmission rate",
        "%",
        "flows",
        "retransmitted_packets",
        0.01,
        "lower",
        "Packets by which the server sent data again, as a share of all that it sent.",
        "difference",
        0.5,
        5.0,
        share_of="sent_packets",
    ),
    Metric(
        "loss_rate",
        "Loss rate",
        "%",
        "flows",
        "lost_packets",
        0.01,
        "lower",
        "Packets that the server declared lost, as a share of all that it sent.",
        "difference",
        0.5,
        5.0,
        share_of="sent_packets",
    ),
    Metric(
        "fairness",
        "Jain's index",
        "",
        "runs",
        "jain",
        1.0,
        "higher",
        "Fairness between the flows of a run: (Σx)² ÷ (n·Σx²) over the flows' throughputs x; 1 when all are equal, 1/n "
        "when one has everything (R. Jain, The Art of Computer Systems Performance Analysis, Wiley, 1991).",
        "difference",
        # The loss of fairness by a split of 55 : 45 instead of 50 : 50.
        0.01,
        0.2,
        1.0,
    ),
    Metric(
        "latency",
        "RTT under load",
        "ms",
        "latency",
        "rtt_mean_s",
        1e-3,
        "lower",
        "Mean round-trip time of the probes of a run that were answered; several probes of a run are averaged.",
    ),
    Metric(
        "latency_p95",
        "RTT under load, 95th percentile",
        "ms",
        "latency",
        "rtt_p95_s",
        1e-3,
        "lower",
        "The 95th percentile of the round-trip times of the probes of a run that were answered.",
    ),
    Metric(
        "rtt",
        "RTT of the flow",
        "ms",
        "flows",
        "mean_rtt_s",
        1e-3,
        "lower",
        "Mean of the round-trip times that the flow's own sender measured; several flows of a run are averaged.",
    ),
    Metric(
        "rtt_p95",
        "RTT of the flow, 95th percentile",
        "ms",
        "flows",
        "rtt_p95_s",
        1e-3,
        "lower",
        "The 95th percentile of the round-trip times that the flow's own sender measured; several flows of a run are "
        "averaged.",
    ),
    Metric(
        "least_rtt",
        "Least RTT of the flow",
        "ms",
        "flows",
        "min_rtt_s",
        1e-3,
        "lower",
        "The shortest round-trip time that the flow's own sender measured.",
    ),
    Metric(
        "queueing_delay",
        "Queueing delay",
        "ms",
        "runs",
        "bottleneck_mean_queueing_delay_s",
        1e-3,
        "lower",
        "Mean time that packets waited at the bottleneck in the data direction, in all its queues.",
        "difference",
        1.0,
        100.0,
    ),
    Metric(
        "queueing_delay_max",
        "Longest queueing delay",
        "ms",
        "runs",
        "bottleneck_max_queueing_delay_s",
        1e-3,
        "lower",
        "The longest time that a packet waited at the bottleneck in the data direction, in all its queues.",
        "difference",
        1.0,
        100.0,
    ),
    Metric(
        "drops",
        "Drops",
        "packets",
        "runs",
        "bottleneck_dropped_queue",
        1.0,
        "lower",
        "Packets that the bottleneck's full queue dropped in the data direction, without those that its discipline "
        "dropped early.",
        "difference",
        1.0,
        100.0,
    ),
    Metric(
        "qdisc_occupancy",
        "Queue discipline",
        "packets",
        "runs",
        "bottleneck_mean_qdisc_packets",
        1.0,
        "lower",
        "Packets in the queue discipline of the bottleneck in the data direction, on average over the measured time.",
        "difference",
        1.0,
        100.0,
    ),
    Metric(
        "ring_occupancy",
        "Ring",
        "packets",
        "runs",
        "bottleneck_mean_ring_packets",
        1.0,
        "lower",
        "Packets in the ring of the bottleneck in the data direction, with the one being sent, on average over the "
        "measured time.",
        "difference",
        1.0,
        100.0,
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
