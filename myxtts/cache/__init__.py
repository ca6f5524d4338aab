"""Packs a corpus once into a few large, checksummed `.npy` files that a training run maps.

A cache on disk is either the old one, whole, or the new one, whole; a mapped file is never edited. No TensorFlow.
"""
