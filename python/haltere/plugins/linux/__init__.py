"""Congestion controls of Linux, as they are: files in C that define a `struct tcp_congestion_ops`.

Such a file is compiled against the headers in `include/`, which are written from the kernel's interface, and is linked
with the glue: `glue.c` events, `delivery.c` what ACKs deliver, `services.c` functions of the kernel, `tuning.c`
parameters, `plugin.c` what the library exports. The library has the interface of `haltere.h`. Its module's parameters
are those of the contender: `tcp/./tcp_mine.c+beta=600`.

A file from the kernel is GPL-2.0. Its user brings it, and compiles it on the user's own machine; nothing of the kernel
is shipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
INCLUDE = HERE / "include"
"""The folder of the headers that a congestion control of Linux includes."""
INTERFACE = HERE.parent / "include"
"""The folder of `haltere.h`."""
GLUE = ("glue.c", "delivery.c", "services.c", "tuning.c", "plugin.c")
KERNEL = "6.12"
"""The version of the kernel whose interface the headers have."""
_LONGEST_S = 120
_FLAGS = (
    "-std=gnu11",
    "-O2",
    "-g1",
    "-fPIC",
    "-fvisibility=hidden",
    # The kernel's dialect of C.
    "-fgnu89-inline",
    "-fno-strict-aliasing",
    "-fwrapv",
)
_STRICT = (
    "-Wall",
    "-Wno-sign-compare",
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
)
_LINK = ("-shared", "-pthread", "-Wl,-Bsymbolic", "-Wl,-z,defs")
_ASK = """
import ctypes, sys
asked = ctypes.CDLL(sys.argv[1]).haltere_refusal
asked.restype = ctypes.c_char_p
sys.stdout.write((asked() or b"").decode(errors="replace"))
"""
_OPS = re.compile(r"\bstruct\s+tcp_congestion_ops\b")
_BESIDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)\.h"', re.MULTILINE)
_RATES_ALONE = re.compile(r"\.cong_control\s*=\s*(\w+)")
_LACKS = re.compile(
    "|".join(
        (
            r"implicit declaration of function '(\w+)'",
            r"call to undeclared function '(\w+)'",
            r"'(\w+)' undeclared",
            r"undeclared identifier '(\w+)'",
            r"no member named '(\w+)'",
            r"unknown type name '(\w+)'",
            r"incomplete type '((?:struct |union )?\w+)'",
            r"undefined type '(struct \w+)'",
            r"undefined reference to [`'](\w+)'",
            r"fatal error: '?([\w./-]+\.h)'?(?:: No such file| file not found)",
            r"undefined symbol: (\w+)",
        )
    )
)


@dataclass(frozen=True)
class _Absent:
    """Something that a simulated connection does not have."""

    names: re.Pattern[str]
    why: str


_ABSENT = (
    _Absent(
        re.compile(r"setsockopt|sockptr|sk_prot|_prot$|^(struct )?proto$"),
        "it takes options of setsockopt, and a simulated connection has no program that sets them: make them "
        "parameters of the module (module_param)",
    ),
    _Absent(
        re.compile(r"sysctl|ctl_table|sock_net|pernet|^(struct )?net$"),
        "it reads sysctls or a network namespace, which a simulated host does not have: make them parameters of the "
        "module (module_param)",
    ),
    _Absent(
        re.compile(r"vmlinux|bpf_|bpf/"),
        "it is a program of BPF: bring the same algorithm as a module, with module_init and "
        "tcp_register_congestion_control",
    ),
    _Absent(
        re.compile(r"^proc_|debugfs|seq_|kobj|sysfs"),
        "it writes to /proc, /sys or debugfs, which a simulated host does not have",
    ),
    _Absent(re.compile(r"skb|SKB"), "it looks at packets, and congestion controls see the connection alone here"),
)


def defines(text: str) -> bool:
    """Return whether a source in C is a congestion control of Linux, and not one of `haltere.h`."""
    return _OPS.search(text) is not None


def sources(source: Path) -> list[Path]:
    """Return the files in C that make the library of a source: it, and those beside it whose header it includes.

    `tcp_yeah.c` includes `tcp_vegas.h` and calls functions of `tcp_vegas.c`.
    """
    found = [source]
    for name in _BESIDE.findall(_text(source)):
        beside = source.with_name(f"{name}.c")
        if beside not in found and beside.is_file():
            found.append(beside)
    return found


def build(source: Path, into: Path) -> None:
    """Build the shared library of a congestion control of Linux.

    Args:
        source: the file in C; headers and sources that it includes stand beside it.
        into: where the library is written, whole.

    Raises:
        ValueError: if there is no compiler, the file does not compile, uses what the interface does not have, or
            registers no congestion control. The message names the file, its line, and what would be right.
    """
    _check(source)
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise ValueError(f"{source} needs a compiler of C: install gcc (Debian: apt-get install gcc libc6-dev)")
    with tempfile.TemporaryDirectory(dir=into.parent) as folder:
        objects = [_compiled(compiler, source, Path(folder) / "own.o", *_dialect(source))]
        for number, beside in enumerate(sources(source)[1:]):
            objects.append(_compiled(compiler, beside, Path(folder) / f"beside{number}.o", "-DHALTERE_BESIDE"))
        for name in GLUE:
            made = Path(folder) / f"{name}.o"
            paths = (f"-iquote{INCLUDE}", f"-iquote{INTERFACE}", *_dialect(source))
            _run([compiler, *_FLAGS, *paths, "-c", "-o", str(made), str(HERE / name)], source)
            objects.append(made)
        made = Path(folder) / into.name
        _run([compiler, *_LINK, "-o", str(made), *map(str, objects), "-ldl"], source)
        _check_registration(source, made)
        made.replace(into)


def _text(source: Path) -> str:
    try:
        return source.read_text(errors="replace")
    except OSError as error:
        raise ValueError(f"{source} cannot be read ({error.strerror}): give the path of a file") from None


def _check(source: Path) -> None:
    if not sys.platform.startswith("linux"):
        raise ValueError(f"{source} is a congestion control of Linux, and is built on Linux alone: run it there")
    text = _text(source)
    if not defines(text):
        raise ValueError(
            f"{source} defines no struct tcp_congestion_ops: give a congestion control of Linux, or one of haltere.h "
            "(haltere new --congestion-control mine.c)"
        )
    if re.search(r"\bmodule_init\s*\(", text) is None:
        raise ValueError(
            f"{source} has no module_init: write a function that calls tcp_register_congestion_control, and "
            "module_init(it)"
        )


def _dialect(source: Path) -> tuple[str, ...]:
    """Return what tells the headers of an older interface: before 6.10, `cong_control` had no `ack` and no `flag`."""
    text = _text(source)
    named = _RATES_ALONE.search(text)
    if named is None or "LINUX_VERSION_CODE" in text:
        return ()
    arguments = re.search(rf"\b{named[1]}\s*\(([^)]*)\)\s*\{{", text)
    return ("-DHALTERE_CONG_CONTROL_OF_TWO",) if arguments is not None and arguments[1].count(",") == 1 else ()


def _compiled(compiler: str, source: Path, made: Path, *options: str) -> Path:
    _run([compiler, *_FLAGS, *_STRICT, *options, f"-I{INCLUDE}", "-c", "-o", str(made), str(source)], source)
    return made


def _run(command: list[str], source: Path) -> None:
    """Run the compiler in English, whose messages are read below."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_LONGEST_S, check=False, env={**os.environ, "LC_ALL": "C"}
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"{source} does not compile within {_LONGEST_S} s: make it smaller") from None
    if done.returncode:
        raise ValueError(_explained(source, done.stderr))


