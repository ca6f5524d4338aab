"""The whole way from recordings to a voice on one web page, for this machine's own browser.

What takes long is a `myxtts` verb in a process of its own, whose state is in the folder of the voice: it outlives the
page and the server. What the page sends is a name or a sound, never a path. This room measures, trains and judges
nothing itself. A page to review slices of long recordings will be one more file in `page/` and one in here.
"""
