"""ONNX Runtime, set up for one voice: as many threads as this process has cores, none of which waits by spinning."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from myxtts.errors import CheckpointDamaged, MissingExtra


def open_session(path: Path) -> Any:
    runtime = _runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Sentences have any length: an arena would keep what the longest took (60 MB for 4,500 frames), and is no faster.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.disable_quant_qdq", "1")  # 8-bit weights are widened once, not every time
    try:
        return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except _faults(runtime) as error:
        raise CheckpointDamaged(f"ONNX Runtime cannot load {path} ({error}): export the model again") from None


def compute(session: Any, values: dict[str, Any]) -> list[Any] | None:
    """The outputs; None where the values are none that the graph can compute with."""
    runtime = _runtime()
    try:
        outputs: list[Any] = session.run(None, values)
    except _faults(runtime):
        return None
    return outputs


def _runtime() -> Any:
    try:
        import onnxruntime
    except ModuleNotFoundError:
        raise MissingExtra("onnxruntime", "speak", "speaking with an exported model") from None
    return onnxruntime


def _faults(runtime: Any) -> tuple[type[Exception], ...]:
    state = runtime.capi.onnxruntime_pybind11_state
    return state.Fail, state.InvalidArgument, state.InvalidGraph, state.InvalidProtobuf, state.RuntimeException
