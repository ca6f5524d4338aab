"""Clips wait their turn to be decoded, a few at a time; who cannot wait is told so."""

import asyncio

import pytest

from myxtts.serving import uploads
from myxtts.serving.problems import Problem


def test_more_clips_than_may_wait_are_refused(monkeypatch, tmp_path):
    release, running = asyncio.Event(), []

    async def decode(module, words, clip):
        running.append(clip)
        await release.wait()
        return uploads.REFUSED, b"", "no sound"

    async def meet():
        decoding = uploads.Decoding()
        waiting = [asyncio.create_task(decoding.crops(b"%d" % n, tmp_path)) for n in range(uploads._MOST_CLIPS)]
        await asyncio.sleep(0)
        with pytest.raises(Problem) as refusal:
            await decoding.crops(b"one more", tmp_path)
        release.set()
        problems = await asyncio.gather(*waiting, return_exceptions=True)
        assert {each.status for each in problems} == {400}
        with pytest.raises(Problem, match="no sound"):
            await decoding.crops(b"again", tmp_path)
        return refusal.value

    monkeypatch.setattr(uploads, "run_apart", decode)
    problem = asyncio.run(meet())
    assert (problem.status, problem.code) == (429, "rate_limit_exceeded")
    assert int(problem.headers["Retry-After"]) >= 1
    assert b"one more" not in running


def test_a_clip_that_takes_too_long_is_a_matter_of_the_machine(monkeypatch, tmp_path):
    monkeypatch.setattr(uploads, "_SECONDS", 1e-3)
    with pytest.raises(Problem) as refusal:
        asyncio.run(uploads.Decoding().crops(b"x", tmp_path))
    assert refusal.value.status == 429