def _explained(source: Path, said: str) -> str:
    """Return what a compiler or linker said, and what it means if the interface lacks a name."""
    lines = [
        line.strip() for line in said.splitlines() if re.search(r"\berror:|undefined reference|undefined symbol", line)
    ]
    shown = "\n".join(lines[:10]) or said.strip()[-2000:]
    names = list(dict.fromkeys(next(filter(None, match.groups())) for match in _LACKS.finditer(shown)))
    if not names:
        return f"{source} does not compile:\n{shown}"
    for absent in _ABSENT:
        if any(absent.names.search(name) for name in names):
            return f"{source} cannot run here: {absent.why}\n{shown}"
    return (
        f"{source} uses {', '.join(names)}, which neither it nor haltere's interface of Linux {KERNEL} has: it is for "
        f"a newer or an older kernel, or needs something that a simulated connection does not have\n{shown}"
    )


def _check_registration(source: Path, library: Path) -> None:
    """Let the library initialise its module in a process of its own, which shows whether it registers anything."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _ASK, str(library)],
        capture_output=True,
        text=True,
        timeout=_LONGEST_S,
        check=False,
    )
    if done.returncode:
        raise ValueError(f"{source}: its module_init ends the process: {done.stderr.strip()[-200:] or 'it crashes'}")
    if done.stdout:
        raise ValueError(f"{source}: {done.stdout}")
