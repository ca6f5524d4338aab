"""What Persian leaves unwritten: the ezafe between words, and the vowels that eSpeak guesses wrongly.

Promises: words and their phonemes in, phonemes out; the same text always gives the same phonemes; what the writer has
marked (a kasra, هٔ, ه‌ی) stands. Knows nothing of eSpeak and nothing of tokens.
"""
