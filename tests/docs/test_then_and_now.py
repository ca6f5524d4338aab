"""The page "Then and now" is true: all that the older documents name is on it, and what it names today exists."""

import re
import shlex

import pytest
import tensorflow as tf
import yaml
from docs.pages import PAGES, ROOT

from myxtts.cli import _parser
from myxtts.config.config import XTTSConfig, preset_names

PAGE, PERSIAN = "then-and-now.md", "then-and-now.fa.md"

# What PERFORMANCE_IMPROVEMENTS, GPU_BOTTLENECK_FIX_GUIDE and GPU_OSCILLATION_FIX (and the tools around them) name.
PROGRAMS = """trainTestFile.py train_main.py test_performance.py gpu_monitor.py benchmark_gpu_utilization.py
    test_gpu_bottleneck_fix.py gpu_optimization_quick_start.py diagnose_gpu_bottleneck.py gpu_profiler.py
    enhanced_gpu_profiler.py training_step_profiler.py comprehensive_gpu_diagnostic.py
    analyze_data_pipeline_bottleneck.py validate_gpu_pipeline.py validate_gpu_optimization.py
    run_complete_gpu_analysis.sh nvidia-smi tensorflow-io"""
FLAGS = """--mode --train-data --val-data --batch-size --num-workers --optimization-level --preprocessing-mode
    --prefetch-buffer-size --disable-tf-native-loading --disable-gpu-prefetch --disable-cpu-gpu-overlap
    --create-test-data --num-batches --log-file --duration --fix"""
FILES = """config.yaml config_gpu_bottleneck_fix.yaml myxtts/data/ljspeech.py myxtts/data/tf_native_loader.py
    myxtts/utils/performance.py tf_native_cache_train/ GPU_BOTTLENECK_FIX_GUIDE.md PERFORMANCE_IMPROVEMENTS.md
    GPU_OSCILLATION_FIX.md"""
KEYS = """num_workers prefetch_buffer_size batch_size shuffle_buffer_multiplier enable_memory_mapping cache_verification
    memory_cache prefetch_to_gpu enhanced_gpu_prefetch optimize_cpu_gpu_overlap preprocessing_mode
    use_tf_native_loading auto_tune_performance auto_rebuild_token_cache auto_rebuild_mel_cache max_mel_frames
    enable_graph_mode enable_eager_debug gradient_accumulation_steps enable_xla_compilation mixed_precision
    pad_to_fixed_length max_text_length pin_memory persistent_workers"""
NAMES = """LJSpeechDataset precompute_mels precompute_tokens create_tf_dataset verify_and_fix_cache wav_to_mel
    get_performance_report XTTSTrainer train_step performance_monitor log_step_timing PerformanceMonitor
    start_performance_monitoring get_performance_monitor print_performance_report TFNativeDataLoader
    load_and_process_audio _load_mel_with_mmap raw[128:] map_vectorization experimental_deterministic
    prefetch_to_device"""


def rows(page: str) -> list[tuple[str, str, str]]:
    """(then, now, why) of every table."""
    lines = re.findall(r"^\| (.*?) \| (.*?) \|(.*)\|$", PAGES[page], flags=re.M)
    return [(then, now, why.strip()) for then, now, why in lines if now not in ("now", "امروز")]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize(
    "names", [PROGRAMS, FLAGS, FILES, KEYS, NAMES], ids=["programs", "flags", "files", "keys", "names"]
)
def test_everything_that_the_older_documents_name_is_on_the_page(names):
    then = " ".join(part for row in rows(PAGE) for part in code(row[0]))
    assert [name for name in names.split() if name not in then] == []


def test_the_persian_page_names_the_same():
    assert len(rows(PAGE)) == len(rows(PERSIAN)) > 40
    for english, persian in zip(rows(PAGE), rows(PERSIAN), strict=True):
        for column in (0, 1):
            assert code(english[column]) == code(persian[column]), english[0]
    links = [re.findall(r"\]\((\S+?)\)", PAGES[page]) for page in (PAGE, PERSIAN)]
    assert links[0] == links[1]


