"""Files at an address: http(s) by the standard library, s3, gs and az by obstore. Bytes come whole or with an error.

    remote = Remote("s3://bucket/voices.cache")
    remote.read("cache.json")                    # small files, and ranges of large ones
    for piece in remote.stream("00000.cache/mel.npy", start=1 << 20): ...
    remote.put("cache.json", path)               # in stores; whole or not at all

An error is `Unreachable` where it may be better later (a server that is down, slow or cut off), and a CacheError where
it will not (no permission), `Absent` if there is no such file.
"""

from __future__ import annotations

import http.client
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from myxtts.errors import CacheError, MissingExtra

_ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://.+")
_STORES = ("s3", "s3a", "gs", "az", "abfs", "abfss")
_TIMEOUT_SECONDS = 30  # without a single byte
_PIECE_BYTES = 1 << 20
_PERMANENT, _ABSENT = (400, 401, 403, 404, 410), (404, 410)
PART_BYTES = 8 << 20  # of a file that is put there in parts; S3 wants at least 5 MB and at most 10,000 of them
_PARTS_AT_ONCE = 4
_TRIAL = ".myxtts-may-write"


class Unreachable(CacheError):
    """It may be there later."""


def is_address(path: Any) -> bool:
    return isinstance(path, str) and _ADDRESS.fullmatch(path) is not None


class Absent(CacheError):
    """There is no such file."""


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
            kind = Absent if error.code in _ABSENT else CacheError
            raise self._explained(
                name, f"{error.code} {error.reason}", error.code in _PERMANENT, "read", kind
            ) from None
        except (OSError, http.client.HTTPException) as error:
            raise self._explained(name, str(error) or type(error).__name__) from None

    def _stream_store(self, name: str, start: int, stop: int | None) -> Iterator[bytes]:
        import obstore

        given: Any = {"offset": start} if stop is None else (start, stop)
        options = {"range": given} if start or stop is not None else {}
        with self._errors_of(name, "read"):
            for piece in obstore.get(self._store, name, options=options).stream(_PIECE_BYTES):
                yield bytes(piece)

    # ---- writing, in stores alone ------------------------------------------------------------------------------------

    def refuse_to_write(self) -> None:
        """An error now, where `put` would give one after hours of packing."""
        if self._store is None:
            raise CacheError(
                f"{self.address} can be read but not written: pack into a folder, 'myxtts pack CORPUS -o CACHE --dask "
                "local:2', and copy it to where that server has its files; or name an address s3://, gs:// or az://"
            )
        import obstore

        with self._errors_of(_TRIAL, "written"):
            obstore.put(self._store, _TRIAL, b"may this be written?")
        self.delete(_TRIAL)

    def put(self, name: str, path: Path) -> str:
        """Put a file there; the store's tag of its content, "" if it gives none."""
        import obstore

        with self._errors_of(name, "written"):
            options = {"chunk_size": PART_BYTES, "max_concurrency": _PARTS_AT_ONCE}
            return str(obstore.put(self._store, name, path, **options)["e_tag"] or "").strip('"')

    def stat(self, name: str) -> tuple[int, str] | None:
        """(bytes, tag) of a file, None if there is none."""
        import obstore

        try:
            with self._errors_of(name, "read"):
                meta = obstore.head(self._store, name)
        except Absent:
            return None
        return int(meta["size"]), str(meta["e_tag"] or "").strip('"')

    def names(self) -> list[str]:
        """Of all files there."""
        import obstore

        with self._errors_of("", "listed"):
            return [str(meta["path"]) for page in obstore.list(self._store) for meta in page]

    def delete(self, name: str) -> None:
        """If it is there."""
        import obstore

        try:
            with self._errors_of(name, "deleted"):
                obstore.delete(self._store, name)
        except Absent:
            return

    @contextmanager
    def _errors_of(self, name: str, done: str) -> Iterator[None]:
        """What obstore raises, as we say it."""
        from obstore import exceptions

        try:
            yield
        except FileNotFoundError as error:
            raise self._explained(name, _first_line(error), True, done, Absent) from None
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise self._explained(name, _first_line(error), True, done) from None
        except (exceptions.BaseError, OSError) as error:
            raise self._explained(name, _first_line(error), False, done) from None

    def _explained(
        self, name: str, what: str, permanent: bool = False, done: str = "read", kind: type[CacheError] = CacheError
    ) -> CacheError:
        message = f"{self.address}/{name} cannot be {done}: {what}"
        return kind(f"{message}; check the address and your credentials") if permanent else Unreachable(message)


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:300]


def _open_store(address: str) -> Any:
    try:
        from obstore import exceptions
        from obstore.store import from_url
    except ImportError:
        raise MissingExtra("obstore", "remote", f"using {address}") from None
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
