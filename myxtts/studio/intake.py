"""`python -m myxtts.studio.intake`: any sound on standard input, mono 16-bit wav at its own rate on standard output."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from myxtts.serving.decode import REFUSED, bound_this_process

MOST_SECONDS = 600.0


def main() -> int:
    bound_this_process()
    import soundfile

    from myxtts.errors import RowError
    from myxtts.features.audio import check_samples, read_audio, to_int16

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "clip")
        path.write_bytes(sys.stdin.buffer.read())
        try:
            audio, rate = read_audio(path, MOST_SECONDS)
            samples = to_int16(check_samples(audio))
        except RowError as error:
            sys.stderr.write(f"{error.reason}: {str(error.message).replace(str(path), 'the clip')}")
            return REFUSED
    wav = io.BytesIO()
    soundfile.write(wav, samples, rate, format="WAV", subtype="PCM_16")
    sys.stdout.buffer.write(wav.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
