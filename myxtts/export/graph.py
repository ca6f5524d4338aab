"""An ONNX graph, written node by node: `graph("Add", x, y)` adds a node and returns the name of its result.

Learnt matrices are kept as they can be kept without loss: in half precision where they were saved in it. With `int8`
they are rounded to 8 bits with a scale for each column. Runtimes widen both once, when they load the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import CheckpointDamaged, CheckpointError, MissingExtra

try:
    import onnx
    from onnx import helper, numpy_helper
except ModuleNotFoundError:
    raise MissingExtra("onnx", "export", "writing an ONNX graph") from None

OPSET, IR_VERSION = 17, 8  # of 2022: read by ONNX Runtime since 1.12, and by TensorRT, OpenVINO and browsers
Array = NDArray[Any]
Shape = tuple[int | str, ...]
_LEAST_INT8 = 4096  # elements: below it the scales weigh as much as what is saved


class Graph:
    """`name`, and the weights that its layers are looked up in."""

    def __init__(self, name: str, weights: Mapping[str, Array], int8: bool = False):
        self._name, self._weights, self._int8 = name, weights, int8
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, kind: type[np.generic], *shape: int | str) -> str:
        self._inputs.append(_value(name, kind, shape))
        return name

    def output(self, value: str, name: str, kind: type[np.generic], *shape: int | str) -> None:
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(_value(name, kind, shape))

    def __call__(self, op: str, *inputs: Any, **attributes: Any) -> str:
        """Inputs are names of values, or numbers: int is int64, float is float32."""
        return self.several(op, 1, *inputs, **attributes)[0]

    def several(self, op: str, count: int, *inputs: Any, **attributes: Any) -> list[str]:
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        results = [f"{op}_{len(self._nodes)}_{n}" for n in range(count)]
        self._nodes.append(helper.make_node(op, names, results, **attributes))
        return results

    def constant(self, value: Any) -> str:
        array = _array(value)
        key = f"constant_{array.dtype}_{array.shape}_{hash(array.tobytes())}"
        if key not in self._constants:
            self._constants[key] = numpy_helper.from_array(array, f"constant_{len(self._constants)}")
        return str(self._constants[key].name)

    def weight(self, path: str) -> NDArray[np.float32]:
        if path not in self._weights:
            raise CheckpointError(f"the weights lack {path}: use the model.json that lies beside them")
        values = np.asarray(self._weights[path], np.float32)
        if not np.isfinite(values).all():
            raise CheckpointDamaged(f"{path} holds NaN or infinities: use another checkpoint")
        return values

    def matrix(self, array: Array) -> str:
        """A learnt matrix [rows, columns] as float32, kept in fewer bits."""
        array = np.asarray(array, np.float32)
        if self._int8 and array.ndim == 2 and array.size >= _LEAST_INT8:
            scale = np.maximum(np.abs(array).max(axis=0), 1e-12) / np.float32(127.0)
            rounded = np.round(array / scale).astype(np.int8)
            return self("DequantizeLinear", rounded, scale, np.zeros(len(scale), np.int8), axis=1)
        half = array.astype(np.float16)
        if np.array_equal(half.astype(np.float32), array):
            return self("Cast", half, to=onnx.TensorProto.FLOAT)
        return self.constant(array)

    def to_bytes(self, notes: Mapping[str, str]) -> bytes:
        """The whole model, checked. `notes` go into its metadata."""
        graph = helper.make_graph(self._nodes, self._name, self._inputs, self._outputs, [*self._constants.values()])
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="MyXTTS"
        )
        helper.set_model_props(model, dict(notes))
        onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString())


def _value(name: str, kind: type[np.generic], shape: Shape) -> Any:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape)


def _array(value: Any) -> Array:
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    array = np.asarray(value)
    return array.astype(np.float32 if array.dtype.kind == "f" else np.int64)
