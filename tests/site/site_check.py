"""site_check.py SOURCE-DIR: builds the documentation site in a build of its own, installs it, and checks each installed
page. Skipped with 77 where MkDocs is missing."""
import glob
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

SOURCE = sys.argv[1]
FOLDERS = ("model", "platform", "configs", "waveforms", "tests") # where pages are
problems = []


class Page(html.parser.HTMLParser):
    """The anchors, links and loaded files of a page."""

    def __init__(self, path):
        super().__init__()
        self.path, self.anchors, self.links, self.loaded = path, set(), [], []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            if values["id"] in self.anchors:
                problems.append("%s has #%s twice" % (self.path, values["id"]))
            self.anchors.add(values["id"])
        if values.get("href"):
            (self.links if tag == "a" else self.loaded).append(values["href"])
        if values.get("src"):
            self.loaded.append(values["src"])


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, "%s: %s" % (" ".join(command), done.stdout)


def check_links(root):
    """How many links lead to another place of the site."""
    pages = {path: Page(path) for path in glob.glob(root + "/**/*.html", recursive=True)}
    inside = 0
    for path, page in pages.items():
        name = os.path.relpath(path, root)
        problems.extend("%s loads %s from elsewhere" % (name, file) for file in page.loaded if "://" in file)
        for link in page.links + page.loaded:
            if re.match("https?:", link):
                continue
            inside += 1
            file, _, anchor = urllib.parse.unquote(link).partition("#")
            end = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if not end.startswith(root) or not os.path.isfile(end):
                problems.append("%s: the link %s leads nowhere" % (name, link))
            elif anchor and anchor not in pages[end].anchors:
                problems.append("%s: %s has no #%s" % (name, os.path.relpath(end, root), anchor))
    return inside


def functions(path):
    """The functions that a header in C declares, by a simpler reading than the site's own."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/|//[^\n]*|^#(\\\n|[^\n])*|\"(\\.|[^\"\\\n])*\"", " ", file.read(), flags=re.S | re.M)
    text = re.sub(r"extern\s+\{", " ", text)
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{[^{}]*\}", ";", text)
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)(?=\s)", " ", text)
    found = [re.match(r"(?!typedef\b)[\w\s*]+?\b(\w+)\s*\(", part.strip()) for part in text.split(";")]
    return [match.group(1) for match in found if match]


def check_search(root):
    """How many functions the search finds, each by a title in its header."""
    with open(root + "/search_index.js", encoding="utf-8") as file:
        entries = json.loads(file.read().partition(" = ")[2].rstrip(";\n"))
    titles = {}
    for title, url, _ in entries:
        for word in re.findall(r"\w+", title):
            titles.setdefault(word, set()).add(url.partition("#")[0])
    count = 0
    for path in glob.glob(SOURCE + "/include/tlmalloc/**/*.h", recursive=True):
        name = os.path.relpath(path, SOURCE)
        for function in functions(path):
            count += 1
            if name + ".html" not in titles.get(function, ()):
                problems.append("the search does not find %s of %s" % (function, name))
    urls = {url.partition("#")[0] for _, url, _ in entries}
    listed = [path for folder in ("*.md", *("%s/**/*.md" % name for name in FOLDERS))
              for path in glob.glob(folder, root_dir=SOURCE, recursive=True) if "build" not in path.split("/")]
    for page in listed:
        if re.sub(r"(^|/)README\.md$", r"\1index.md", page)[:-3] + ".html" not in urls:
            problems.append("the search does not find %s" % page)
    return count, len(listed)


def main():
    if not shutil.which("mkdocs"):
        print("test skipped: mkdocs is not here (tests/run --browser installs it)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        build, root = folder + "/build", folder + "/installed/share/doc/tlmalloc/html"
        parts = ["-DTLMALLOC_%s=OFF" % part for part in ("MODULES", "PLATFORM", "TESTS")]
        run("cmake", "-S", SOURCE, "-B", build, "-DCMAKE_INSTALL_PREFIX=" + folder + "/installed", *parts)
        run("cmake", "--install", build, "--component", "site") # nothing is built yet, which is no error
        assert not os.path.exists(root + "/index.html"), "a site is installed before it is built"
        run("cmake", "--build", build, "--target", "site")
        run("cmake", "--install", build, "--component", "site")
        links = check_links(root)
        found, pages = check_search(root)
    print("%d links, %d functions, %d pages" % (links, found, pages))
    if links < 5000 or found < 400 or pages < 50:
        problems.append("expected more than 5000 links, 400 functions and 50 pages")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
