"""Every reason that a row is rejected or warned of: one list for `check`, for `pack` and for whoever reads their lists.

An error keeps a row out of a cache. A warning is something to look at: the row is packed as it is.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """What is wrong, in a few words, and what a person can do about it."""

    what: str
    cure: str
    is_error: bool = True


_REMOVE = "or remove the row"
REASONS: dict[str, Reason] = {
    # the row
    "bad_row": Reason("the row has not the cells it should have", f"write it as the rows around it, {_REMOVE}"),
    "bad_encoding": Reason("not UTF-8, or NUL bytes", "convert the file: iconv -f latin1 -t UTF-8 OLD > NEW"),
    "escapes_folder": Reason("the name leads out of the corpus", "name a file inside the folder of the corpus"),
    "duplicate_id": Reason("the id is used twice", "give each row an id of its own; the first one is kept"),
    "no_speaker": Reason("the speaker pattern finds nothing", "change --speaker-pattern, or move the file"),
    "command": Reason("a command stands for the audio", "run it yourself and write the path of what it made"),
    # the text
    "missing_text": Reason("there is audio but no text", "write down what is said, or leave it: it is not used"),
    "empty_text": Reason("the text is empty", f"write down what is said, {_REMOVE}"),
    "long_text": Reason("the text is too long for one clip", "cut the recording and its text into sentences"),
    "unpronounceable": Reason("the text has nothing to say, or letters of no known script", f"respell it, {_REMOVE}"),
    "unknown_language": Reason("the language is not known", "use an eSpeak code (en-us, fa), see --language"),
    # the audio
    "missing_audio": Reason("there is no such audio file", f"put the file there, {_REMOVE}"),
    "symlink_loop": Reason("a link leads back to itself", "remove the link"),
    "unreadable": Reason("the file cannot be read", "check its permissions and the disk"),
    "empty_audio": Reason("the file holds no sound", "record or copy it again"),
    "undecodable": Reason("the file is not audio, or damaged", "convert it again: ffmpeg -i OLD NEW.wav"),
    "truncated": Reason("the file ends before its sound does", "copy it again: the copy was interrupted"),
    "not_finite": Reason("the samples are not numbers", "convert it again from the original"),
    "silent": Reason("there is nothing to hear", f"record it again, {_REMOVE}"),
    "too_short": Reason("the sound is too short", "record it again, or lower data.min_seconds"),
    "too_long": Reason("the clip is too long", "cut it into sentences, or raise data.max_seconds"),
    # worth a look
    "clipped": Reason("the recording was too loud: its peaks are cut off", "record it again at a lower level", False),
    "duplicate_text": Reason("this speaker says the same twice", "fine if meant; else remove one", False),
    "duplicate_audio": Reason("two rows have the same sound", "one of their texts is wrong, or one is a copy", False),
    "speech_rate": Reason("far more or fewer characters a second than usual", "listen: does it say the text?", False),
    "left_out": Reason("the text has symbols that no voice reads", "write the words that are said there", False),
    "bom": Reason("the file begins with a byte order mark", "save it as UTF-8 without BOM", False),
}
