import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest


@pytest.fixture
def briefly(monkeypatch):
    """The doctor measures for half a second instead of fifteen: enough to tell causes that are far apart."""
    from myxtts.performance import observe, resident

    monkeypatch.setattr(observe, "LOADER_SECONDS", 0.4)
    monkeypatch.setattr(observe, "LOOP_SECONDS", 0.4)
    monkeypatch.setattr(observe, "_WARM_UP_SECONDS", 0.1)
    monkeypatch.setattr(resident, "DEVICE_SECONDS", 0.1)
