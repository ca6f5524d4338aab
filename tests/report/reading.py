"""Reads a report as a browser would: its elements, attributes, and what stands in the ones that have an id."""

from html.parser import HTMLParser

VOID = {"meta", "img", "br"}  # never closed; a browser writes them without a slash


class Reader(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self.titles, self.policy = [], [], {}, [], ""
        self._open = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]
        if tag not in VOID:
            self._open.append((tag, values.get("id")))
        if tag == "title":
            self.titles.append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"]

    def handle_endtag(self, tag):
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop()[0] == tag

    def handle_data(self, data):
        for _, key in self._open:
            if key:
                self.text[key] = self.text.get(key, "") + data
        if self._open and self._open[-1][0] == "title":
            self.titles[-1] += data

    def close_all(self):
        assert not self._open
        return self
