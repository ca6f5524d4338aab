"""What is wrong with a request, in the shape in which OpenAI's API says it."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Any

from myxtts.errors import MyXTTSError

_log = logging.getLogger(__name__)

_TYPES = {401: "authentication_error", 429: "rate_limit_error"}


class Problem(Exception):
    """Answered with `status` and `{"error": {message, type, param, code}}`."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None):
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code
        self.headers: dict[str, str] = {}

    def body(self) -> dict[str, Any]:
        kind = "server_error" if self.status >= 500 else _TYPES.get(self.status, "invalid_request_error")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


def invalid(message: str, param: str | None = None, code: str | None = None) -> Problem:
    return Problem(400, message, param, code)


def too_busy(message: str, seconds: float) -> Problem:
    problem = Problem(429, message, code="rate_limit_exceeded")
    problem.headers["Retry-After"] = str(max(1, round(seconds)))
    return problem


class Foreseen:
    """Whatever leaves this block is a `Problem`: what we refuse is the client's, what nobody foresaw ours. This is the
    one place where the unforeseen becomes a 500, and its traceback a line of the log."""

    def __init__(self, *others: type[Exception]):
        self._others: tuple[type[Exception], ...] = (Problem, *others)  # who stands outside knows them

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        if not isinstance(error, Exception) or isinstance(error, self._others):
            return
        if isinstance(error, MyXTTSError):
            raise invalid(str(error)) from None
        _log.error("a request failed", exc_info=error)
        raise Problem(500, "the server failed on this request: its log says why") from None
