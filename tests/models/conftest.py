"""Models that the tests of this room share."""

import pytest
from small_models import make_model

from myxtts.models.xtts import XTTS


@pytest.fixture(scope="session")
def model() -> XTTS:
    """Read it; make another to change it."""
    return make_model()
