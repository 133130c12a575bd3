"""What pages of `tlmalloc report' do in a browser: page_test.py CASE TLMALLOC SOURCE-DIR. Skipped with 77 and a word
where there is no browser."""
import json
import os
import subprocess
import sys
import tempfile

import driver

TLMALLOC, SOURCE = sys.argv[2], sys.argv[3]
NPU_SMALL = SOURCE + "/configs/npu_small.yaml"


def tlmalloc(*words):
    done = subprocess.run([TLMALLOC, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(folder, name, *more):
    """A run on the small platform; its report."""
    path = os.path.join(folder, name + ".json")
    tlmalloc("run", NPU_SMALL, "--json", path, *more)
    return path


def page_of(folder, *reports):
    path = os.path.join(folder, "page.html")
    tlmalloc("report", *reports, "-o", path)
    return path


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def equal(found, expected, what=""):
    assert found == expected, "%s: found %r, expected %r" % (what, found, expected)


def near(found, expected, within, what=""):
    assert abs(found - expected) <= within, "%s: found %r, expected %r" % (what, found, expected)


def figure(key, text):
    """A number as the page writes it, as it stands in the report."""
    return round(float(text) * 1e6) if key.endswith("_ps") else float(text)


READ_TABLES = """
for (const box of document.querySelectorAll('#tables details')) box.open = true;
return new Promise((done) => setTimeout(() => done([...document.querySelectorAll('#tables .table')].map((box) => ({
    path: box.dataset.path, rows: [...box.querySelectorAll('tbody tr')].map((row) =>
        [...row.children].map((cell) => cell.textContent))}))), 200));
"""


def figures_are_those_of_the_report(browser, folder):
    path = run(folder, "report", "--set", "hbm.timing=hbm3")
    report = load(path)
    browser.open(page_of(folder, path))
    for key in ("sim_time_ps", "leaks"):
        equal(browser.value("document.querySelector('#summary b[data-key=%s]').dataset.value" % key), str(report[key]))
    tables = {table["path"]: table["rows"] for table in browser.run(READ_TABLES)}
    compared = 0
    for name in ("kernels", "tensors", "controllers", "mmus", "slices", "tcms", "links", "link_kinds", "elements"):
        rows = report[name]
        keys = []
        for row in rows:
            keys += [key for key in row if key not in keys]
        keys = [key for key in keys if any(not isinstance(row.get(key), (dict, list)) for row in rows)]
        equal(len(tables[name]), len(rows), name)
        for row, cells in zip(rows, tables[name]):
            for key, cell in zip(keys, cells):
                if key not in row:
                    equal(cell, "", key)
                elif isinstance(row[key], bool):
                    equal(cell, json.dumps(row[key]), key)
                elif isinstance(row[key], (int, float)):
                    near(figure(key, cell), row[key], abs(row[key]) * 1e-9, name + "." + key)
                    compared += 1
                else:
                    equal(cell, str(row[key]), key)
    assert compared > 1000, compared
    path_row = tables["critical_path"][0]
    near(figure("kernel_ps", path_row[2]), report["critical_path"]["kernel_ps"], 0)
    # Settings that are not as by default, and only these.
    text = browser.value("document.querySelector('#settings tbody').textContent")
    assert "hbm.timing" in text and "hbm3" in text and "mmu.page_size" not in text, text
    browser.run("document.querySelector('#settings input').click()")
    assert "mmu.page_size" in browser.value("document.querySelector('#settings tbody').textContent")


def time_is_zoomed_and_moved(browser, folder):
    path = run(folder, "report")
    end = load(path)["sim_time_ps"]
    browser.open(page_of(folder, path))
    domain = lambda: browser.value("tlmalloc.domain")
    equal(domain(), [0, end])
    browser.keys("+")
    begin, last = domain()
    near(last - begin, end / 1.5, 2)
    near((begin + last) / 2, end / 2, 2)
    browser.keys("ArrowRight")
    near(domain()[0], begin + 0.1 * end / 1.5, 2)
    browser.keys("ArrowLeft")
    near(domain()[0], begin, 2)
    browser.keys("-", "-")
    equal(domain(), [0, end])
    browser.keys("+", "+", "0")
    equal(domain(), [0, end])
    kernels = load(path)["kernels"]
    browser.keys("k")
    equal(domain(), [min(kernel["start_ps"] for kernel in kernels), max(kernel["end_ps"] for kernel in kernels)])
    # To a picosecond or so, and never out of the run.
    browser.keys(*["+"] * 60)
    assert 1 <= domain()[1] - domain()[0] <= 11, domain()
    browser.keys("0", *["+"] * 4, *["ArrowLeft"] * 30)
    equal(domain()[0], 0)
    # By dragging: what was under the pointer stays there.
    browser.keys("0", "+", "+")
    box = browser.box("#kernels canvas")
    begin, last = domain()
    browser.drag(box["x"] + 600, box["y"] + 10, -100)
    moved = domain()
    per_pixel = (last - begin) / (box["width"] - 164)
    near(moved[0] - begin, 100 * per_pixel, 2 * per_pixel)
    near(moved[1] - moved[0], last - begin, 2)
    # The wheel zooms with Ctrl alone.
    wheel = "document.querySelector('#kernels canvas').dispatchEvent(new WheelEvent('wheel', {deltaY: -100, " \
            "ctrlKey: %s, bubbles: true, cancelable: true, clientX: 600, clientY: 20}))"
    browser.run(wheel % "false")
    equal(domain(), moved)
    browser.run(wheel % "true")
    assert domain()[1] - domain()[0] < moved[1] - moved[0]
    browser.run("document.getElementById('reset').click()")
    equal(domain(), [0, end])


def the_slider_moves(browser, folder):
    path = run(folder, "report")
    end = load(path)["sim_time_ps"]
    browser.open(page_of(folder, path))
    browser.run("const s = document.getElementById('slider'); s.value = 5000; s.dispatchEvent(new Event('input'));")
    near(browser.value("tlmalloc.slider"), end / 2, 1)
    browser.keys("Shift+ArrowRight")
    near(browser.value("tlmalloc.slider"), end / 2 + end / 200, 1)
    browser.keys("Shift+ArrowLeft", "Shift+ArrowLeft")
    near(browser.value("tlmalloc.slider"), end / 2 - end / 200, 1)
    assert browser.value("document.getElementById('slider-time').textContent").endswith("\u00b5s")
    browser.keys(*["Shift+ArrowLeft"] * 110)
    equal(browser.value("tlmalloc.slider"), 0)


def what_is_under_the_pointer_is_told(browser, folder):
    path = run(folder, "report")
    report = load(path)
    browser.open(page_of(folder, path))
    kernel = report["kernels"][2]
    box = browser.box("#kernels canvas")
    scale = (box["width"] - 164) / report["sim_time_ps"]
    x = box["x"] + 150 + (kernel["start_ps"] + 1000) * scale
    browser.point(x, box["y"] + 3 * box["height"] / 5 + 4)
    hover = browser.value("tlmalloc.hover")
    equal(hover["where"], kernel["pe"])
    equal([hover["kind"], hover["place"], hover["end_ps"] - hover["begin_ps"]], ["bank", *max(
        (part["ps"], part["place"]) for part in kernel["went"] if part["kind"] == "bank")[::-1]])
    assert kernel["pe"] in browser.value("document.getElementById('hover').textContent")
    browser.point(x, box["y"] - 30)
    equal(browser.value("tlmalloc.hover"), None)
    equal(browser.value("document.getElementById('hover').hidden"), True)
    # A node of the platform, and the link that is busiest.
    busiest = max(report["links"], key=lambda link: link["busy_ps"])
    state = browser.value("tlmalloc.views.platform0")
    equal([state["busiest"]["from"], state["busiest"]["to"]], [busiest["from"], busiest["to"]])
    near(state["busiest"]["busy_pct"], busiest["utilisation_pct"], 1e-9)
    equal(state["links"], len(report["links"]))


def two_reports_are_compared(browser, folder):
    one, other = run(folder, "one"), run(folder, "other", "--set", "controller.cost.node=10 ns")
    reports = [load(one), load(other)]
    browser.open(page_of(folder, one, other))
    found = {row["path"]: row for row in browser.value("tlmalloc.views.differences.rows")}
    for key in ("sim_time_ps", "critical_path.kernel_ps"):
        values = [report["sim_time_ps"] if key == "sim_time_ps" else report["critical_path"]["kernel_ps"]
                  for report in reports]
        row = found[key]
        equal([row["first"], row["second"]], values)
        near(row["change"], 100 * (values[1] - values[0]) / values[0], 1e-9)
    equal([found["config.controller.cost.node"][key] for key in ("first", "second")], ["1 ns", "10 ns"])
    assert "leaks" not in found and "config.mmu.page_size" not in found
    # One axis for both, as long as the longer.
    equal(browser.value("tlmalloc.domain"), [0, max(report["sim_time_ps"] for report in reports)])
    equal(browser.value("document.querySelectorAll('#kernels canvas').length"), 2)
    browser.run("const f = document.querySelector('#differences input'); f.value = 'config.'; "
                "f.dispatchEvent(new Event('input'));")
    equal(browser.value("document.querySelectorAll('#differences tbody tr').length"), 1)
    equal(browser.value("document.querySelectorAll('#settings thead th').length"), 4)
    # One with itself.
    copy = os.path.join(folder, "copy.json")
    with open(copy, "w", encoding="utf-8") as file:
        json.dump(reports[0], file)
    browser.open(page_of(folder, one, copy))
    equal(browser.value("tlmalloc.views.differences.count"), 0)


def names_with_markup_are_text(browser, folder):
    report = load(run(folder, "report"))
    evil = "</script><script>window.caught = 1</script><img src=x onerror='window.caught = 2'><!-- \u2028 &amp;"
    report["kernels"][0]["name"] = report["tensors"][0]["name"] = report["message"] = evil
    report["kernels"][0]["pe"] = report["controllers"][0]["name"] = evil
    report["status"] = "TLA_IO"
    report["links"][0]["from"] = evil
    report["config"]["workload"]["kernel"] = evil
    report[evil] = {evil: 1}
    path = os.path.join(folder, "<b>'evil' & \"name\"<script>.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file)
    browser.open(page_of(folder, path, path))
    browser.run(READ_TABLES)
    equal(browser.value("window.caught"), None)
    equal(browser.value("document.querySelectorAll('img').length"), 0)
    assert evil in browser.value("document.querySelector('#summary .failed').textContent")
    assert evil in browser.value("document.title")
    assert "<b>'evil' & \"name\"<script>.json" in browser.value("document.querySelector('#kernels h3').textContent")
    box = browser.box("#kernels canvas")
    browser.point(box["x"] + 150 + 0.55 * (box["width"] - 164), box["y"] + box["height"] / 5 + 4)
    assert evil in browser.value("document.getElementById('hover').textContent")
    equal(browser.value("document.querySelectorAll('#hover *').length"), 0)


def reports_of_all_commands_open(browser, folder):
    report = run(folder, "run")
    commands = {
        "replay": ["replay", SOURCE + "/configs/traces/lm_train.csv.gz", "--capacity", "2 GiB"],
        "compare": ["replay", SOURCE + "/configs/traces/lm_train.csv.gz", "--capacity", "2 GiB", "--compare",
                    "first_fit,buddy"],
        "explain": ["explain", report],
        "traffic": ["traffic", SOURCE + "/configs/timing/hbm3.yaml", "--pattern", "rand_rd1", "--count", "1000"],
        "probe": ["probe", NPU_SMALL, "--case", "local"],
        "reproduce": ["reproduce", "serving_reservation"],
    }
    for name, words in commands.items():
        path = os.path.join(folder, name + ".json")
        tlmalloc(*words, "--json", path)
        browser.open(page_of(folder, path, path))
        equal(browser.value("tlmalloc.errors"), [], name)
        equal(browser.value("tlmalloc.views.differences.count"), 0, name)
        assert browser.run(READ_TABLES), name


def the_page_is_dark_where_the_system_is(browser, folder):
    browser.open(page_of(folder, run(folder, "report")))
    ground = "getComputedStyle(document.body).backgroundColor"
    equal(browser.value(ground), "rgb(255, 255, 255)")
    with driver.Browser(dark=True) as dark:
        dark.open(os.path.join(folder, "page.html"))
        equal(dark.value("matchMedia('(prefers-color-scheme: dark)').matches"), True)
        equal(dark.value(ground), "rgb(21, 23, 26)")
        equal(dark.messages(), [])


def main():
    missing = driver.missing()
    if missing:
        print("test skipped: %s is not here (tests/run --browser installs it)" % " and ".join(missing))
        return 77
    with tempfile.TemporaryDirectory() as folder, driver.Browser() as browser:
        globals()[sys.argv[1]](browser, folder)
        equal(browser.value("tlmalloc.errors"), [])
        equal(browser.messages(), [], "the console")
    return 0


if __name__ == "__main__":
    sys.exit(main())
