"""The lint of openings: it finds those that name nothing, and leaves questions, code and sentences alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import words

REFUSED = (
    "What it is called.",
    "The same for links.",
    "Those that are left. Are there any?",
    "That of the path.",
    "Whose turn it is.",
    "Of what happens now, a part is done.",
    "It is none of an interface.",
)
FINE = ("What is a claim?", "Whatever the seed, results repeat.", "That is refused.", "It is the same.", "Its name.")


@pytest.mark.parametrize("text", REFUSED)
def test_an_opening_that_names_nothing_is_refused(text: str) -> None:
    assert words.refused(text)


@pytest.mark.parametrize("text", FINE)
def test_questions_and_sentences_with_a_subject_pass(text: str) -> None:
    assert not words.refused(text)


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        (
            "a.rs",
            "//! What this is.\n\n// What a plain comment says is free.\n/// A link.\n///\n/// Those\n/// of hosts.\n"
            "fn f() {}\n/// ```\n/// What();\n/// ```\nlet s = 1; /// What stands behind code is no doc comment.\n",
            [1, 6],
        ),
        ("b.rs", "/// A link.\n///\n/// # Errors\n/// What is wrong.\nfn f() {}\n", [4]),
        (
            "a.py",
            '"""Tools.\n\nThe same for hosts.\n"""\nX = 1\n"""Those of links."""\nY = "What is a value is free"\n'
            'def f() -> None:\n    """What f does."""\n    g = lambda: "What"\n',
            [3, 6, 9],
        ),
        (
            "a.md",
            "# What is a link?\n\nWhat is a link? A pipe.\n\n```\nWhat\n```\n\n- What it has:\n  those\n- A pipe.\n\n"
            "1. The same.\n\nLinks\nWhat goes on is no opening.\n",
            [9, 13],
        ),
    ],
)
def test_places_of_openings_in_files(tmp_path: Path, name: str, text: str, lines: list[int]) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert [int(fault.removeprefix(f"{path}:").split(":")[0]) for fault in words.faults(path)] == lines
