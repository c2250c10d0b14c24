"""The JSON Schema of a study file, for editors. Within scenarios any text may hold `{factor}`."""

from __future__ import annotations

from typing import Any

from haltere.study.model import StudyFile


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of a study file."""
    schema = StudyFile.model_json_schema(mode="validation")
    text = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}
    named = {"type": "object", "properties": {"label": {"type": "string", "minLength": 1}}, "required": ["label"]}
    schema["$defs"]["Level"] = {
        "title": "Level",
        "description": "A value of a factor, or a table with a label.",
        "anyOf": [*text["anyOf"], named],
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A haltere study file"}
