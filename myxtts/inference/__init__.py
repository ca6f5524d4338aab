"""From a trained model and a text to sound: one voice for the whole text, piece by piece, or a reason why not.

This room computes no loss and changes no weight.
"""
