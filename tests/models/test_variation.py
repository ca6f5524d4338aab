"""Voices in other colours: clip and reference alike, a share of the rows, as the seed says."""

import numpy as np
import tensorflow as tf
from small_models import make_batch

from myxtts.models.variation import vary

SEED = tf.constant([3, 4])


def loud_batch(rows: int = 200) -> dict:
    """References that are loud, so that noise does not show."""
    batch = make_batch(rows)
    return batch | {"reference": np.full_like(batch["reference"], 3.0)}


def test_nothing_changes_without_a_share_or_without_references():
    batch = make_batch()
    assert vary(batch, 0.0, SEED) is batch
    alone = {name: part for name, part in batch.items() if name != "reference"}
    assert vary(alone, 1.0, SEED) is alone


def test_a_clip_and_its_reference_get_the_same_colour():
    batch = loud_batch()
    varied = vary(batch, 0.5, SEED)
    colour = np.asarray(varied["mel"] - batch["mel"])
    np.testing.assert_allclose(colour, np.broadcast_to(colour[:, :1], colour.shape), atol=1e-5)
    np.testing.assert_allclose(
        varied["reference"] - batch["reference"], colour[:, : batch["reference"].shape[1]], atol=1e-2
    )
    changed = np.abs(colour).max(axis=(1, 2)) > 1e-3
    assert 0.35 < changed.mean() < 0.65


def test_some_references_get_noise_and_no_clip_does():
    batch = make_batch(200)
    batch["reference"][:] = -11.5
    varied = vary(batch, 1.0, SEED)
    louder = np.asarray(varied["reference"]).mean(axis=(1, 2)) > -10.5
    assert 0.65 < louder.mean() < 0.95
    assert np.isfinite(varied["reference"]).all()
    colour = np.asarray(varied["mel"] - batch["mel"])
    np.testing.assert_allclose(colour, np.broadcast_to(colour[:, :1], colour.shape), atol=1e-5)


def test_the_seed_decides():
    batch = make_batch()
    first, again, other = (vary(batch, 1.0, seed)["mel"] for seed in (SEED, SEED, SEED + 1))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.1
