"""Numbers the tokens of a packed cache by another table: for a shard whose texts have symbols that others have not.

Only tokens.npy, its hashes and cache.json are written anew; the other files are the same files under two names until
the new folder takes the old one's place.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from myxtts.cache.format import FORMAT, MANIFEST, REJECTED, TOKENS, TOKENS_DTYPE, column_file, hash_column, npy_header
from myxtts.cache.manifest import dump_manifest, load_manifest
from myxtts.cache.prepare import hash_rows
from myxtts.cache.publish import building_lock
from myxtts.features.token_table import TokenTable
from myxtts.files import empty_folder, fingerprint, hash_file, publish, write_whole

_HASHES = column_file(hash_column("tokens"))


def retable(cache: Path, symbols: list[str]) -> None:
    """Publish the cache with the token table `symbols`, which must have all that its own has."""
    body = load_manifest(cache)
    if TokenTable(symbols).extends(TokenTable(body["token_table"])):
        return  # its ids mean the same
    with building_lock(cache) as building:
        empty_folder(building)
        for name in [*body["lengths"], REJECTED]:
            if name not in (TOKENS, _HASHES):
                os.link(cache / name, building / name)
        tokens = TokenTable(symbols).encode(body["token_table"], grow=False)[np.load(cache / TOKENS)]
        ends = np.load(cache / column_file("first_token")) + np.load(cache / column_file("n_tokens"))
        hashes = np.array([hash_rows(own) for own in np.split(tokens, ends[:-1])], "<u8")
        write_whole(building / TOKENS, npy_header(TOKENS_DTYPE, tokens.shape) + tokens.tobytes())
        write_whole(building / _HASHES, npy_header("<u8", hashes.shape) + hashes.tobytes())
        body["checksums"][_HASHES] = hash_file(building / _HASHES)
        index = {name: value for name, value in body["checksums"].items() if name != REJECTED}
        identity = {"format": FORMAT, "mode": body["mode"], "fingerprints": body["fingerprints"], "checksums": index}
        body |= {"token_table": symbols, "id": fingerprint(identity)}
        write_whole(building / MANIFEST, dump_manifest(body))
        publish(building, cache, MANIFEST)
