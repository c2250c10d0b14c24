"""Accessibility of pages, as axe judges it in a headless browser: `python tests/python/accessible.py PAGE...`.

`make axe` gets axe. All its rules run: those of WCAG and its best practices, on a dark phone and in a light window.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from browser import ask

AXE = Path(__file__).parents[2] / "target" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
LOOKS = ((390, "dark"), (1400, "light"))
"""Widths in CSS pixels, each with the colour scheme that the reader prefers."""


DRAWN = '!page.document.querySelector("h1:empty")'
"""Whether a page that is drawn by a script is drawn."""


def violations(page: Path, *, ready: str = DRAWN, fragment: str = "") -> list[str]:
    """Return the findings of axe on a page: a line for each rule and element.

    Args:
        ready: an expression of JavaScript that is true once `page`, its window, is to be judged.
    """
    # "</" would end the element in which the script stands.
    axe = json.dumps(AXE.read_text(encoding="utf-8")).replace("</", "<\\/")
    script = f"""
        if (page.location.protocol === "about:" || page.document.readyState !== "complete" || !({ready})) return "";
        if (!page.axe) {{
            const own = page.document.createElement("script");
            own.textContent = {axe};
            page.document.head.append(own);
            page.axe.run(page.document).then((found) => {{
                const said = (one, node) => node.any.map((check) => check.message).join("; ") || one.help;
                const where = (one, node) => `${{one.id}} (${{one.impact}}): ${{node.target.join(" ")}}`;
                page.judged = found.violations.flatMap((one) =>
                    one.nodes.map((node) => `${{where(one, node)}}: ${{said(one, node)}}`));
                page.passes = found.passes.length;
            }});
        }}
        return page.judged && JSON.stringify([page.passes, page.judged]);"""
    # A page that has no scripts lets none in, nor axe.
    text = page.read_text(encoding="utf-8")
    unlocked = page.with_name("judged.html")
    unlocked.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text), encoding="utf-8")
    lines = []
    for width, scheme in LOOKS:
        passes, found = json.loads(ask(unlocked, script, fragment=fragment, width=width, height=900, scheme=scheme))
        assert passes > 10, "axe looked at nothing"
        lines += [f"{page}, {scheme}, {width} pixels: {one}" for one in found]
    unlocked.unlink()
    return lines


if __name__ == "__main__":
    wrong = [line for name in sys.argv[1:] for line in violations(Path(name))]
    sys.stdout.write("".join(f"{line}\n" for line in wrong) or "nothing is wrong\n")
    sys.exit(1 if wrong else 0)
