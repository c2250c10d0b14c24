"""Heat maps: a metric's mean as a colour over two factors."""

from __future__ import annotations

from pydantic import ValidationInfo, field_validator

from haltere.figures.maps import Cell, Factors, directions, panels
from haltere.figures.parts import Figure
from haltere.figures.samples import sample, value_text
from haltere.figures.spec import Chart, Data, Description
from haltere.metrics.tables import Key
from haltere.metrics.text import significant

_FAINTEST, _STRONGEST = 0.08, 0.75


class Heatmaps(Chart):
    """The metric's mean as a colour: the levels of the factor `x` across, those of `y` down.

    The colour goes from the least mean to the largest, over all panels; each cell has its number.
    """

    description = Description("heatmaps", "heatmap", "A metric's mean as a colour, over two factors.")

    x: str
    y: str

    @field_validator("y")
    @classmethod
    def _of_its_own(cls, y: str, info: ValidationInfo) -> str:
        named = [info.data.get("panels"), info.data.get("x"), y]
        twice = next((name for name in named if name and named.count(name) > 1), None)
        if twice:
            raise ValueError(f"the factor {twice} has two places|different factors for x, y and panels")
        return y

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        whole = sample(data, self.model_copy(update={"series": ""}))
        found = whole.means(self.y, self.x)
        low, high = min(one.value for one in found.values()), max(one.value for one in found.values())

        def cell(key: Key) -> Cell:
            if key not in found:
                return Cell(0, ["–"], weight="faint")
            mean = found[key]
            share = (mean.value - low) / (high - low) if high > low else 0.5
            strength = _FAINTEST + share * (_STRONGEST - _FAINTEST)
            return Cell(0, [significant(mean.value, 2)], strength, value=value_text(mean, whole.metric))

        sides: Factors = {"panels": [self.panels] if self.panels else [], "rows": [self.y], "columns": [self.x]}
        title = self.title or data.words.all_levels(self.single) or whole.metric.label
        label = whole.metric.axis if title != whole.metric.label else f"in {whole.metric.unit or 'numbers'}"
        caption = f"{label}: {directions(data, sides)}."
        drawn = panels(data, self.experiment, sides, found, [("first", "")], cell)
        return Figure(self.name, title, drawn, self.source, caption=caption, cell=(62.0, 34.0))
