"""Small packages of the form of misaki and gruut-lang-en, written by hand: nothing of theirs is in here."""

import base64
import json
import sqlite3
import struct
from pathlib import Path

GOLD = {
    "the": "ði", "a": "A", "to": "tu", "live": {"DEFAULT": "lˈIv", "VERB": "lˈɪv"}, "we": "wi", "show": "ʃˈO",
    "cat": "kˈæt", "box": "bˈɑks", "wish": "wˈɪʃ", "hour": "ˈWəɹ", "cafe": "kæfˈA", "us": "ˌʌs",
    "US": {"DEFAULT": "ˌʌs", "NOUN": None}, "polish": "pˈɑlɪʃ", "Polish": "pˈOlɪʃ", "can": {"DEFAULT": "kæn",
    "None": "kˈæn"},
    "five": "fˈIv", "I": "ˈI", "F": "ˈɛf", "B": "bˈi", "U": "jˈu", "S": "ˈɛs", "A": "ˈA",
}  # fmt: skip
SILVER = {"dog": "dˈɔɡ"}
LEXICON = {"sean": "ʃ ˈɔ n"}
KINDS = ["NN", "VBP"]
SOUNDS = ["z", "ˈɔ", "_"]


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def crf(labels: list[str], weights: dict[tuple[str, str], float], steps: dict[tuple[str, str], float]) -> bytes:
    """A model: `weights` from attributes to labels, `steps` from labels to labels."""
    attributes = list(dict.fromkeys(name for name, _ in weights))
    features = [(0, attributes.index(a), labels.index(b), weight) for (a, b), weight in weights.items()]
    features += [(1, labels.index(a), labels.index(b), weight) for (a, b), weight in steps.items()]
    body = b"FEAT" + struct.pack("<2I", 0, len(features)) + b"".join(struct.pack("<3Id", *each) for each in features)
    at_labels = 48 + len(body)
    names = strings(labels)
    at_attributes = at_labels + len(names)
    header = struct.pack("<4sI4s9I", b"lCRF", 0, b"FOMC", 100, 0, len(labels), len(attributes), 48, at_labels,
                         at_attributes, 0, 0)  # fmt: skip
    return header + body + names + strings(attributes)


def strings(names: list[str]) -> bytes:
    records, places = b"", []
    for number, name in enumerate(names):
        places.append(24 + len(records))
        key = name.encode() + b"\0"
        records += struct.pack("<2I", number, len(key)) + key
    header = struct.pack("<4s5I", b"CQDB", 0, 0, 0x62445371, len(names), 24 + len(records))
    return header + records + struct.pack(f"<{len(places)}I", *places)


def write_packages(site: Path) -> None:
    for name in ("us_gold", "gb_gold", "us_silver", "gb_silver"):
        path = site / "misaki" / "data" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(GOLD if name.endswith("gold") else SILVER), encoding="utf-8")
    gruut = site / "gruut_lang_en"
    for part in ("pos", "g2p"):
        (gruut / part).mkdir(parents=True)
    # After 'we' there is a verb, after 'a' a noun.
    kinds = {(f"-1:word:{encoded('we')}", "VBP"): 3.0, (f"-1:word:{encoded('a')}", "NN"): 3.0, ("bias", "NN"): 1.0}
    (gruut / "pos" / "model.crf").write_bytes(crf(KINDS, kinds, {("NN", "VBP"): 0.5}))
    sounds = {(f"grapheme:{encoded('z')}", encoded("z")): 3.0, (f"grapheme:{encoded('o')}", encoded("ˈɔ")): 3.0}
    (gruut / "g2p" / "model.crf").write_bytes(
        crf([encoded(each) for each in SOUNDS], sounds | {("bias", encoded("_")): 1.0}, {})
    )
    with sqlite3.connect(gruut / "lexicon.db") as base:
        base.execute("CREATE TABLE word_phonemes (word TEXT, pron_order INTEGER, phonemes TEXT)")
        base.executemany("INSERT INTO word_phonemes VALUES (?, 0, ?)", LEXICON.items())
    base.close()
    for package in ("misaki", "gruut_lang_en"):
        (site / package / "__init__.py").write_text("raise SystemExit('this package is to be read, not run')")
        (site / f"{package}-9.9.dist-info").mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 9.9\n"
        (site / f"{package}-9.9.dist-info" / "METADATA").write_text(metadata)
