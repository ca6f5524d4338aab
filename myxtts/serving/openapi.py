"""What the server answers, described as OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from myxtts.serving.encoding import MEDIA_TYPES, SYNTHETIC_HEADER
from myxtts.serving.order import IGNORED, STREAM_FORMATS
from myxtts.version import __version__

_TEXT = {"type": "string"}
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": _TEXT,
                "type": _TEXT,
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
_ADDED = {
    "type": "object",
    "required": ["id", "name", "model", "consent", "created_at", "seconds", "warnings"],
    "properties": {
        **dict.fromkeys(("id", "object", "name", "model", "consent"), _TEXT),
        "created_at": {"type": "integer"},
        "seconds": {"type": "number", "description": "of the clip that the model heard"},
        "warnings": {
            "type": "array",
            "items": _TEXT,
            "description": "what speaks against the clip, as that it hardly sounds like speech; often empty",
        },
    },
}


def describe(most_chars: int, models: list[str]) -> dict[str, Any]:
    """Of a server with these models."""
    voices = {
        "get": _route("the voices", _json({})),
        "post": _route("add a voice", {"201": _body(_json(_ADDED))}, _upload()),
    }
    name = {"name": "name", "in": "path", "required": True, "schema": _TEXT}
    return {
        "openapi": "3.1.0",
        "info": {"title": "MyXTTS", "version": __version__},
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{"key": []}, {}],
        "paths": {
            "/v1/audio/speech": {"post": _route("speak a text", {"200": _spoken()}, _speech(most_chars, models))},
            "/v1/audio/voices": voices,
            "/v1/audio/voices/{name}": {"delete": _route("delete a voice", _json({})) | {"parameters": [name]}},
            "/v1/models": {"get": _route("the models", _json({}))},
            "/v1/models/{name}": {"get": _route("one model", _json({})) | {"parameters": [name]}},
            "/health": {"get": _route("whether it answers, and what is loaded", _json({}))},
            "/metrics": {"get": _route("counters for Prometheus", {"text/plain": {"schema": _TEXT}})},
        },
    }


def _route(summary: str, answer: dict[str, Any], body: dict[str, Any] | None = None) -> dict[str, Any]:
    good = answer if answer.keys() & {"200", "201"} else {"200": _body(answer)}
    errors = ("400", "401", "403", "404", "405", "409", "413", "429")
    responses = good | {status: _body(_json(_ERROR), "what is wrong") for status in errors}
    asked = {"requestBody": {"required": True, "content": body}} if body else {}
    return {"summary": summary, "responses": responses, **asked}


def _body(content: dict[str, Any], meaning: str = "done") -> dict[str, Any]:
    return {"description": meaning, "content": content}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema or {"type": "object"}}}


def _spoken() -> dict[str, Any]:
    headers = {
        name: {"description": "on every answer that is synthetic speech", "schema": {"const": value}, "required": True}
        for name, value in SYNTHETIC_HEADER.items()
    }
    return _body(_sound()) | {"headers": headers}


def _sound() -> dict[str, Any]:
    """A file of sound; or events, of which each has its JSON in `data`."""
    event = {"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}}
    files: dict[str, Any] = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in MEDIA_TYPES.values()}
    return files | {"text/event-stream": {"schema": event}}


def _speech(most_chars: int, models: list[str]) -> dict[str, Any]:
    name = {"type": "string", "maxLength": 64}
    voice = {"type": "object", "required": ["id"], "properties": {"id": name}, "additionalProperties": False}
    properties = {
        "model": name | ({"enum": models} if models else {}),
        "input": {"type": "string", "minLength": 1, "maxLength": most_chars},
        "voice": {"anyOf": [name, voice]},
        "response_format": {"enum": [*MEDIA_TYPES], "default": "mp3"},
        "speed": {"type": "number", "minimum": 0.25, "maximum": 4.0, "default": 1.0},
        "stream_format": {"enum": [*STREAM_FORMATS], "default": "audio"},
        "instructions": {"type": "string", "description": f"not used; an answer says so in its header {IGNORED}"},
        "language": name,
        "seed": {"type": "integer", "description": "of the breath in the sound: the same seed, the same bytes"},
    }
    required = {"required": ["model", "input"], "additionalProperties": False}
    return _json({"type": "object", "properties": properties, **required})


def _upload() -> dict[str, Any]:
    properties = {
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"},
        "consent": {"type": "string", "description": "who agreed to the use of this voice", "maxLength": 1000},
        "model": {"type": "string", "description": "the first one by default"},
        "audio_sample": {"type": "string", "format": "binary"},
    }
    required = ["name", "consent", "audio_sample"]
    return {"multipart/form-data": {"schema": {"type": "object", "properties": properties, "required": required}}}
