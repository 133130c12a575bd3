"""Cuts the HTML of pages into what the search finds: a heading, its place and the text below it."""
from html.parser import HTMLParser

entries = [] # [title, URL, text]


class Cutter(HTMLParser):
    def __init__(self, url):
        super().__init__()
        self.url, self.heading, self.page = url, None, None
        self.entry = ["", url, ""]

    def handle_starttag(self, tag, attributes):
        if tag in ("h1", "h2", "h3", "h4"):
            self.end()
            anchor = dict(attributes).get("id")
            self.entry = ["", self.url + ("#" + anchor if anchor and tag != "h1" else ""), ""]
            self.heading = tag

    def handle_endtag(self, tag):
        if tag == self.heading:
            self.heading = None

    def handle_data(self, data):
        self.entry[0 if self.heading else 2] += data

    def end(self):
        title, url, text = self.entry
        if title or text.strip():
            entries.append([title, url, " ".join(text.split())])


def collect(pages):
    """Fills the entries from (URL, HTML) of all pages."""
    for url, content in pages:
        cutter = Cutter(url)
        cutter.feed(content)
        cutter.end()
