"""What a request of the page asks for: a JSON object of a known shape, and nothing else."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from myxtts.serving.order import read_object
from myxtts.serving.problems import invalid
from myxtts.shapes import Only, misfit


async def asked(request: Request, shape: dict[str, Any] | None = None) -> dict[str, Any]:
    """With `shape` no other keys are taken; without it whoever gets the object looks at it."""
    values = read_object(await request.body())
    if shape is not None and (unfit := misfit(values, Only(shape))):
        raise invalid(unfit)
    return values
