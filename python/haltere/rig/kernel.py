"""The user-mode Linux that fidelity `linux` runs in: built once from a kernel's source, kept in the user's cache.

A kernel is a folder `NAME/` of `linux` (the program), `config`, `about.json` and `tree/`, what modules are built with
(`modules`); several stand side by side. Nothing of the source is changed: the timer frequency, which a user-mode Linux
does not let one choose, is set by a definition that comes before the kernel's own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from haltere.errors import ArgumentError, HaltereError, InputError
from haltere.files import write_whole
from haltere.rig import packages

CONFIG = Path(__file__).with_name("kernel.config")
_PRELOADED = Path(__file__).with_name("preloaded.c")
DEFAULT_HZ = 250
"""The timer frequency of Debian's and most servers' kernels, which the model follows."""
AGREED = (7, 3)
"""The newest series of kernels that the model was shown to agree with (`studies/agreement-linux`): newer ones that are
there are not the default."""
PACKAGED = "6.12"
"""The version that is fetched if none is asked for and none is installed."""
SOURCES = Path("/usr/src")
STEPS = 1700
"""About how many files a build compiles and links: for the progress bar."""
TOOLS = {"make": "make", "gcc": "gcc", "flex": "flex", "bison": "bison", "bc": "bc", "xz": "xz-utils", "tar": "tar"}
HOW = "haltere kernel build"
IDENTITY = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "haltere",
    "KBUILD_BUILD_HOST": "haltere",
    "KBUILD_BUILD_VERSION": "1",
}
"""Who builds a kernel, and when, as far as it knows: it mixes the text of its version into its random numbers
(`random_init_early`), which would differ from one machine to another."""
_OF_SOURCE = (
    "Makefile",
    "include",
    "scripts",
    "arch/um",
    "arch/x86/Makefile.um",
    "arch/x86/include",
    "arch/x86/um",
)
_OF_BUILD = (
    ".config",
    "include/config/auto.conf",
    "include/config/kernel.release",
    "include/generated",
    "arch/um/include/generated",
    "arch/x86/include/generated",
    "scripts",
)
_NOT_KEPT = shutil.ignore_patterns(
    "*.o", "*.a", ".*.cmd", "dt-bindings", "dtc", "kconfig", "coccinelle", "gdb", "package"
)
"""Files and folders of these parts that no module needs."""


@dataclass(frozen=True)
class Kernel:
    """A kernel that has been built."""

    name: str
    path: Path
    version: str
    hz: int
    config: str
    """The first digits of the SHA-256 of its whole configuration."""

    @property
    def series(self) -> tuple[int, int]:
        """The first two numbers of its version."""
        first, second, *_ = [int(number) for number in re.findall(r"\d+", self.version)] + [0, 0]
        return first, second

    @property
    def tree(self) -> Path | None:
        """The folder of `source/` and `build/`, with which modules for it are built; None if it loads none."""
        tree = self.path.parent / "tree"
        return tree if tree.is_dir() else None

    def about(self) -> dict[str, str | int]:
        """Return what results record of it."""
        return {"name": self.name, "version": self.version, "hz": self.hz, "config": self.config}


def cache() -> Path:
    """Return the folder of kernels: `$XDG_CACHE_HOME/haltere/kernels`, or below `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "haltere" / "kernels"


def built() -> list[Kernel]:
    """Return the kernels there are; the first one is the default.

    The newest comes first, but those that are newer than `AGREED` come last. Among equals the one with the default
    timer frequency is first, then one that loads modules, then one that can be a node of the simulator.
    """
    found = []
    for about in cache().glob("*/about.json"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            data = json.loads(about.read_text())
            program = about.parent / "linux"
            if os.access(program, os.X_OK):
                found.append(Kernel(about.parent.name, program, data["version"], int(data["hz"]), data["config"]))

    def rank(k: Kernel) -> tuple[object, ...]:
        return *_order(k.version), k.hz == DEFAULT_HZ, k.tree is not None, can_be_a_node(k), k.name

    return sorted(found, key=rank, reverse=True)


def find(name: str | None = None) -> Kernel:
    """Return a kernel by its name or version, or the first of `built()`; `$HALTERE_KERNEL` names one too.

    Raises:
        InputError: if there is none; it says how to get it.
    """
    wanted = name or os.environ.get("HALTERE_KERNEL") or None
    kernels = built()
    for kernel in kernels:
        if wanted is None or wanted == kernel.name or kernel.version == wanted or kernel.name.startswith(f"{wanted}."):
            return kernel
    if kernels:
        raise ArgumentError(
            "there is no such kernel", field="kernel", given=wanted, right=", ".join(k.name for k in kernels)
        )
    raise InputError(
        'fidelity "linux" needs a user-mode Linux, and none has been built yet',
        right=f"`{HOW}` (once; some minutes, no root); `haltere kernel check` says what it needs",
    )


def missing_tools() -> dict[str, str]:
    """Return the programs that a build needs and that are not there, with their Debian packages."""
    return {tool: package for tool, package in TOOLS.items() if shutil.which(tool) is None}


def packaged_sources() -> list[Path]:
    """Return Debian's packaged kernel sources; a build takes the first one if it is not told which."""
    return sorted(SOURCES.glob("linux-source-*.tar.xz"), key=lambda p: _order(p.name), reverse=True)


def _order(text: str) -> tuple[bool, list[int]]:
    """The key by which versions are sorted: versions up to `AGREED` are greater than newer ones."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    return tuple(numbers[:2]) <= AGREED, numbers


Progress = Callable[[int, int], None]


def build(
    source: str | None = None,
    *,
    suite: str | None = None,
    hz: int = DEFAULT_HZ,
    jobs: int | None = None,
    on_progress: Progress | None = None,
) -> Kernel:
    """Build a kernel and put it into the cache.

    Args:
        source: a kernel tree, a packed one (`linux-source-6.12.tar.xz`), or a version that Debian packages (`6.12`);
            without it the first of `packaged_sources()`, or else `PACKAGED`, which is fetched.
        suite: where a version that is not installed is fetched from, such as `trixie-backports`; without it several are
            searched (`packages.fetch`).
        hz: ticks a second.
        jobs: compilers at once (default: one a CPU).
        on_progress: called with (steps done, about how many there are).

    Raises:
        InputError: if something that is needed is missing; it names the package.
        HaltereError: if the build fails; it ends with what the compiler said.
    """
    missing = missing_tools()
    if missing:
        packages = " ".join(sorted(set(missing.values())))
        raise InputError(f"a kernel cannot be built without {', '.join(missing)}", right=f"apt-get install {packages}")
    if hz not in (100, 250, 300, 1000):
        raise ArgumentError(
            "is not a timer frequency of Linux", field="hz", given=str(hz), right="100, 250, 300 or 1000"
        )
    home = cache()
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=home) as folder, _tree(source, suite, Path(folder)) as tree:
        work = Path(folder) / "work"
        work.mkdir()
        version = _configure(tree, work, hz)
        _make(tree, work, ["linux", "modules_prepare", f"-j{jobs or len(os.sched_getaffinity(0))}"], on_progress)
        config = (work / ".config").read_bytes()
        digest = hashlib.sha256(config).hexdigest()[:12]
        name = f"{version}-hz{hz}-{digest[:6]}"
        target = home / name
        target.mkdir(exist_ok=True)
        program = target / ".linux"
        shutil.copyfile(work / "linux", program)
        subprocess.run(["strip", "--strip-debug", str(program)], check=False, capture_output=True)
        program.chmod(0o755)
        program.replace(target / "linux")
        write_whole(target / "config", config)
        _keep_tree(tree, work, target / "tree")
        about = {"version": version, "hz": hz, "config": digest, "source": str(source or tree.name)}
        write_whole(target / "about.json", (json.dumps(about, indent=2) + "\n").encode())
    kernel = find(name)
    # The simulator, which starts kernels too, does not build it.
    preloaded(kernel)
    return kernel


def _keep_tree(tree: Path, work: Path, into: Path) -> None:
    """Keep what modules are built with, of a source and of its build: headers, Makefiles, scripts, exported symbols."""
    kept = work / "kept"
    for name, whence, parts in (("source", tree, _OF_SOURCE), ("build", work, _OF_BUILD)):
        for part in parts:
            target = kept / name / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if (whence / part).is_dir():
                shutil.copytree(whence / part, target, symlinks=True, ignore=_NOT_KEPT, dirs_exist_ok=True)
            elif (whence / part).exists():
                shutil.copyfile(whence / part, target)
    shutil.copyfile(work / "vmlinux.symvers", kept / "build" / "Module.symvers")
    if into.exists():
        shutil.rmtree(into)
    kept.replace(into)


@contextlib.contextmanager
def _tree(source: str | None, suite: str | None, folder: Path) -> Iterator[Path]:
    """Yield the source tree: the user's own, or one that is unpacked for the duration of the build."""
    if source is not None and Path(source).is_dir():
        yield _checked(Path(source).resolve())
        return
    packed = Path(source) if source is not None and Path(source).is_file() else packaged(source, suite, folder)
    unpacked = folder / "source"
    unpacked.mkdir()
    answer = subprocess.run(
        ["tar", "-xf", str(packed), "-C", str(unpacked)], capture_output=True, text=True, check=False
    )
    trees = [path for path in unpacked.iterdir() if path.is_dir()]
    if answer.returncode != 0 or len(trees) != 1:
        raise InputError(
            f"cannot be unpacked: {answer.stderr.strip() or 'it does not hold one folder'}",
            given=str(packed),
            right="a packed kernel tree, such as Debian's linux-source-6.12.tar.xz",
        )
    yield _checked(trees[0])


def _checked(tree: Path) -> Path:
    if not (tree / "arch" / "um" / "Kconfig").is_file():
        raise InputError("is not a kernel's source", given=str(tree), right="a folder with arch/um/Kconfig in it")
    return tree


def packaged(version: str | None, suite: str | None, folder: Path) -> Path:
    """Find Debian's packed kernel source in /usr/src, or fetch it into a folder, which needs no root.

    Raises:
        InputError: if it cannot be fetched; it says why, and what to do.
    """
    for file in [] if suite else packaged_sources():
        if version is None or file.name == f"linux-source-{version}.tar.xz":
            return file
    wanted = version or PACKAGED
    if not re.fullmatch(r"\d+\.\d+", wanted):
        raise ArgumentError(
            "is neither a folder, nor a file, nor a version that Debian packages",
            field="source",
            given=wanted,
            right="such as 6.12, linux-source-6.12.tar.xz, or the folder of a kernel tree",
        )
    apt = folder / "apt"
    apt.mkdir()
    return packages.fetch(wanted, apt, suite)


def _configure(tree: Path, work: Path, hz: int) -> str:
    """Write the configuration; return the kernel's version."""
    kconfig = (tree / "Kconfig").read_text()
    main = re.search(r"^mainmenu .*\n", kconfig, re.MULTILINE)
    cut = main.end() if main else 0
    frequency = f"\nconfig HZ\n\tint\n\tdefault {hz}\n"
    (work / "Kconfig.haltere").write_text(kconfig[:cut] + frequency + kconfig[cut:])
    _make(tree, work, ["defconfig"], None)
    with (work / ".config").open("a") as config:
        config.write(CONFIG.read_text())
    _make(tree, work, ["olddefconfig"], None)
    written = (work / ".config").read_text()
    if f"CONFIG_HZ={hz}\n" not in written or "CONFIG_UML_TIME_TRAVEL_SUPPORT=y" not in written:
        raise HaltereError(f"the source in {tree} knows no time travel: kernels from 5.10 on do")
    answer = subprocess.run(
        ["make", "-s", "-C", str(tree), f"O={work}", "ARCH=um", "kernelversion"],
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout.strip().splitlines()[-1]


def _make(tree: Path, work: Path, targets: list[str], on_progress: Progress | None) -> None:
    command = ["make", "-C", str(tree), f"O={work}", "ARCH=um", f"KBUILD_KCONFIG={work / 'Kconfig.haltere'}", *targets]
    log = work / "build.log"
    done = 0
    with (
        log.open("a+") as file,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            stdin=subprocess.DEVNULL,
            env=os.environ | IDENTITY,
        ) as process,
    ):
        for line in process.stdout or ():
            file.write(line)
            if re.match(r"\s+(CC|AS|LD|AR)\s", line):
                done += 1
                if on_progress:
                    on_progress(min(done, STEPS - 1), STEPS)
    if process.returncode != 0:
        said = [line for line in log.read_text().splitlines() if "rror" in line or "***" in line][-8:]
        raise HaltereError("the kernel does not build:\n" + "\n".join(f"  {line}" for line in said))


def preloaded(kernel: Kernel) -> Path | None:
    """Return the library that a kernel is started with, so that it runs on any host (`preloaded.c`).

    It stands beside the kernel with the digest of its source in its name, and is built when it is not there. None if it
    cannot be built: most hosts do not need it.
    """
    digest = hashlib.sha256(_PRELOADED.read_bytes()).hexdigest()[:8]
    library = kernel.path.with_name(f"preloaded-{digest}.so")
    if library.exists():
        return library
    made = library.with_name(f".preloaded-{os.getpid()}.so")
    command = ["gcc", "-O2", "-shared", "-fPIC", str(_PRELOADED), "-o", str(made), "-ldl"]
    try:
        subprocess.run(command, check=True, capture_output=True)
        made.replace(library)
    except (OSError, subprocess.CalledProcessError):
        return None
    return library


def options(kernel: Kernel) -> frozenset[str]:
    """Return the options that are set in a built kernel, without `CONFIG_`, and without their value if it is `y`."""
    lines = (kernel.path.parent / "config").read_text().splitlines()
    return frozenset(line.removesuffix("=y").removeprefix("CONFIG_") for line in lines if line.startswith("CONFIG_"))


def can_be_a_node(kernel: Kernel) -> bool:
    """Whether the simulator can give it its clock, its network cards and its random numbers (`crates/kernel`)."""
    with contextlib.suppress(OSError):
        return {"VIRTIO_UML", "VIRTIO_NET", 'BUILD_SALT="haltere"'} <= options(kernel)
    return False


def unknown_options(kernel: Kernel) -> list[str]:
    """Return the options of the project's configuration that a built kernel does not have."""
    there = options(kernel)
    wanted = [line.removesuffix("=y") for line in CONFIG.read_text().splitlines() if line.startswith("CONFIG_")]
    return [name for line in wanted if (name := line.removeprefix("CONFIG_")) not in there]
