"""Asks the tests of a crate for the mutants of some of its files, all of them built at once.

    .venv/bin/python tools/mutants.py haltere-transport 'crates/transport/src/cc/**/*.rs' cc:: --also cc_

cargo-mutants names the mutants. It would build the crate anew for each; here every function holds all of its own, and
an environment variable chooses one as the tests start, so that a mutant costs a run of the tests instead of a build.
The words after the pattern choose the unit tests, `--also` the integration tests that are asked about survivors.

Mutants that do not compile are left out, as are those of constants and of `const fn`, which no variable can choose.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "target" / "mutants"
CHOSEN = "HALTERE_MUTANT"
MODULE = f"""
/// The mutant that the environment chooses; 0 is none.
#[inline]
#[allow(missing_docs, unreachable_pub)]
pub fn mutant() -> u32 {{
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *CHOSEN.get_or_init(|| std::env::var("{CHOSEN}").ok().and_then(|text| text.parse().ok()).unwrap_or(0))
}}
"""
OPENING = {"(": 1, "[": 1, ")": -1, "]": -1}


@dataclass(frozen=True)
class Mutant:
    """A mutant by its number: its file, its function, and what cargo-mutants calls it, with spans as offsets."""

    number: int
    file: str
    name: str
    replacement: str
    span: tuple[int, int]
    function: tuple[int, int] | None


def main() -> int:
    """Build, run and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("package")
    parser.add_argument("files", help="a pattern of files, from the root of the repository")
    parser.add_argument("tests", nargs="*", help="filters of unit tests")
    parser.add_argument("--also", metavar="FILTER", help="ask these integration tests about survivors")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    prepare(given.package)
    mutants = listed(given.package, given.files)
    targets = ["--lib", *(["--tests"] if given.also else [])]
    usable, built = build(given.package, mutants, targets)
    print(f"{len(mutants)} mutants, {len(usable)} of which can be chosen", flush=True)
    left = survivors(built["lib"], given.tests, usable, given.jobs)
    for binary in built["tests"]:
        left = survivors(binary, [given.also], left, given.jobs)
    print(f"{len(left)} of {len(usable)} survived")
    if given.out:
        found = {"mutants": len(mutants), "asked": len(usable), "survived": [one.name for one in left]}
        given.out.write_text(json.dumps(found, indent=1))
    return 0


