"""Congestion controls of Linux from their files, in the kernel of fidelity `linux`: each is a module, which is loaded.

A module was chosen over a kernel that has the file built in, for three reasons. A build takes seconds, and neither the
kernel's objects nor another kernel for each set of files have to be kept. Parameters are given when a module is loaded.
And a module's variables are common to all of its connections: each combination of a file and its parameters is loaded
as a module of its own, and anew for each run, so that neither flows nor runs see what others left in them.

The file is compiled as it is. Names are changed around it:

- The compiler is told that `tcp_register_congestion_control` is `haltere_register` (`register.c`), which gives the
  control the name of its module. The kernel's own control of the same name stays.
- A module is built under the name `STEM`. When it is loaded, another name of the same length is put into its place.
- In a file that is linked with it (`tcp_vegas.c` with `tcp_yeah.c`) the start and the end of the module have other
  names.
- Nothing is exported, as `tcp_vegas.c` does what the kernel exports already.

A file is compiled against the headers of the very kernel (`kernel.Kernel.tree`). Modules are kept beside the libraries
of the same files (`plugins.store`), by the digest of the file and of what else decides about them.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import itertools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from haltere.errors import HaltereError
from haltere.plugins import linux, store
from haltere.rig.kernel import HOW, Kernel
from haltere.rig.plan import Flow, Plan

STEM = "haltere_0000000"
"""A module's name until it is loaded, of the greatest length of a congestion control's (`TCP_CA_NAME_MAX` less 1)."""
REGISTER = Path(__file__).with_name("register.c")
_OWN = "-D__DISABLE_EXPORTS -Dtcp_register_congestion_control=haltere_register"
_BESIDE = "-D__DISABLE_EXPORTS -Dinit_module=haltere_unused_init -Dcleanup_module=haltere_unused_exit"
_LONGEST_S = 180
_INIT_MODULE, _DELETE_MODULE = 175, 176
"""Numbers of system calls on x86-64, the one architecture of 64 bits that a user-mode Linux has."""
_PARAMETER = re.compile(rb"\bparmtype=(\w+):")
_NOT_EXPORTED = re.compile(r'modpost: "(\w+)" \[.*\] undefined')
_libc = ctypes.CDLL(None, use_errno=True)
_numbers = itertools.count(1)
_still_loaded: set[str] = set()


def sources(congestion: str) -> Path:
    """Return the folder of the sources (`plugins.store`) of a file, whose name has the digest of what it held.

    Raises:
        ValueError: if no kernel can take it; the message says why, and what to do.
    """
    file, _, digest = congestion.partition(store.DIGEST)
    if not file.endswith(".c"):
        raise ValueError(
            f'{file} runs in the model alone: choose fidelity "model"; a kernel takes a file in C that defines a '
            "struct tcp_congestion_ops"
        )
    kept = store.sources(file, digest)
    if not linux.defines((kept / store.MAIN).read_text(errors="replace")):
        raise ValueError(
            f'{file} defines no struct tcp_congestion_ops, without which no kernel takes it: choose fidelity "model"'
        )
    return kept


def built(congestion: str, kernel: Kernel) -> Path:
    """Return the module of a file for a kernel, built unless it is kept.

    Args:
        congestion: the file's name with the digest of what it held.
        kernel: the kernel that is to load it.

    Raises:
        ValueError: if there is none and none can be built; the message says why, with the compiler's words if it has
            some, and what to do.
    """
    text = sources(congestion)
    file, _, digest = congestion.partition(store.DIGEST)
    if kernel.tree is None:
        raise ValueError(
            f"{file} needs a kernel that loads modules, and {kernel.name} was built without them: build it again "
            f"(`{HOW}`)"
        )
    decides = "\0".join([kernel.name, kernel.config, REGISTER.read_text(), _OWN, _BESIDE]).encode()
    kept = store.folder() / f"{digest}-{hashlib.sha256(decides).hexdigest()[:12]}.ko"
    if not kept.exists():
        _build(Path(file), text, kernel, kernel.tree, kept)
    return kept


def _build(file: Path, text: Path, kernel: Kernel, tree: Path, into: Path) -> None:
    if not re.fullmatch(r"[\w.-]+", file.name):
        raise ValueError(f"{file} has a name that make does not take: use letters, digits, and `_`, `.` and `-`")
    if shutil.which("make") is None or shutil.which("gcc") is None:
        raise ValueError(f"{file} needs make and gcc: apt-get install make gcc")
    with tempfile.TemporaryDirectory(prefix="haltere-module-") as folder:
        work = Path(folder)
        shutil.copytree(text / store.BESIDE, work, dirs_exist_ok=True)
        main = work / file.name
        shutil.copyfile(text / store.MAIN, main)
        shutil.copyfile(REGISTER, work / "haltere_register.c")
        beside = linux.sources(main)[1:]
        objects = [f"{one.stem}.o" for one in (main, *beside, work / "haltere_register.c")]
        lines = [f"obj-m := {STEM}.o", f"{STEM}-y := {' '.join(objects)}", f"CFLAGS_{main.stem}.o := {_OWN}"]
        lines += [f"CFLAGS_{one.stem}.o := {_BESIDE}" for one in beside]
        (work / "Kbuild").write_text("\n".join(lines) + "\n")
        said = _make(tree, work)
        made = work / f"{STEM}.ko"
        if said is not None or not made.is_file():
            raise ValueError(_explained(file, kernel, said or "", folder))
        copy = into.with_name(f".{into.name}.{os.getpid()}")
        shutil.copyfile(made, copy)
        copy.replace(into)


def _make(tree: Path, work: Path) -> str | None:
    """Build the module in a folder; return what make and the compiler said if that failed."""
    command = ["make", "-s", "-C", str(tree / "source"), f"O={tree / 'build'}", "ARCH=um", f"M={work}", "modules"]
    # A make that called this process has told its children how to talk to it, and the kernel's ignores LC_ALL.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "LC_", "LANG"))}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LONGEST_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**kept, "LANG": "C"},
        )
    except subprocess.TimeoutExpired:
        return f"error: it does not compile within {_LONGEST_S} s"
    return done.stdout + done.stderr if done.returncode else None


def _explained(file: Path, kernel: Kernel, said: str, folder: str) -> str:
    """Return what a compiler said of a file, with the file's own folder in the place of that in which it was built."""
    own = said.replace(f"{folder}/", "" if file.parent == Path() else f"{file.parent}/")
    lines = [line.strip() for line in own.splitlines() if re.search(r"\berror:|^ERROR: modpost", line)]
    shown = "\n".join(lines[:10]) or own.strip()[-2000:]
    where = f"in Linux {kernel.version}"
    names = list(dict.fromkeys(_NOT_EXPORTED.findall(said)))
    if names:
        return f"{file} uses {', '.join(names)}, which modules cannot use {where}\n{shown}"
    if "missing MODULE_LICENSE" in said:
        return f'{file} has no licence, without which no module is built {where}: write MODULE_LICENSE("GPL")'
    return f"{file} does not compile {where}:\n{shown}"


