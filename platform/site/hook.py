"""Gives MkDocs every page, every public header and every source file that a page links to. MkDocs reads pages where
they are; headers and source files become pages here."""
import html
import json
import os
import posixpath
import re
import sys

from mkdocs.structure.files import File, Files

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import contracts
import search_index

FOLDERS = ("model", "platform", "configs", "waveforms", "tests", "include")
PICTURES = (".png", ".svg")
LINK = re.compile(r"\]\(([^)\s]+)\)")
sources = set() # the headers and source files that are pages: their paths
places = {} # where a name is declared: (page, anchor)
headers_called = {} # the headers of a file name


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def paths():
    """All files that could be shown, as paths from the root of the repository."""
    yield from (name for name in sorted(os.listdir(ROOT)) if name.endswith(".md") or name == "LICENSE")
    for folder in FOLDERS:
        for directory, folders, files in os.walk(os.path.join(ROOT, folder)):
            folders[:] = sorted(name for name in folders if name != "build" and name[0] not in "._")
            for name in sorted(files):
                yield posixpath.relpath(posixpath.join(directory.replace(os.sep, "/"), name), ROOT)


def target(page, link):
    """(the path that a link of a page leads to, its anchor with #, or ""); no path for one that leaves the site."""
    if re.match(r"[a-z]+:|#", link):
        return None, ""
    path, sharp, anchor = link.partition("#")
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)), sharp + anchor


def github_slug(heading, _separator):
    return re.sub(r"[^\w-]", "", heading.strip().lower().replace(" ", "-"))


def on_config(config):
    config["mdx_configs"]["toc"] = {"slugify": github_slug}
    return config


def on_files(files, config):
    for collected in (sources, places, headers_called, search_index.entries):
        collected.clear()
    theme = [file for file in files if file.src_uri.endswith((".css", ".js"))]
    known = list(paths())
    pages = [path for path in known if path.endswith(".md")]
    headers = [path for path in known if path.startswith("include/") and path.endswith((".h", ".hpp"))]
    sources.update(headers)
    for header in headers:
        headers_called.setdefault(posixpath.basename(header), []).append(header)
    for page in pages:
        for link in LINK.findall(text_of(page)):
            path = target(page, link)[0]
            if path in known and not path.endswith((".md", *PICTURES)):
                sources.add(path)
            elif path and os.path.isdir(os.path.join(ROOT, path)) and path + "/README.md" not in known:
                sources.add(path)
    for header in headers:
        for declaration in contracts.read(text_of(header))[1]:
            for name in declaration.names + declaration.inner:
                if name not in places or declaration.comment and "_" in name:
                    places[name] = (header, name)
    shown = pages + [path for path in known if path.endswith(PICTURES)] + [path + ".md" for path in sorted(sources)]
    return Files([File(path, ROOT, config["site_dir"], False) for path in shown] + theme)


# Markdown as GitHub reads it: a list needs no empty line in front of it, and two spaces continue an item.
def as_python_markdown(text):
    lines, fenced, in_list, blank = [], False, False, True
    for line in text.split("\n"):
        item = re.match(r"[-*] |\d+\. ", line)
        if re.match(r" *```", line):
            fenced = not fenced
        if not fenced and not line.startswith("    "):
            if item and not in_list and not blank:
                lines.append("")
            if item:
                in_list = True
            elif blank and line and line[0] != " ":
                in_list = False
            elif in_list and re.match(r" {2,3}[|`\w*]", line) and (blank or lines[-1].startswith("    |")):
                line = "    " + line.lstrip()
        blank = not line.strip()
        lines.append(line)
    return "\n".join(lines)


def on_page_read_source(page, config):
    path = page.file.src_uri[:-3]
    return "# " + path + "\n" if path in sources else None


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri

    def rewritten(match):
        path, anchor = target(here, match.group(1))
        if path in sources:
            return "](" + posixpath.relpath(path + ".md", posixpath.dirname(here) or ".") + anchor + ")"
        if path and os.path.isdir(os.path.join(ROOT, path)):
            return "](" + posixpath.relpath(path + "/README.md", posixpath.dirname(here) or ".") + anchor + ")"
        return match.group(0)

    return as_python_markdown(LINK.sub(rewritten, markdown))


def href(page, path, anchor=""):
    """The address of another page of the site."""
    if path.endswith(".md"):
        path = re.sub(r"(^|/)README\.md$", r"\1index.md", path)[:-3]
    return posixpath.relpath(path + ".html", posixpath.dirname(page) or ".") + ("#" + anchor if anchor else "")


