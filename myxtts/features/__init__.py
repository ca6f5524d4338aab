"""The only room that knows what audio, a mel spectrogram and a token are. Never imports TensorFlow at import time."""
