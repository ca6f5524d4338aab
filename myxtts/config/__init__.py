"""Settings: declared once, checked when they are set, written to and read from YAML. Imports nothing but errors."""
