"""Measures, emulates, compares and explains. It may look into every room; no room looks at it."""
