"""Small clients of a server in a test: one request by http.client, sound as samples."""

import http.client
import io
import json

import numpy as np
import soundfile


class Answer:
    def __init__(self, response: http.client.HTTPResponse):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]


def ask(port: int, method: str, path: str, body=None, headers=None) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        data = json.dumps(body).encode() if isinstance(body, dict | list) else body
        connection.request(method, path, data, headers or {})
        return Answer(connection.getresponse())
    finally:
        connection.close()


def form(fields: dict, clip: bytes | None) -> tuple[bytes, dict]:
    """A multipart body and its header."""
    parts = [f'--cut\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
             for name, value in fields.items()]  # fmt: skip
    if clip is not None:
        head = b'--cut\r\nContent-Disposition: form-data; name="audio_sample"; filename="../../etc/passwd"\r\n\r\n'
        parts.append(head + clip + b"\r\n")
    return b"".join(parts) + b"--cut--\r\n", {"Content-Type": "multipart/form-data; boundary=cut"}


def comment(kind: str, data: bytes) -> str:
    if kind == "aac":
        import av

        with av.open(io.BytesIO(data)) as file:
            return file.metadata["comment"]
    with soundfile.SoundFile(io.BytesIO(data)) as file:
        return file.comment


def samples(kind: str, data: bytes) -> tuple[np.ndarray, int]:
    if kind == "pcm":
        return np.frombuffer(data, "<i2") / 32768.0, 24_000
    if kind == "aac":
        import av

        with av.open(io.BytesIO(data)) as file:
            return np.concatenate([frame.to_ndarray()[0] for frame in file.decode(audio=0)]), file.streams[0].rate
    return soundfile.read(io.BytesIO(data))
