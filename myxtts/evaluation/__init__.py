"""How well a voice speaks: measured beside the real recordings and their copy through the same vocoder, never alone."""
