"""The version of this code: of the package, in pages and in checkpoints."""

__version__ = "0.1.0"
