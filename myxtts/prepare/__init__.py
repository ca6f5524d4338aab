"""From hours of recording to a corpus: cuts in pauses, a text for every row, and a word for every second left out.

One recording is read from beginning to end in pieces (`listening`), its windows decide where to cut (`slicing`), a
recogniser hears each slice (`ears`), its words are found in the text (`alignment`, `allotment`), or a voice finds them
by their sound (`aligner`, `placement`), and what is not sure is put aside (`trust`). All that is slow is kept in a
journal (`state`); the result is a pure function of it (`result`).
"""
