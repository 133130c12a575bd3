"""Tests of the documentation site in a browser: site_test.py CASE TLMALLOC SOURCE-DIR. Skipped with 77 where MkDocs or
the browser is missing."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import driver

SOURCE = sys.argv[3]
RESULTS = "[...document.querySelectorAll('#site-results a')].map((link) => link.firstChild.textContent)"
PLACE = "location.pathname + location.hash"


def equal(found, expected, what=""):
    assert found == expected, "%s: found %r, expected %r" % (what, found, expected)


def search(browser, text):
    """Types into the search; the titles that it lists."""
    browser.run("const box = document.getElementById('site-search'); box.value = ''; box.blur()")
    browser.keys("/", *text)
    equal(browser.value("document.getElementById('site-search').value"), text)
    browser.wait_for("window.tlmalloc_index && !document.getElementById('site-results').hidden")
    return browser.value(RESULTS)


def the_search_opens_the_contract_of_a_function(browser, folder):
    browser.visit(folder + "/index.html")
    equal(search(browser, "tla_arena_alloc")[0], "tla_arena_alloc")
    browser.keys("Enter")
    browser.wait_for("location.hash == '#tla_arena_alloc'")
    equal(browser.value(PLACE), folder + "/include/tlmalloc/arena/arena.h.html#tla_arena_alloc")
    top = browser.value("document.querySelector(':target').getBoundingClientRect().top")
    assert 0 <= top < 600, "the contract is at %s, outside the window" % top
    # The contract: every paragraph up to the next heading.
    text = browser.value("(() => { let text = ''; for (let part = document.querySelector(':target').nextElementSibling;"
                         " part && !/^H[1-6]$/.test(part.tagName); part = part.nextElementSibling)"
                         " text += part.textContent; return text })()")
    assert "TLA_FRAGMENTED" in text, text
    # A name in a contract leads to the declaration of that name, in another header too.
    browser.run("document.querySelector('main a[href$=\"#tla_status\"]').click()")
    browser.wait_for("location.hash == '#tla_status'")
    equal(browser.value(PLACE), folder + "/include/tlmalloc/base/status.h.html#tla_status")


def the_search_finds_pages_by_heading_and_by_text(browser, folder):
    browser.visit(folder + "/include/tlmalloc/arena/arena.h.html") # a page in a folder
    with open(SOURCE + "/configs/README.md", encoding="utf-8") as file:
        heading = re.search(r"^## (.*)", file.read(), flags=re.M).group(1)
    assert heading in search(browser, heading.lower()), browser.value(RESULTS)
    browser.run("[...document.querySelectorAll('#site-results a')].find((link) =>"
                " link.firstChild.textContent == arguments[0]).click()", heading)
    browser.wait_for("location.pathname == '%s/configs/index.html'" % folder)
    browser.wait_for("document.readyState == 'complete'")
    equal(browser.value("document.querySelector(':target').textContent"), heading)
    browser.visit(folder + "/index.html")
    words = browser.value("document.querySelector('main p').textContent.match(/[A-Za-z]{5,}/g).slice(0, 6).join(' ')")
    search(browser, words)
    assert browser.value("[...document.querySelectorAll('#site-results a')].some((link) =>"
                         " link.pathname == '%s/index.html')" % folder), words
    equal(search(browser, "xyzzy"), [])
    assert "No page" in browser.value("document.getElementById('site-results').textContent")
    browser.keys("Escape")
    equal(browser.value("document.getElementById('site-results').hidden"), True)


def page_with(folder, link):
    """A page of the repository whose text has a link to such a file, and the link."""
    for page in sorted(glob.glob(folder + "/**/*.html", recursive=True)):
        with open(page, encoding="utf-8") as file:
            found = re.search(r'href="([^"#]*%s)"' % link, file.read().partition("<main>")[2])
        if found and "/include/" not in page[len(folder):]:
            return page, found.group(1)
    raise AssertionError("no page has a link to " + link)


def links_lead_to_pages_headers_and_sources(browser, folder):
    for link, text in ((r"/index\.html", "tlmalloc"), (r"arena/arena\.h\.html", "tla_arena_alloc"),
                       (r"\.cpp\.html", "#include"), (r"include/tlmalloc\.html", "tlm_c.h")):
        page, href = page_with(folder, link)
        place = os.path.normpath(os.path.join(os.path.dirname(page), href))
        browser.visit(page)
        browser.run("document.querySelector('main a[href=\"' + arguments[0] + '\"]').click()", href)
        browser.wait_for("location.pathname == '%s'" % place)
        browser.wait_for("document.readyState == 'complete'")
        assert text in browser.value("document.querySelector('main').textContent"), place + " is without " + text
    # A header names the page of its module.
    browser.visit(folder + "/include/tlmalloc/modules/pe_dma.hpp.html")
    browser.run("document.querySelector('main a[href$=\"PE_DMA.html\"]').click()")
    browser.wait_for("location.pathname == '%s/model/modules/pe/PE_DMA.html'" % folder)


def every_page_loads_with_its_pictures_and_nothing_from_elsewhere(browser, folder):
    pictures = 0
    pages = glob.glob(folder + "/**/*.html", recursive=True)
    for page in sorted(page for page in pages if "/include/" not in page or page.endswith("/arena.h.html")):
        browser.visit(page)
        browser.wait_for("document.readyState == 'complete'")
        state = browser.value("""({
            broken: [...document.images].filter((image) => !image.naturalWidth).map((image) => image.src),
            pictures: document.images.length,
            wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
            elsewhere: performance.getEntriesByType('resource').map((entry) => entry.name)
                .filter((name) => !name.startsWith('file:'))})""")
        pictures += state.pop("pictures")
        equal(state, {"broken": [], "wide": 0, "elsewhere": []}, page)
    assert pictures >= 10, "only %d pictures" % pictures


def main():
    missing = driver.missing() + [name for name in ("mkdocs",) if not shutil.which(name)]
    if missing:
        print("test skipped: %s is not here (tests/run --browser installs it)" % " and ".join(missing))
        return 77
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mkdocs", "build", "--strict", "--config-file", SOURCE + "/platform/site/mkdocs.yml",
                        "--site-dir", folder + "/site"], check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        with driver.Browser() as browser:
            globals()[sys.argv[1]](browser, folder + "/site")
            equal(browser.messages(), [], "the console")
    return 0


if __name__ == "__main__":
    sys.exit(main())
