"""A voice behind a port: the API of OpenAI's /v1/audio/speech, and Wyoming for Home Assistant.

One thread owns TensorFlow and everything that is spoken; the event loop only carries bytes. What a client sends is
never a path, and whatever is wrong with it is an answer, not a traceback. This room trains nothing.
"""
