"""Files at an address: http(s) by the standard library, s3, gs and az by obstore. Bytes come whole or with an error.

    remote = Remote("s3://bucket/voices.cache")
    remote.read("cache.json")                    # small files, and ranges of large ones
    for piece in remote.stream("00000.cache/mel.npy", start=1 << 20): ...

An error is `Unreachable` where it may be better later (a server that is down, slow or cut off), and a CacheError where
it will not (no such file, no permission).
"""

from __future__ import annotations

import http.client
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

from myxtts.errors import CacheError, MissingExtra

_ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://.+")
_STORES = ("s3", "s3a", "gs", "az", "abfs", "abfss")
_TIMEOUT_SECONDS = 30  # without a single byte
_PIECE_BYTES = 1 << 20
_PERMANENT = (400, 401, 403, 404, 410)


class Unreachable(CacheError):
    """It may be there later."""


def is_address(path: Any) -> bool:
    return isinstance(path, str) and _ADDRESS.fullmatch(path) is not None


class Remote:
    def __init__(self, address: str):
        self.address = address.rstrip("/")
        scheme = self.address.partition("://")[0]
        if scheme in ("http", "https"):
            self._store: Any = None
        elif scheme in _STORES:
            self._store = _open_store(self.address)
        else:
            raise CacheError(f"{address}: found {scheme}://, expected https://, http://, s3://, gs:// or az://")

    def read(self, name: str, start: int = 0, stop: int | None = None) -> bytes:
        """A whole file, or some bytes of it: as many as were asked for."""
        content = b"".join(self.stream(name, start, stop))
        if stop is not None and len(content) != stop - start:
            raise Unreachable(f"{self.address}/{name} gave {len(content)} bytes, expected {stop - start}")
        return content

    def stream(self, name: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """A file's bytes from `start` on, piece by piece."""
        return self._stream_http(name, start, stop) if self._store is None else self._stream_store(name, start, stop)

    def _stream_http(self, name: str, start: int, stop: int | None) -> Iterator[bytes]:
        request = urllib.request.Request(f"{self.address}/{name}")
        if start or stop is not None:
            request.add_header("Range", f"bytes={start}-{'' if stop is None else stop - 1}")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
                skip = start if answer.status == 200 else 0  # a server that knows no ranges sends all of it
                left = None if stop is None else stop - start
                while piece := answer.read(_PIECE_BYTES):
                    piece, skip = piece[skip:], max(skip - len(piece), 0)
                    piece = piece if left is None else piece[:left]
                    left = None if left is None else left - len(piece)
                    yield piece
                    if left == 0:
                        return
                if answer.length:  # of what was promised: a connection that ends early is no error to `read`
                    raise self._explained(name, f"it was cut off {answer.length} bytes before its end")
        except urllib.error.HTTPError as error:
            if error.code == 416:  # the range begins at the end: nothing is left
                return
            raise self._explained(name, f"{error.code} {error.reason}", error.code in _PERMANENT) from None
        except (OSError, http.client.HTTPException) as error:
            raise self._explained(name, str(error) or type(error).__name__) from None

    def _stream_store(self, name: str, start: int, stop: int | None) -> Iterator[bytes]:
        import obstore
        from obstore import exceptions

        given: Any = {"offset": start} if stop is None else (start, stop)
        options = {"range": given} if start or stop is not None else {}
        try:
            for piece in obstore.get(self._store, name, options=options).stream(_PIECE_BYTES):
                yield bytes(piece)
        except (FileNotFoundError, exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise self._explained(name, _first_line(error), permanent=True) from None
        except (exceptions.BaseError, OSError) as error:
            raise self._explained(name, _first_line(error)) from None

    def _explained(self, name: str, what: str, permanent: bool = False) -> CacheError:
        message = f"{self.address}/{name} cannot be read: {what}"
        if permanent:
            return CacheError(f"{message}; check the address and your credentials")
        return Unreachable(message)


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:300]


def _open_store(address: str) -> Any:
    try:
        from obstore import exceptions
        from obstore.store import from_url
    except ImportError:
        raise MissingExtra("obstore", "remote", f"reading {address}") from None
    from datetime import timedelta

    plain = os.environ.get("AWS_ENDPOINT_URL", os.environ.get("AWS_ENDPOINT", "")).startswith("http://")
    patience = timedelta(seconds=_TIMEOUT_SECONDS)
    client = {"allow_http": plain, "connect_timeout": patience, "read_timeout": patience, "timeout": timedelta(hours=1)}
    # Who waits for a shard tries again and says so; here an error shall not hide for three minutes.
    retries = {"max_retries": 1, "retry_timeout": patience}
    try:
        return from_url(address, client_options=client, retry_config=retries)
    except (exceptions.BaseError, ValueError) as error:
        raise CacheError(f"{address} is no address of a store: {_first_line(error)}") from None