def prepare(package: str) -> None:
    """Copy the files of the repository, and show cargo-mutants the modules that `built_in!` registers."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        old, new = ROOT / name, COPY / name
        if old.is_file():
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(old, new)
    for file in (COPY / "crates" / package.removeprefix("haltere-") / "src").rglob("*.rs"):
        text = file.read_text()
        block = re.search(r"^(?:haltere_net::|crate::)?built_in! \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
        if block:
            names = re.findall(r"^ *\w+ = (\w+),", block[1], re.MULTILINE)
            shown = "".join(f"#[cfg(any())]\nmod {name};\n" for name in names)
            head, split, tail = text.partition("\n#[cfg(test)]\nmod tests")
            file.write_text(f"{head}\n{shown}{split}{tail}")


def listed(package: str, files: str) -> list[Mutant]:
    """Return the mutants that cargo-mutants names."""
    command = ["cargo", "mutants", "--list", "--json", "-p", package, "-f", files]
    found = json.loads(subprocess.run(command, cwd=COPY, check=True, stdout=subprocess.PIPE).stdout)
    starts: dict[str, list[int]] = {}
    for one in found:
        if one["file"] not in starts:
            lines = (COPY / one["file"]).read_text().splitlines(keepends=True)
            starts[one["file"]] = [0]
            for line in lines:
                starts[one["file"]].append(starts[one["file"]][-1] + len(line))

    def offsets(one: dict[str, Any], span: dict[str, Any]) -> tuple[int, int]:
        of = starts[one["file"]]
        first, last = (of[span[end]["line"] - 1] + span[end]["column"] - 1 for end in ("start", "end"))
        return first, last

    return [
        Mutant(
            at + 1,
            one["file"],
            one["name"],
            one["replacement"],
            offsets(one, one["span"]),
            one["function"] and offsets(one, one["function"]["span"]),
        )
        for at, one in enumerate(found)
    ]


def body_of(text: str, function: tuple[int, int]) -> int | None:
    """Return where the body of a function begins, None if no variable can choose among its mutants."""
    found = re.compile(r"^[ ]*(?!//)[^\n]*?\bfn \w+", re.MULTILINE).search(text, function[0], function[1])
    if found is None:
        first = re.compile(r"\bfn \w+").search(text, function[0], function[1])
        found = first
    if found is None or re.search(r"\bconst fn$", found[0].rsplit(" ", 1)[0]):
        return None
    depth = 0
    for at in range(found.end(), function[1]):
        depth += OPENING.get(text[at], 0)
        if text[at] == "{" and depth == 0:
            return None if "-> impl" in text[found.end() : at] else at
    return None


def written(text: str, mutants: list[Mutant]) -> tuple[str, list[tuple[int, int, int]]]:
    """Return a file whose functions hold their mutants, and the first and last line of each mutant."""
    functions: dict[tuple[int, int], list[Mutant]] = defaultdict(list)
    for one in mutants:
        if one.function:
            functions[one.function].append(one)
    pieces: list[str] = []
    places: list[tuple[int, int, int]] = []
    at = line = 0

    def add(piece: str) -> None:
        nonlocal line
        pieces.append(piece)
        line += piece.count("\n")

    for function, own in sorted(functions.items()):
        body = body_of(text, function)
        # A function inside another one is left to the outer one.
        if body is None or body < at:
            continue
        add(text[at:body] + "{ let mutant = crate::mutant();\n")
        # cargo-mutants takes some mutants of a function for those of one inside it.
        for one in (one for one in own if body < one.span[0] and one.span[1] < function[1]):
            add(f"if mutant == {one.number} ")
            first = line
            start, end = one.span
            add(text[body:start] + f" {one.replacement} " + text[end : function[1]])
            places.append((first + 1, line + 1, one.number))
            add("\nelse ")
        add(text[body : function[1]] + "\n}")
        at = function[1]
    add(text[at:])
    return "".join(pieces), places


def build(package: str, mutants: list[Mutant], targets: list[str]) -> tuple[list[Mutant], dict[str, Any]]:
    """Build the tests with all mutants, without those that do not compile."""
    originals = {file: (COPY / file).read_text() for file in {one.file for one in mutants}}
    library = COPY / "crates" / package.removeprefix("haltere-") / "src" / "lib.rs"
    originals.setdefault(str(library.relative_to(COPY)), library.read_text())
    usable = {one.number: one for one in mutants}
    while True:
        places = {}
        for file, text in originals.items():
            own = [one for one in usable.values() if one.file == file]
            changed, places[file] = written(text, own)
            (COPY / file).write_text(changed + (MODULE if COPY / file == library else ""))
        chosen = {number for own in places.values() for *_, number in own}
        usable = {number: one for number, one in usable.items() if number in chosen}
        broken, built = compiled(package, places, targets)
        if not broken:
            return list(usable.values()), built
        print(f"{len(broken)} of {len(usable)} do not compile", flush=True)
        usable = {number: one for number, one in usable.items() if number not in broken}


def compiled(
    package: str, places: dict[str, list[tuple[int, int, int]]], targets: list[str]
) -> tuple[set[int], dict[str, Any]]:
    """Compile; return the numbers of mutants with errors, or the test binaries."""
    command = ["cargo", "test", "--no-run", "--message-format=json", "-p", package, *targets]
    environment = os.environ | {"RUSTFLAGS": f"--cap-lints allow {os.environ.get('RUSTFLAGS', '')}"}
    done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True)
    broken: set[int] = set()
    built: dict[str, Any] = {"lib": None, "tests": []}
    strange: list[str] = []
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            if "lib" in message["target"]["kind"]:
                built["lib"] = message["executable"]
            else:
                built["tests"].append(message["executable"])
        if message["reason"] != "compiler-message" or message["message"]["level"] != "error":
            continue
        spans = [span for span in message["message"]["spans"] if span["is_primary"]]
        found = {
            number
            for span in spans
            for first, last, number in places.get(span["file_name"], ())
            if first <= span["line_start"] <= last
        }
        if spans and not found:
            strange.append(message["message"]["rendered"])
        broken |= found
    if done.returncode and not broken:
        sys.exit("\n".join(strange[:3]) or done.stderr)
    return broken, built


def survivors(binary: str, filters: list[str], mutants: list[Mutant], jobs: int) -> list[Mutant]:
    """Run the tests of a binary with each mutant; return those with which all pass."""
    command = [binary, "--test-threads=1", *filters]
    cwd = COPY / "crates" / mutants[0].file.split("/")[1] if mutants else COPY

    def passes(number: int) -> bool:
        """Whether all tests pass; the first that fails, or the time, ends them."""
        environment = os.environ | {CHOSEN: str(number)}
        with subprocess.Popen(
            command, env=environment, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as tests:
            assert tests.stdout is not None
            ending = threading.Timer(limit, tests.kill)
            ending.start()
            failed = any(line.rstrip().endswith("FAILED") for line in tests.stdout)
            if failed:
                tests.kill()
            ending.cancel()
        return not failed and tests.returncode == 0

    listed = subprocess.run([*command, "--list"], cwd=cwd, capture_output=True, text=True, check=True).stdout
    if ": test" not in listed:
        sys.exit(f"{Path(binary).name} has no test that {' '.join(filters)} names, so that every mutant would survive")
    limit = 600.0
    begun = time.monotonic()
    if not passes(0):
        sys.exit(f"the tests of {Path(binary).name} fail without a mutant")
    limit = 5 + 5 * jobs * (time.monotonic() - begun)
    left = []
    with ThreadPoolExecutor(jobs) as pool:
        for at, (one, lives) in enumerate(zip(mutants, pool.map(passes, (one.number for one in mutants)), strict=True)):
            if lives:
                left.append(one)
                print(one.name, flush=True)
            if at % 100 == 99:
                print(f"{at + 1} of {len(mutants)} asked, {len(left)} survive", file=sys.stderr, flush=True)
    counts = Counter(one.file for one in left)
    print(f"{Path(binary).name}: {len(left)} of {len(mutants)} survive", dict(counts), flush=True)
    return left


if __name__ == "__main__":
    sys.exit(main())