def linked(page, text):
    """Escaped text in which names that a header declares, headers and pages are links."""

    def link(match):
        word = match.group(0)
        if word in places and "_" in word:
            return '<a href="%s">%s</a>' % (href(page, *places[word]), word)
        if "." in word:
            called = headers_called.get(word, [])
            for path in (posixpath.join(posixpath.dirname(page), word), word, "include/" + word,
                         "include/tlmalloc/" + word, *(called if len(called) == 1 else [])):
                if path in sources or path.endswith(".md") and os.path.exists(os.path.join(ROOT, path)):
                    return '<a href="%s">%s</a>' % (href(page, path), word)
        return word

    return re.sub(r"[A-Za-z_][\w/]*(\.(hpp|h|md)\b)?", link, html.escape(text, quote=False))


def paragraphs(page, comment):
    """A comment as HTML. What is indented in it, a list of names, keeps its lines."""
    parts = []
    for part in re.split(r"\n\s*\n", comment):
        if re.search(r"^ {3,}\S", part, flags=re.M):
            parts.append('<pre class="list">%s</pre>' % linked(page, part))
        elif part.strip():
            parts.append("<p>%s</p>" % re.sub(r"`([^`]+)`", r"<code>\1</code>", linked(page, part)))
    return "\n".join(parts)


def code_block(page, code):
    lines = linked(page, code)
    lines = re.sub(r"(/\*.*?\*/|//[^\n]*)", r'<span class="comment">\1</span>', lines, flags=re.S)
    return "<pre><code>%s</code></pre>" % lines


def header_page(path):
    opening, declarations = contracts.read(text_of(path))
    parts = ["<h1>%s</h1>" % path.partition("/")[2], paragraphs(path, opening)]
    used = set()
    for declaration in declarations:
        titles = declaration.names or declaration.inner
        anchors = [name for name in titles + declaration.inner if not (name in used or used.add(name))]
        parts.append("".join('<a id="%s"></a>' % name for name in anchors[1:]))
        identity = ' id="%s"' % anchors[0] if anchors else ""
        parts.append("<h2%s>%s</h2>" % (identity, ", ".join("<code>%s</code>" % name for name in titles[:8])))
        parts.append(paragraphs(path, declaration.comment))
        parts.append(code_block(path, contracts.signature("\n".join(declaration.code))))
    return "\n".join(parts)


def folder_page(path):
    """The files of a folder, each with the first sentence that it says about itself."""
    rows = ["<h1>%s</h1>" % path]
    for directory, folders, files in os.walk(os.path.join(ROOT, path)):
        folders.sort()
        room = posixpath.relpath(directory.replace(os.sep, "/"), ROOT)
        here = [room + "/" + name for name in sorted(files)]
        rows.append("<h2>%s</h2><ul>" % room if here else "")
        for file in here:
            if file in sources:
                opening = contracts.read(text_of(file))[0] if file.startswith("include/") else ""
                first = re.split(r"(?<=\.)\s", opening.replace("\n", " "))[0]
                rows.append('<li><a href="%s">%s</a> %s</li>' % (href(path, file), posixpath.basename(file),
                                                               html.escape(first)))
            else:
                rows.append("<li>%s</li>" % posixpath.basename(file))
        rows.append("</ul>" if here else "")
    return "\n".join(rows)


def on_page_content(content, page, config, files):
    path = page.file.src_uri[:-3]
    if path not in sources:
        return content
    if os.path.isdir(os.path.join(ROOT, path)):
        return folder_page(path)
    if path.startswith("include/"):
        return header_page(path)
    return "<h1>%s</h1>\n<pre><code>%s</code></pre>" % (path, html.escape(text_of(path), quote=False))


def on_env(env, config, files):
    """The list of pages beside each page, by folder, and the search index."""
    groups = {}
    for file in files.documentation_pages():
        if file.src_uri[:-3] not in sources:
            folder = file.src_uri.split("/")[0] if "/" in file.src_uri else ""
            groups.setdefault(folder, []).append({"title": file.page.title, "url": file.url})
    for pages in groups.values():
        pages.sort(key=lambda page: (not page["url"].endswith("index.html"), page["url"].count("/")))
    env.globals["groups"] = groups
    search_index.collect((file.url, file.page.content) for file in files.documentation_pages())
    return env


def on_post_build(config):
    for name in ("sitemap.xml", "sitemap.xml.gz"): # useless without a public address, and dated
        os.remove(os.path.join(config["site_dir"], name))
    with open(os.path.join(config["site_dir"], "search_index.js"), "w", encoding="utf-8") as file:
        file.write("window.tlmalloc_index = " + json.dumps(search_index.entries, ensure_ascii=False) + ";\n")
