"""Networks for tests, as ONNX models: policies that nobody trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Shape = list[int | str]


def model(
    width: int, *, seed: int = 1, scale: float = 8.0, shift: float = 0.0, shape: Shape | None = None, **kinds: Any
) -> onnx.ModelProto:
    """A network with a layer of 16, of random weights, and a second output, as those of actors and critics have."""
    dice = np.random.default_rng(seed)
    float_type = kinds.get("float_type", TensorProto.FLOAT)
    dtype = helper.tensor_dtype_to_np_dtype(float_type)
    weights = {
        "first": dice.normal(size=(width, 16)) / np.sqrt(width),
        "second": dice.normal(size=(16, kinds.get("actions", 1))),
        "scale": np.array(scale),
        "shift": np.array(shift),
        "flat": np.array([-1, width]),
    }
    if kinds.get("open"):
        weights["which"] = np.array([True, True])
    types = {"flat": np.int64, "which": np.bool_}
    held = [numpy_helper.from_array(x.astype(types.get(name, dtype)), name) for name, x in weights.items()]
    nodes = [
        helper.make_node("Reshape", ["observation", "flat"], ["row"]),
        helper.make_node("MatMul", ["row", "first"], ["a"]),
        helper.make_node("Tanh", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "second"], ["c" if not kinds.get("open") else "all"]),
        helper.make_node("Sin", ["c"], ["d"]),
        helper.make_node("Mul", ["d", "scale"], ["e"]),
        helper.make_node(kinds.get("last", "Add"), ["e", "shift"], ["action"]),
        helper.make_node("ReduceSum", ["b"], ["value"]),
    ]
    if kinds.get("open"):  # how many columns are left is known when it is computed
        nodes.insert(4, helper.make_node("Compress", ["all", "which"], ["c"], axis=1))
    inputs = [helper.make_tensor_value_info("observation", float_type, shape or ["batch", width])]
    inputs += [helper.make_tensor_value_info(name, float_type, [1]) for name in kinds.get("beside", [])]
    outputs = [
        helper.make_tensor_value_info("action", float_type, kinds.get("answer", ["batch", kinds.get("actions", 1)])),
        helper.make_tensor_value_info("value", float_type, None),
    ]
    graph = helper.make_graph(nodes, "policy", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