def test_nothing_that_is_said_to_be_gone_lies_at_the_root():
    for name in ("trainTestFile.py", "test_performance.py", "gpu_monitor.py", "benchmark_gpu_utilization.py",
                 "config_gpu_bottleneck_fix.yaml", "config.yaml", "PERFORMANCE_IMPROVEMENTS.md"):  # fmt: skip
        assert not (ROOT / name).exists(), name


def test_every_program_and_file_of_today_exists_and_takes_its_flags():
    checked = []
    for then, now, _ in rows(PAGE):
        for line in code(now) + (code(then) if now.startswith("the same") else []):
            words = shlex.split(line)
            if words[0] == "python":
                assert (ROOT / words[1]).is_file(), line
                _takes(words[1], words[2:])
                checked.append(words[1])
            elif re.match(r"(configs|myxtts|utilities)/", words[0]):
                assert (ROOT / words[0]).is_file(), line
    assert {"train_main.py", "utilities/gpu_monitor.py", "utilities/test_performance.py"} <= set(checked)


def _takes(program: str, words: list[str]) -> None:
    """The flags are those of the verb that the program is, or its own."""
    verb = {"train_main.py": "train", "utilities/gpu_monitor.py": "monitor"}.get(program)
    if verb is not None:
        _parser().parse_args([verb, *words])
        return
    source = (ROOT / program).read_text(encoding="utf-8")
    for flag in (word for word in words if word.startswith("--")):
        assert f'add_argument("{flag}"' in source, f"{program} {flag}"


def test_every_flag_that_is_the_same_is_accepted_by_train():
    (row,) = (row for row in rows(PAGE) if row[0].startswith("`--preprocessing-mode`"))
    values = {"--preprocessing-mode": ["auto"], "--prefetch-buffer-size": ["12"]}
    words = [word for flag in code(row[0]) for word in (flag, *values.get(flag, []))]
    config = _parser().parse_args(["train", *words])
    assert config.verb is not None
    (row,) = (row for row in rows(PAGE) if row[0].startswith("`--grad-accum"))
    _parser().parse_args(["train", *(word for part in code(row[1]) for word in part.split())])


def test_every_key_of_today_has_the_default_that_is_shown():
    settings = XTTSConfig().to_dict()
    shown = re.findall(r"`(data|training)\.(\w+)` (\w+)", " | ".join(now for _, now, _ in rows(PAGE)))
    assert len(shown) >= 9
    for section, key, value in shown:
        assert settings[section][key] == yaml.safe_load(value), key


@pytest.mark.parametrize("section", ["data", "training"])
def test_every_key_that_is_the_same_exists(section):
    same = [code(then) for then, now, _ in rows(PAGE) if now == f"the same, under `{section}`"]
    keys = [key for row in same for key in row]
    assert len(keys) >= 3
    assert [key for key in keys if key not in XTTSConfig().to_dict()[section]] == []


def test_every_preset_exists():
    presets = re.findall(r"--preset (\w+)", PAGES[PAGE])
    assert len(presets) == 3
    assert set(presets) <= set(preset_names())


def test_every_python_name_that_is_the_same_exists():
    from myxtts.data.ljspeech import AudioProcessor, LJSpeechDataset
    from myxtts.data.tf_native_loader import TFNativeDataLoader
    from myxtts.monitor import Monitor
    from myxtts.training.trainer import XTTSTrainer
    from myxtts.utils import performance

    owners = (LJSpeechDataset, AudioProcessor, XTTSTrainer, Monitor, TFNativeDataLoader, performance)
    known = {name for owner in owners for name in (*dir(owner), getattr(owner, "__name__", ""))}
    called = [part for then, now, _ in rows(PAGE) if now == "the same" for part in code(then) if "/" not in part]
    called = [part for part in called if not part.startswith("-")]
    assert len(called) >= 15
    for part in called:
        for name in re.sub(r"\(.*?\)", "", part).split("."):
            assert name in known | {"trainer", "audio_processor"}, part


def test_the_code_that_is_said_not_to_work_does_not():
    raw = tf.constant(b"x" * 200)
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError, TypeError, IndexError)):
        raw[128:]
    assert tf.strings.length(tf.strings.substr(raw, 128, -1)) == 72
    with pytest.raises(AttributeError):
        tf.data.Options().experimental_optimization.map_vectorization.enabled = True
