"""ONNX Runtime is loaded without what it would tell its maker."""

import os
import subprocess
import sys

# It also keeps quiet where it takes the process for a test: then this one could not fail.
QUIET = ("ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS", "CI", "GITHUB_ACTIONS", "TF_BUILD", "BUILD_NUMBER")
LOAD = "import myxtts.inference.onnx_session, onnxruntime; onnxruntime.get_device()"


def test_onnx_runtime_gives_the_user_no_number(tmp_path):
    env = {name: value for name, value in os.environ.items() if name not in QUIET}
    env |= dict.fromkeys(("TMPDIR", "XDG_CACHE_HOME", "HOME"), str(tmp_path))
    subprocess.run([sys.executable, "-c", LOAD], check=True, env=env)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
