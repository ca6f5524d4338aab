"""Public names that the design documents promise, and nothing else: each points to the room that does the work."""
