"""What was measured, as one HTML file: the verdict on top, then the pictures and numbers that it rests on.

Promises: a file that needs no network and runs no script; every text from outside is escaped (`markup.tag` does it, and
a Content-Security-Policy stands behind it); a stall of a single step stays visible among a million; below 3 MB.
Must not: measure anything, or import TensorFlow: a report of a running training is made beside it.
"""
