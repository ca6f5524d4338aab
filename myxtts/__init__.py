"""MyXTTS trains a voice-cloning text-to-speech model on your own recordings; the accelerator never waits for data."""

__version__ = "0.1.0"
