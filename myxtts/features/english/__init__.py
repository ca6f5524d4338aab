"""English phonemes without eSpeak (extra `phonemes-en`): misaki's word lists, gruut's models for what they leave open.

Promises: words in, phonemes in eSpeak's notation out, so that a voice trained with one can be spoken to with the other;
the same words always give the same phonemes. Nothing of the two packages is run: their files are read.
"""
