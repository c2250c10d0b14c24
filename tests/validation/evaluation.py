"""How often `haltere evaluate` calls a newcomer worse by chance alone: CUBIC beside CUBIC, with dice of their own.

`tests/validation/evaluation.py [SEEDS]`, from the repository's folder. With the same dice CUBIC beside itself has the
same runs, and no row can be anything but *no worse*. Here the newcomer's replications are compared with the next ones
of the other, so that nothing but chance parts them. Prints the share of rows of each word, over all seeds.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import tomli_w

from haltere import shipped
from haltere.claims.findings import tables_of
from haltere.documents import Document
from haltere.evaluation.evaluating import plan
from haltere.evaluation.judging import judge
from haltere.evaluation.sheet import required
from haltere.figures import kinds
from haltere.runner.campaign import Campaign
from haltere.study import Study

CUBIC = "tcp/cubic"
NEWCOMER = f"{CUBIC} as newcomer"


def rows(seed: int, out: Path) -> Counter[str]:
    """Return how often each word is said of a row, for one seed."""
    folder = shipped.locate("evaluate")
    planned = plan(CUBIC, against=[CUBIC], quick=True).study.document
    data = {**planned.data, "study": {**planned.data["study"], "seed": seed}}
    study = Study.of_document(Document(planned.name, tomli_w.dumps(data), data), folder, variant="quick")
    tables = tables_of(Campaign(study, out=out).run(), folder)
    count = study.header.replications
    shifted = pl.when(pl.col("sender") == NEWCOMER).then((pl.col("replication") + 1) % count)
    tables = replace(tables, runs=tables.runs.with_columns(replication=shifted.otherwise(pl.col("replication"))))
    sheet, words = required(folder), kinds.read(folder / "figures.toml")
    found = judge(sheet, words, tables, newcomer=NEWCOMER, against=[CUBIC])
    return Counter(one.standing for one in found.rows if one.effects)


def main(seeds: int) -> None:
    """Print the shares."""
    counts: Counter[str] = Counter()
    for seed in range(seeds):
        with TemporaryDirectory() as scratch:
            counts += rows(seed, Path(scratch))
    total = counts.total()
    sys.stdout.writelines(
        f"{word}: {count} of {total} rows, {100 * count / total:.1f} %\n" for word, count in counts.items()
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