def equip(folder: Path, what: Plan, kernel: Kernel) -> None:
    """Put what the files of a run need into a folder of jobs: the modules, and the libraries that name parameters.

    Raises:
        HaltereError: if a module cannot be built.
    """
    for flow in what.flows:
        if flow.file is None:
            continue
        name, _, digest = flow.congestion.partition(store.DIGEST)
        code = folder / "haltere" / "code"
        code.mkdir(parents=True, exist_ok=True)
        try:
            files = {
                f"{digest}.ko": built(flow.congestion, kernel),
                store.path(name, digest).name: store.find(name, digest),
            }
        except ValueError as wrong:
            raise HaltereError(str(wrong)) from None
        for target, file in files.items():
            if not (code / target).exists():
                shutil.copyfile(file, code / target)


@contextlib.contextmanager
def loaded(what: Plan) -> Iterator[Plan]:
    """Load the modules of a run's files into this kernel; yield the plan with the names that the kernel has for them.

    `XDG_CACHE_HOME` is the folder that `equip` filled.

    Raises:
        HaltereError: if the kernel refuses one; it says why.
    """
    names: dict[tuple[str, str], str] = {}
    try:
        flows = []
        for flow in what.flows:
            if flow.file is not None:
                key = flow.congestion, _options(flow)
                if key not in names:
                    names[key] = _insert(flow)
                flow = replace(flow, congestion=names[key])
            flows.append(flow)
        yield replace(what, flows=tuple(flows))
    finally:
        for name in [*_still_loaded, *names.values()]:
            _remove(name)


def _module(flow: Flow) -> bytes:
    _, _, digest = flow.congestion.partition(store.DIGEST)
    return (store.folder() / f"{digest}.ko").read_bytes()


def _options(flow: Flow) -> str:
    return options(_module(flow), flow.parameters)


def options(module: bytes, parameters: Mapping[str, float]) -> str:
    """Return parameters of a file as its module takes them.

    A contender has their names in small letters, and without `_` at an end.
    """
    own = [name.decode() for name in _PARAMETER.findall(module)]
    names = {name.lower().strip("_"): name for name in own}
    return " ".join(f"{names.get(name, name)}={value:.0f}" for name, value in sorted(parameters.items()))


def renamed(congestion: str, kernel: Kernel, parameters: Mapping[str, float]) -> tuple[str, bytes, str]:
    """Return the module of a file under a name that it and its parameters decide: the name, its bytes, its options.

    Raises:
        ValueError: as `built`.
    """
    module = built(congestion, kernel).read_bytes()
    given = options(module, parameters)
    digest = hashlib.sha256(f"{congestion} {given}".encode()).hexdigest()
    name = f"{STEM[:8]}{digest[: len(STEM) - 8]}"
    return name, module.replace(STEM.encode(), name.encode()), given


def _insert(flow: Flow) -> str:
    name = f"{STEM[:8]}{next(_numbers):07x}"
    image = _module(flow).replace(STEM.encode(), name.encode())
    if _libc.syscall(_INIT_MODULE, image, ctypes.c_ulong(len(image)), _options(flow).encode()) != 0:
        number = ctypes.get_errno()
        why = errno.errorcode.get(number, str(number))
        raise HaltereError(
            f"{flow.file}: its module does not start ({os.strerror(number)}, {why}): are the values of its parameters "
            f"valid ({_options(flow) or 'none is set'}), and does its module_init register one tcp_congestion_ops?"
        )
    return name


def _remove(name: str) -> None:
    """Remove a module; one that connections still have is tried again after later runs."""
    _still_loaded.discard(name)
    if _libc.syscall(_DELETE_MODULE, name.encode(), os.O_NONBLOCK) != 0 and ctypes.get_errno() != errno.ENOENT:
        _still_loaded.add(name)
