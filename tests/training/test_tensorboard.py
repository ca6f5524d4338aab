"""What TensorBoard would read: the event files are read back with TensorFlow's own reader."""

import io
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest
import soundfile
import tensorflow as tf

from myxtts.training.tensorboard import Board, paint, paint_pair


def events_of(folder):
    """All events of a folder in TensorBoard's order: by the name of the file."""
    return [
        [tf.compat.v1.Event.FromString(record) for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator()]
        for path in sorted(folder.iterdir())
    ]


def values_of(events):
    return [(event.step, value) for event in events for value in event.summary.value]


def test_scalars_come_back(tmp_path):
    with Board(tmp_path) as board:
        board.scalars({"loss/mel": tf.constant(0.5), "lr": np.float32(1e-3)}, 7)
        board.scalars({"loss/mel": float("nan")}, 8)
    (events,) = events_of(tmp_path)
    assert events[0].file_version == "brain.Event:2"
    scalars = [(step, value.tag, value.simple_value) for step, value in values_of(events)]
    assert scalars[:2] == [(7, "loss/mel", 0.5), (7, "lr", pytest.approx(1e-3))]
    assert np.isnan(scalars[2][2])
    assert all(event.wall_time > 1.7e9 for event in events)


def test_a_kill_costs_at_most_the_last_seconds(tmp_path):
    board = Board(tmp_path)
    board.alignment("alignment/1", np.eye(5), 3)
    assert [value.tag for _, value in values_of(events_of(tmp_path)[0])] == ["alignment/1"]  # before any close
    board.close()


def test_spectrograms_are_one_above_the_other(tmp_path):
    real = np.full((30, 80), np.log(1e-5), np.float32)
    real[:, 10] = 0.0  # a low tone
    spoken = real[:20] + 0.0
    with Board(tmp_path) as board:
        board.spectrograms("mel/1", real, spoken, 4)
    ((step, value),) = values_of(events_of(tmp_path)[0])
    image = tf.io.decode_png(value.image.encoded_image_string).numpy()
    assert (step, value.tag, image.shape) == (4, "mel/1", (2 * 160 + 4, 60, 3))
    assert (value.image.height, value.image.width) == image.shape[:2]
    above, below = image[:160], image[164:]
    assert (image[160:164] == 255).all()
    np.testing.assert_array_equal(above[:, :40], below[:, :40])
    bright = np.flatnonzero(above[:, 0].sum(axis=1) > above[0, 0].sum())
    assert bright.tolist() == [138, 139]  # bin 10 from the bottom, two pixels high
    assert (below[:, 40:] == above[0, 0]).all()  # silence where nothing was spoken


def test_alignments_start_at_the_bottom_left(tmp_path):
    with Board(tmp_path) as board:
        board.alignment("alignment/1", np.eye(6)[:, [0, 0, 1, 2, 3, 4, 5]], 1)
    ((_, value),) = values_of(events_of(tmp_path)[0])
    image = tf.io.decode_png(value.image.encoded_image_string).numpy()
    assert image.shape == (12, 14, 3)
    assert (image[-1, 0] == image[-1, 3]).all()
    assert (image[-1, 0] != image[-1, 4]).any()
    assert (image[0, -1] == image[-1, 0]).all()


def test_audio_comes_back_and_is_clipped(tmp_path):
    samples = np.sin(np.arange(2205) * 0.1) * 1.5
    with Board(tmp_path) as board:
        board.audio("spoken/1", samples, 9)
    ((step, value),) = values_of(events_of(tmp_path)[0])
    assert (step, value.metadata.plugin_data.plugin_name) == (9, "audio")
    clip, rate = soundfile.read(io.BytesIO(tf.make_ndarray(value.tensor)[0, 0]))
    assert rate == 22050
    np.testing.assert_allclose(clip, np.clip(samples, -1, 1), atol=2e-4)


def shown_by_the_python_reader(folder, tag):
    """What its rule leaves: a session mark that is not the first drops all that is not before its step."""
    shown, marks = [], 0
    for event in sum(events_of(folder), []):
        if event.session_log.status == tf.compat.v1.SessionLog.START:
            marks += 1
            shown = [point for point in shown if point[0] < event.step] if marks > 1 else shown
        shown += [(event.step, value.simple_value) for value in event.summary.value if value.tag == tag]
    return shown


def test_a_resumed_run_shows_each_step_once(tmp_path):
    with Board(tmp_path) as board:
        for step in range(1, 11):
            board.scalars({"loss": step}, step)
    with Board(tmp_path, resumed_at=6) as board:  # within the same second: its name must still sort last
        board.scalars({"loss": 70}, 7)
        board.scalars({"loss": 80}, 8)
        board.resume(7)  # back to a checkpoint without a new start
        board.scalars({"loss": 800}, 8)
    assert len(list(tmp_path.iterdir())) == 2
    expected = [(step, step) for step in range(1, 7)] + [(7, 70), (8, 800)]
    assert shown_by_the_python_reader(tmp_path, "loss") == expected


def test_colours_run_from_dark_to_bright_and_survive_nonsense():
    colours = paint(np.linspace(0, 1, 256, dtype=np.float32)[None], 0.0, 1.0)[0].astype(int)
    assert (np.diff(colours @ [2, 7, 1]) >= 0).all()  # lightness
    assert colours[0].tolist() == [68, 1, 84]
    assert colours[-1].tolist() == [253, 231, 37]
    odd = paint(np.array([[np.nan, -np.inf, np.inf, 5.0]], np.float32), 0.0, 1.0)[0]
    assert odd.tolist() == [[68, 1, 84]] * 2 + [[253, 231, 37]] * 2
    assert paint_pair(np.zeros((3, 80), np.float32), np.full((5, 80), np.nan, np.float32)).shape == (324, 10, 3)
