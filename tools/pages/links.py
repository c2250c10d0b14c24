"""Checks the links of built pages that lead to other pages of the site; it opens no network connection."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class _Page(HTMLParser):
    targets: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.targets.add(value)
            if value and name in ("href", "src"):
                self.links.append(value)


def broken(site: Path) -> list[str]:
    """Return the links of a built site that lead nowhere, as `page: link`."""
    pages: dict[Path, _Page] = {}
    for file in sorted(site.rglob("*.html")):
        page = _Page()
        page.feed(file.read_text(encoding="utf-8"))
        pages[file.resolve()] = page
    problems = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            goal = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if goal.is_dir():
                goal /= "index.html"
            missing = not goal.is_file()
            if missing or (parts.fragment and goal in pages and unquote(parts.fragment) not in pages[goal].targets):
                problems.append(f"{file.relative_to(site.resolve())}: {link}")
    return problems
