"""GStreamer: a call whose rate is constant, VP8 over RTP and UDP, from server to client.

The server's end waits for a check, as calls of WebRTC open a path by one (RFC 8445), and then sends a moving test
picture until it is ended. The client's end shows it behind a jitter buffer of 200 ms, GStreamer's own default. Both are
the program `gst-launch-1.0`; what opens the path and ends the client is `_call.py`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from haltere.rig.programs import base
from haltere.rig.programs.base import Command, Listening, Measured, Program, ProgramError, Setup

_HELPER = Path(__file__).with_name("_call.py")
_LAUNCH = "gst-launch-1.0"
_PACKET = 1200
"""Bytes of RTP's header and payload at most, as in WebRTC."""
_LATENCY_MS = 200
_END_S = 0.1
"""The client ends so long before the run, so that it has ended when the run does."""
_CAPS = "application/x-rtp,media=video,clock-rate=90000,encoding-name=VP8,payload=96"
_PICTURE = "pattern=zone-plate kx2=20 ky2=20 kt=1"
"""A picture that moves everywhere, so that the encoder needs the rate that it may have."""
_CODER = (
    "deadline=1 cpu-used=8 threads=1 end-usage=cbr error-resilient=1 buffer-size=600 buffer-initial-size=400 "
    "buffer-optimal-size=500"
)
"""VP8 as in calls: at once, at a constant rate, with the buffer that libwebrtc gives libvpx (libvpx_vp8_encoder.cc)."""
_LINE = re.compile(r"GstIdentity:(\w+): last-message = chain .*?\((\d+) bytes, .*?pts: (\d+):(\d\d):(\d\d\.\d+)")
_SHOWN = re.compile(r"GstFakeSink:(\w+): last-message = chain .*?\((\d+) bytes, .*?pts: (\d+):(\d\d):(\d\d\.\d+)")


class GStreamer(Program):
    """One call; nothing adapts its rate, which is the largest of the scenario's table `call`."""

    name = "gstreamer"
    summary = "GStreamer: a call of a constant rate, VP8 over RTP, beside contenders"
    role = "load"
    transport = "rtp"
    app = "call"
    packages = base.apt(**{_LAUNCH: "gstreamer1.0-tools gstreamer1.0-plugins-good"})
    congestion = base.Congestion("program", {"constant": "constant"})

    def version(self) -> str:
        return base.first_line(_LAUNCH, "--version")

    def server(self, at: Setup) -> Command:
        call = at.call or base.Call()
        frames = call.frames
        picture = f"video/x-raw,width=640,height=360,framerate={frames}/1"
        camera = f"videotestsrc is-live=true {_PICTURE} ! {picture}"
        coder = f"vp8enc {_CODER} target-bitrate={call.rate_bps} keyframe-max-dist={frames}"
        pipeline = (
            f"{camera} ! identity name=camera silent=false ! {coder} ! rtpvp8pay mtu={_PACKET} ! "
            f"udpsink host={at.client} port={at.port} bind-address={at.server} bind-port={at.port}"
        )
        argv = (sys.executable, "-I", str(_HELPER), "answer", at.server, str(at.port), *_launch(pipeline))
        return Command(argv, ready=Listening("udp", at.port))

    def client(self, at: Setup) -> Command:
        if at.duration_s is None:
            raise ProgramError("a call lasts until the run ends: give the scenario a duration")
        pipeline = (
            f"udpsrc address={at.client} port={at.port} caps={_CAPS} ! rtpjitterbuffer latency={_LATENCY_MS} ! "
            "rtpvp8depay ! identity name=frame silent=false ! vp8dec ! fakesink name=viewer silent=false sync=true"
        )
        lasts = max(0.0, at.duration_s - _END_S)
        where = (at.client, at.server, str(at.port), f"{lasts:.9f}")
        return Command((sys.executable, "-I", str(_HELPER), "open", *where, *_launch(pipeline)))

    def read(self, at: Setup) -> Measured:
        sent = [time for time, _ in _frames(at.folder / "server.log", _LINE, "camera")]
        arrived = list(_frames(at.client_log, _LINE, "frame"))
        shown = [time for time, _ in _frames(at.client_log, _SHOWN, "viewer")]
        if not sent:
            raise ProgramError("GStreamer sent nothing: no check arrived at its server")
        return Measured(call={"sent": sent, "arrived": arrived, "shown": shown})


def _launch(pipeline: str) -> tuple[str, ...]:
    return (base.path(_LAUNCH), "--verbose", *pipeline.split())


def _frames(log: Path, line: re.Pattern[str], name: str) -> Iterator[tuple[float, int]]:
    """Yield the time of each frame that an element tells of, in seconds from the first one, and its bytes."""
    first = None
    for found in line.finditer(log.read_text(errors="replace") if log.is_file() else ""):
        if found[1] != name:
            continue
        time = int(found[3]) * 3600 + int(found[4]) * 60 + float(found[5])
        first = time if first is None else first
        yield time - first, int(found[2])


PROGRAMS = (GStreamer(),)
