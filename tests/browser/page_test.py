"""What pages of `tlmalloc report' do in a browser: page_test.py CASE TLMALLOC SOURCE-DIR. Skipped with 77 and a word
where there is no browser."""
import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import driver
import made_log

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


def page_of(folder, *reports, logs=()):
    path = os.path.join(folder, "page.html")
    tlmalloc("report", *reports, "-o", path, *[word for log in logs for word in ("--events", log)])
    return path


def page_with_log(folder, rows, lost=0):
    """A page of a run with a log of these rows; the report."""
    path = run(folder, "report")
    report = load(path)
    log = os.path.join(folder, "made.events")
    made_log.write(log, report, rows, lost)
    return page_of(folder, path, logs=[log]), report


def see(browser, selector):
    """Brings a part of the page into the window, so that it is drawn."""
    browser.box(selector)
    browser.frame()
    browser.frame()


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def equal(found, expected, what=""):
    assert found == expected, "%s: found %r, expected %r" % (what, found, expected)


def near(found, expected, within, what=""):
    assert abs(found - expected) <= within, "%s: found %r, expected %r" % (what, found, expected)


def figure(key, text):
    """A number as the page writes it, as it stands in the report."""
    return round(float(text) * 1e6) if key == "ps" or key.endswith("_ps") else float(text)


READ_TABLES = """
for (const box of document.querySelectorAll('#tables details')) box.open = true;
return new Promise((done) => setTimeout(() => done([...document.querySelectorAll('#tables .table')].map((box) => ({
    path: box.dataset.path, rows: [...box.querySelectorAll('tbody tr')].map((row) =>
        [...row.children].map((cell) => cell.textContent))}))), 200));
"""


def figures_are_those_of_the_report(browser, folder):
    path = run(folder, "report", "--set", "hbm.timing=hbm3", "--set", "hbm.energy=hbm3_ayna")
    report = load(path)
    browser.open(page_of(folder, path))
    for key in ("sim_time_ps", "leaks"):
        equal(browser.value("document.querySelector('#summary b[data-key=%s]').dataset.value" % key), str(report[key]))
    energy, shown = report["energy"], "document.querySelector('#summary b[data-key=%s]').dataset.value"
    equal(browser.value(shown % "total_fj"), str(energy["total_fj"]))
    share = float(browser.value(shown % "background_pct"))
    equal(round(share, 9), round(100 * energy["by_cause_fj"]["background"] / energy["total_fj"], 9))
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
    went = report["critical_path"]["went"]
    equal([figure("ps", cells[1]) for cells in tables["critical_path.went"]], [part["ps"] for part in went])
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
    browser.keys("k") # there is no other run
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
    # By parts of the time that is shown, from its beginning if the mark is before it.
    browser.keys("+", "+", "+", "Shift+ArrowRight")
    begin, last = browser.value("tlmalloc.domain")
    near(browser.value("tlmalloc.slider"), begin + (last - begin) / 200, 1)
    browser.keys("Shift+ArrowRight")
    near(browser.value("tlmalloc.slider"), begin + (last - begin) / 100, 1)


def the_page_names_the_part_under_the_pointer(browser, folder):
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
    see(browser, "#platform canvas")
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


def kernels_of_each_run_are_found_on_one_axis(browser, folder):
    reports = [run(folder, "short", "--kernel", "dma_read"),
               run(folder, "long", "--kernel", "mlp", "--set", "links.host_bandwidth=10 MB/s")]
    browser.open(page_of(folder, *reports))
    assert browser.value("document.title").startswith("dma_read and mlp: "), browser.value("document.title")
    times = [(min(kernel["start_ps"] for kernel in load(path)["kernels"]),
              max(kernel["end_ps"] for kernel in load(path)["kernels"])) for path in reports]
    assert times[1][1] > 1000 * times[0][1], times
    for begin, end in [(times[0][0], times[1][1]), *times, (times[0][0], times[1][1])]:
        browser.keys("k")
        near(browser.value("tlmalloc.domain[0]"), begin, 1)
        near(browser.value("tlmalloc.domain[1]"), end, 1)
    # Which kernel it was stands in the configuration, too.
    found = {row["path"]: row for row in browser.value("tlmalloc.views.differences.rows")}
    equal([found["config.workload.kernel"][key] for key in ("first", "second")], ["dma_read", "mlp"])


def names_that_are_long_or_turn_the_text_change_nothing_else(browser, folder):
    log = os.path.join(folder, "log")
    path = run(folder, "report", "--events", log)
    report = load(path)
    odd = "\u202edexob\u2066\u0007 \u65e5\u672c\u8a9e \U0001f680 " + "very_long_" * 400
    for kernel in report["kernels"]:
        kernel["name"] = odd
    for tensor in report["tensors"]:
        tensor["name"] = odd
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file)
    with open(log, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    for row in rows[1:]:
        if row[0] == "tensor":
            row[2] = odd
    with open(log, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    browser.open(page_of(folder, path, logs=[log]))
    browser.run(READ_TABLES)
    head, wide = browser.value("[document.querySelector('header').offsetHeight, document.body.scrollWidth]")
    assert head < 100 and wide <= browser.value("innerWidth"), (head, wide)
    box = browser.box("#memory canvas")
    browser.point(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.8)
    equal(browser.value("tlmalloc.hover.tensor"), odd)
    told = browser.value("document.getElementById('hover').textContent")
    assert told.startswith("tensor \\u202edexob\\u2066\\u0007 \u65e5\u672c\u8a9e") and "allocated by host" in told, told
    assert browser.value("document.getElementById('hover').offsetHeight") < 200
    for character in "\u202e\u2066\u0007":
        assert character not in browser.value("document.getElementById('main').textContent + document.title")


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


def numbers_of(value, key=""):
    """How often each number stands in a report, as the tables write it."""
    if isinstance(value, dict):
        return sum((numbers_of(part, name) for name, part in value.items()), collections.Counter())
    if isinstance(value, list):
        return sum((numbers_of(part) for part in value if isinstance(part, dict)), collections.Counter())
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return collections.Counter()
    shown = value / 1e6 if key == "ps" or key.endswith("_ps") else value
    return collections.Counter([number_of_cell("%.10g" % shown)])


def number_of_cell(cell):
    try:
        return "%.9g" % float(cell)
    except ValueError:
        return None


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
    requests = SOURCE + "/configs/serving/small_requests.jsonl"
    commands["serve"] = ["serve", requests, "--settings", SOURCE + "/configs/serving/small.yaml", "--step-time",
                         "fixed 10 ms + 100 us/token"]
    buffers = os.path.join(folder, "buffers.csv")
    with open(buffers, "w", encoding="utf-8") as file:
        file.write("id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\n")
    commands["plan"] = ["plan", buffers, "--minimize"]
    for name, words in commands.items():
        path = os.path.join(folder, name + ".json")
        tlmalloc(*words, "--json", path)
        browser.open(page_of(folder, path, path))
        equal(browser.value("tlmalloc.errors"), [], name)
        equal(browser.value("tlmalloc.views.differences.count"), 0, name)
        tables = {table["path"]: table["rows"] for table in browser.run(READ_TABLES)}
        if name == "serve":
            total = load(path)["ttft"]["mean_s"]["total"]
            near(float(next(row[1] for row in tables["ttft"] if row[0] == "mean_s")), total, 1e-9 * total)
        # Every figure of the report stands in a table, those of lists in lists too.
        expected = numbers_of(load(path))
        expected.subtract(number_of_cell(cell) for rows in tables.values() for row in rows for cell in row)
        equal([number for number, count in expected.items() if count > 0 and number is not None], [], name)
        assert tables, name


def a_log_is_read_to_the_last_bit(browser, folder):
    most = 2 ** 53 - 1
    rows = [made_log.memory(1, "ALLOC", 5, 2 ** 45 + 1, None, "TLA_OK", None, most - 1, 2 ** 31, 2 ** 32 + 7, 0, None),
            made_log.memory(2, "FREE", 2 ** 45, 2 ** 45, 3, "TLA_EXHAUSTED", "hbm", 0, 1, 0, most - 1, 127),
            made_log.memory(2, "FREE", 0, 1, 0, "TLA_OK", "tcm", None, 128, None, 2 ** 64 - 1, 2 ** 63),
            ["coffee", 1], ["access", 5, "stale", 3, 2 ** 64 - 1, 8, "read", 0],
            ["transfer", 1, "read", 1, 2, 3, "TLA_OK", True, 4, False, None, None, None, []],
            ["transfer", 1, "write", 1, 2, 3, "TLA_OK", False, 4, True, None, 9, None, [2, 1]],
            ["ranges", 7, [[1, 2, 3], [4, 5, 6]]], ["tensor", 4, "</script><b>", 1, 2]]
    page, _ = page_with_log(folder, rows)
    browser.open(page)
    columns = browser.value("JSON.stringify(Object.fromEntries(Object.entries(PAGE.runs[0].log.table('memory'))"
                            ".map(([name, values]) => [name, Array.from(values)])))")
    found = json.loads(columns)
    names = made_log.COLUMNS["memory"]
    for name, values in found.items():
        expected = [row[1 + names.index(name)] for row in rows[:3]]
        if isinstance(next((value for value in expected if value is not None), 0), str):
            values = browser.run("return arguments[0].map((n) => n === null ? null : PAGE.runs[0].log.text(n))", values)
        expected = [min(value, most - 1) if isinstance(value, int) else value for value in expected]
        equal(values, expected, name)
    table = lambda name: browser.value("Object.fromEntries(Object.entries(PAGE.runs[0].log.table('%s'))"
                                       ".map(([name, values]) => [name, Array.from(values)]))" % name)
    equal(table("access")["va"], [most - 1])
    equal([table("transfer")[name] for name in ("for_message", "physical", "block", "memories")],
          [[1, 0], [0, 1], [None, 9], [None, 2]])
    equal(table("range"), {"number": [7, 7], "va": [1, 4], "pa": [2, 5], "bytes": [3, 6]})
    equal(browser.value("PAGE.runs[0].log.tensors.get(4)"), "</script><b>")


SUMS_OF_THE_LOG = """
const log = PAGE.runs[0].log, view = memoryShown.views[0], sums = {blocks: {}, went: {}, bytes: {}};
for (const memory of view.memories.values()) sums.blocks[memory.name] = memory.begin.length;
const t = log.table('interval'), load = log.table('load');
t.who.forEach((who, row) => {
  const key = (who === 0 ? 'host' : log.head.pes[who - 1]) + ' ' + log.text(t.kind[row]);
  sums.went[key] = (sums.went[key] || 0) + t.end[row] - t.begin[row];
});
load.link.forEach((link, row) => { sums.bytes[link] = (sums.bytes[link] || 0) + load.bytes[row]; });
return sums;
"""


def the_log_of_a_run_sums_to_its_report(browser, folder):
    log = os.path.join(folder, "run.events.gz")
    path = run(folder, "report", "--kernel", "mlp", "--events", log)
    report = load(path)
    browser.open(page_of(folder, path, logs=[log]))
    sums = browser.run(SUMS_OF_THE_LOG)
    went = {}
    for kernel in report["kernels"]:
        for part in kernel["went"]:
            key = kernel["pe"] + " " + part["kind"]
            went[key] = went.get(key, 0) + part["ps"]
    equal({key: value for key, value in sums["went"].items() if not key.startswith("host ")}, went)
    equal(sums["bytes"], {str(link["link"]): link["bytes"] for link in report["links"]})
    for row in report["controllers"]:
        name = row["name"].removeprefix("npu.") + " " + row["channel"]
        equal(sums["blocks"].get(name, 0), row["allocs"] - row["failed"], name)
    equal(browser.value("tlmalloc.views.kernels0.timed"), True)
    # Every tensor is told by its name where its blocks are.
    told = browser.value("[...memoryShown.views[0].memory().begin.keys()].map((number) => blockWords(PAGE.runs[0].log, "
                         "memoryShown.views[0].memory(), number).tensor)")
    equal(sorted({name for name in told if name}), sorted(tensor["name"] for tensor in report["tensors"]))


def blocks_are_drawn_and_described(browser, folder):
    us = 10 ** 6
    rows = [["tensor", 9, "weights", 0, 4096],
            made_log.memory(1, "ALLOC", us, us + 100, 0, "TLA_OK", "hbm", 4096, 4096, 0, 10000, 9000),
            made_log.memory(1, "ALLOC", us, us + 200, 2, "TLA_OK", "hbm", 8192, 64, 1, 9936, 8936),
            made_log.memory(1, "ALLOC", us, us + 300, 2, "TLA_OK", "hbm", 2 ** 40, 64, 2, 9872, 8872, None, 3),
            made_log.memory(1, "ALLOC", 2 * us, 2 * us, 3, "TLA_EXHAUSTED", "hbm", None, 9000, None, 9872, 8872),
            made_log.memory(1, "ALLOC", 2 * us, 2 * us, 3, "TLA_EXHAUSTED", "hbm", None, 99000, None, 9872, 8872),
            made_log.memory(1, "FREE", 4 * us, 4 * us, 3, "TLA_OK", "hbm", 4096, 4096, 0, 13968, 12968),
            made_log.memory(2, "ALLOC", us, us, 1, "TLA_OK", "tcm", 64, 64, 3, 100, 100)]
    rows[1][12] = 9  # the tensor's
    page, report = page_with_log(folder, rows)
    browser.open(page)
    see(browser, "#memory canvas")
    state = lambda: browser.value("tlmalloc.views.memory0")
    pe = report["kernels"][0]["pe"]
    equal(state(), {"name": pe + ".controller hbm", "blocks": 3, "drawn": 3, "failed": 2, "named": 1})
    equal(browser.value("tlmalloc.addresses"), [4096, 2 ** 40 + 64])
    equal(browser.value("[...document.querySelectorAll('#memory-name option')].map((o) => o.value)"),
          [pe + ".controller hbm", report["kernels"][1]["pe"] + ".controller tcm"])
    box = browser.box("#memory canvas")
    scale = (box["width"] - 164) / report["sim_time_ps"]
    at = lambda time: box["x"] + 150 + time * scale
    # The lowest block, of the tensor: nearly all of the axis, the large gap above it is narrow.
    browser.point(at(3 * us), box["y"] + box["height"] * 0.7)
    hover = browser.value("tlmalloc.hover")
    expected = {"tensor": "weights", "owner": "host", "freed_by": report["kernels"][2]["pe"], "address": 4096,
                "bytes": 4096, "begin_ps": us + 100, "end_ps": 4 * us, "block": 0}
    equal({key: hover[key] for key in expected}, expected)
    # Afterwards there is none.
    browser.point(at(5 * us), box["y"] + box["height"] * 0.7)
    equal(browser.value("tlmalloc.hover"), None)
    # Why requests failed, in the view and in the table.
    browser.point(at(2 * us), box["y"] + 4)
    assert "fragmentation" in browser.value("tlmalloc.hover.text"), browser.value("tlmalloc.hover.text")
    equal(browser.value("tlmalloc.views.failures0.count"), 2)
    rows = browser.value("[...document.querySelectorAll('#failures tbody tr')].map((row) => row.textContent)")
    assert "8.79 KiB (9000 B): TLA_EXHAUSTED; 9.64 KiB (9872 B) were free, in holes of at most 8.66 KiB (8872 B): " \
        "fragmentation" in rows[0], rows
    assert "96.68 KiB (99000 B): TLA_EXHAUSTED; only 9.64 KiB (9872 B) were free" in rows[1], rows
    # The free list beside it.
    equal(browser.value("tlmalloc.views.free0"), {"points": 6, "least_free": 9872, "least_hole": 8872,
                                                   "most_blocks": 3})
    free = browser.box("#memory .panel:nth-of-type(2) canvas")
    browser.point(at(1.5 * us), free["y"] + 20)
    equal([browser.value("tlmalloc.hover." + key) for key in ("free_bytes", "largest_free_bytes", "free_blocks")],
          [9872, 8872, 3])
    # Zoom to a block, and back.
    box = browser.box("#memory canvas")
    press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
    browser.point(at(3 * us), box["y"] + box["height"] * 0.7, press + press)
    begin, end = browser.value("tlmalloc.domain")
    assert us - 300000 < begin < us and 4 * us < end < 4 * us + 400000, (begin, end)
    low, high = browser.value("tlmalloc.addresses")
    shown = browser.value("memoryShown.high - memoryShown.low") # of the axis, in which gaps are narrow
    assert low <= 4096 and high >= 8192 and 4096 < shown < 1.6 * 4096, (low, high, shown)
    browser.run("document.querySelector('#memory canvas').focus()")
    browser.keys("0")
    equal(browser.value("tlmalloc.addresses"), [4096, 2 ** 40 + 64])
    browser.run(WHEEL, "#memory canvas", {"deltaY": -300, "shiftKey": True})
    browser.frame()
    assert browser.value("tlmalloc.addresses")[0] > 4096
    before = browser.value("tlmalloc.addresses")
    browser.keys("ArrowUp")
    assert browser.value("tlmalloc.addresses") != before
    # Another memory.
    browser.run("const s = document.getElementById('memory-name'); s.selectedIndex = 1; "
                "s.dispatchEvent(new Event('change'));")
    browser.frame()
    equal([state()["blocks"], browser.value("tlmalloc.addresses")], [1, [64, 128]])


WHEEL = """const e = document.querySelector(arguments[0]), box = e.getBoundingClientRect();
e.dispatchEvent(new WheelEvent('wheel', {bubbles: true, cancelable: true, clientX: box.x + 400, clientY: box.y + 20,
                                         ...arguments[1]}));"""


def mappings_are_arrows_and_stale_accesses_marks(browser, folder):
    def mapping(module, op, arrival, done, request):
        return ["mapping", module, op, arrival, arrival, done, 2, None, 1, "TLA_OK", request, 0]

    us = 10 ** 6
    rows = [["ranges", 0, [[4096, 65536, 4096]]], mapping(0, "MAP", us, 3 * us, 6),
            mapping(5, "MAP", us + 100000, us + 900000, 6), mapping(6, "MAP", us + 200000, 2 * us, 6),
            mapping(0, "UNMAP", 4 * us, 5 * us, 7), mapping(5, "UNMAP", 4 * us + 1, 4 * us + 99, 7),
            ["access", 5, "stale", 5 * us, 4096, 64, "read", 0]]
    page, report = page_with_log(folder, rows)
    browser.open(page)
    see(browser, "#mapping canvas")
    equal(browser.value("tlmalloc.views.mapping0"), {"modules": 3, "maps": 3, "unmaps": 2, "arrows": 3, "troubles": 1,
                                                     "drawn": 5, "arrows_drawn": 3})
    box = browser.box("#mapping canvas")
    at = lambda time: box["x"] + 150 + time * (box["width"] - 164) / report["sim_time_ps"]
    browser.point(at(us + 500000), box["y"] + 18 + 9)
    hover = browser.value("tlmalloc.hover")
    equal([hover["op"], hover["module"], hover["arrival_ps"], hover["done_ps"]],
          ["MAP", report["kernels"][0]["pe"] + ".mmu", us + 100000, us + 900000])
    assert "0x1000 to 0x10000, 4 KiB" in hover["text"], hover["text"]
    browser.point(at(5 * us), box["y"] + 18 + 9)
    equal(browser.value("tlmalloc.hover.what"), "stale")
    browser.keys("+") # nothing is told of what is not there any more
    equal(browser.value("tlmalloc.hover"), None)


def arrows_of_many_mappings_come_with_the_zoom(browser, folder):
    def mapping(module, at, done, request):
        return ["mapping", module, "MAP", at, at, done, 2, None, 1, "TLA_OK", request, 0]

    rows = [["ranges", 0, [[4096, 65536, 4096]]]]
    for i in range(4500):
        rows += [mapping(0, 1000 * i, 1000 * i + 900, i), mapping(5, 1000 * i + 100, 1000 * i + 500, i)]
    browser.open(page_with_log(folder, rows)[0])
    see(browser, "#mapping canvas")
    state = browser.value("tlmalloc.views.mapping0")
    equal([state["arrows"], state["arrows_drawn"], state["drawn"]], [4500, 0, 9000])
    browser.run("timeAxis.show(1000000, 2000000)")
    browser.frame()
    near(browser.value("tlmalloc.views.mapping0.arrows_drawn"), 1000, 2)


def the_platform_shows_the_time_at_the_slider(browser, folder):
    rows = [["buckets", 1000000],
            ["link", 0, [10, 0, 30], [1, 0, 1], [500000, 0, 250000], [0, 0, 2000000]], ["link", 1, [0, 7], [0, 1],
                                                                                       [0, 1000000], [0, 0]]]
    page, report = page_with_log(folder, rows)
    browser.open(page)
    see(browser, "#platform canvas")
    state = lambda: browser.value("tlmalloc.views.platform0")
    equal([state()["bucket"], state()["links"]], [None, len(report["links"])])

    def slide(time):
        browser.run("timeAxis.slide(arguments[0])", time)
        see(browser, "#platform canvas")
        return [state()["bucket"], state()["links"], (state()["busiest"] or {}).get("busy_pct")]

    equal(slide(500000), [0, 1, 50])
    equal(slide(1200000), [1, 1, 100])
    equal(slide(2999999), [2, 1, 25])
    equal(slide(4000000), [4, 0, None])
    browser.run("document.getElementById('whole').click()")
    see(browser, "#platform canvas")
    equal(state()["bucket"], None)


def addresses_beside_a_memory_are_multiples_of_powers_of_two(browser, folder):
    rows = [made_log.memory(1, "ALLOC", 0, 1, 0, "TLA_OK", "hbm", 2 ** 37 + 512, 49152, 0, 9, 9),
            made_log.memory(1, "ALLOC", 0, 1, 0, "TLA_OK", "hbm", 2 ** 38 + 100, 49152, 1, 9, 9)]
    browser.open(page_with_log(folder, rows)[0])
    told = browser.value("memoryShown.axis.ticks(memoryShown.low, memoryShown.high, 5)"
                         ".map((place) => memoryShown.axis.address(place))")
    equal(told, [2 ** 37 + 32768, 2 ** 38 + 32768])
    browser.run("memoryShown.show(memoryShown.low, memoryShown.low + 4096)")
    told = browser.value("memoryShown.axis.ticks(memoryShown.low, memoryShown.high, 5)"
                         ".map((place) => memoryShown.axis.address(place))")
    equal(told, [2 ** 37 + 1024 * i for i in range(1, 5)])


def a_block_of_a_truncated_log_may_have_been_released(browser, folder):
    log = os.path.join(folder, "log")
    path = run(folder, "report", "--events", log, "--events-limit", "20")
    browser.open(page_of(folder, path, logs=[log]))
    told = browser.value("blockWords(PAGE.runs[0].log, memoryShown.views[0].memory(), 0)")
    equal(told["freed_by"], None)
    assert told["text"].endswith("freed or not: unknown, because the log is truncated"), told
    page, _ = page_with_log(folder, [made_log.memory(1, "ALLOC", 0, 1, 0, "TLA_OK", "hbm", 64, 64, 0, 9, 9)])
    browser.open(page)
    told = browser.value("blockWords(PAGE.runs[0].log, memoryShown.views[0].memory(), 0)")
    assert told["text"].endswith("\nnot freed"), told


def intervals_are_drawn_in_order_of_time(browser, folder):
    rows = [["interval", 1, "bank", 2000000, 3000000, 2, 65536], ["interval", 1, "link", 1000000, 2000000, 1, None],
            ["interval", 0, "host_map", 0, 1000000, None, None]]
    rows += [["interval", 2, "walk" if i % 3 else "alloc", 1000 * i, 1000 * i + 1000, None, None] for i in range(4000)]
    page, report = page_with_log(folder, rows, lost=12)
    browser.open(page)
    equal(browser.value("tlmalloc.views.kernels0"), {"rows": 5, "drawn": 4003, "timed": True})
    box = browser.box("#kernels canvas")
    at = lambda time: box["x"] + 150 + time * (box["width"] - 164) / report["sim_time_ps"]
    told = []
    for time in (500000, 1500000, 2500000, 3500000):
        browser.point(at(time), box["y"] + (5 if time < 1000000 else 25))
        told.append(browser.value("tlmalloc.hover && [tlmalloc.hover.kind, tlmalloc.hover.place]"))
    equal(told, [["host_map", ""], ["link", "sip0.pcie_ep -> host"], ["bank", "sip0.cube0.hbm_ctrl.pe0"], None])
    # Of a pixel, what it has most of: two of three parts are walks.
    row = round(box["height"] / 5 * 2 + 3)
    pixels = browser.run("const c = document.querySelector('#kernels canvas'); const d = c.width / c.clientWidth; "
                         "return Array.from(c.getContext('2d').getImageData(Math.round((150 + arguments[0]) * d), "
                         "Math.round(arguments[1] * d), 1, 1).data)", 30, row)
    equal(pixels[:3], [0xf0, 0xe4, 0x42], "a walk")
    lost = browser.value("document.querySelector('#kernels .failed').textContent")
    assert "12 events are not shown (12 transfer)" in lost, lost


def views_that_are_drawn_later_move_nothing(browser, folder):
    path = run(folder, "report", "--events", os.path.join(folder, "log"))
    browser.open(page_of(folder, path, path, logs=[os.path.join(folder, "log")] * 2))
    tall = "document.documentElement.scrollHeight - document.getElementById('figures').offsetHeight"
    before = browser.value(tall)
    for part in ("mapping", "platform", "settings"):
        see(browser, "#" + part)
    near(browser.value(tall), before, 2)


def a_link_leads_to_its_part_whatever_is_filled_on_the_way(browser, folder):
    path = run(folder, "report", "--events", os.path.join(folder, "log"))
    browser.open(page_of(folder, path, path, logs=[os.path.join(folder, "log")] * 2))
    plots = "document.querySelectorAll('#figures canvas').length"
    before = browser.value(plots)
    browser.run("document.querySelector('#contents a[href=\"#differences\"]').click()")
    # So that a little of what is filled when it is seen can be.
    browser.run("window.scrollBy(0, -60)")
    top = "document.getElementById('differences').getBoundingClientRect().top"
    there = browser.value(top)
    browser.wait_for(plots + " > %d" % before)
    browser.frame()
    near(browser.value(top), there, 2)
    assert 0 < there < 300, there


def a_run_that_failed_is_shown(browser, folder):
    path, log = os.path.join(folder, "failed.json"), os.path.join(folder, "log")
    done = subprocess.run([TLMALLOC, "run", NPU_SMALL, "--kernel", "gemm", "--json", path, "--events", log, "--set",
                           "hbm.capacity_per_cube=64 KiB"], capture_output=True, text=True, check=False)
    equal(done.returncode, 1)
    browser.open(page_of(folder, path, logs=[log]))
    equal(browser.value("document.querySelector('#summary .failed').textContent"),
          "TLA_EXHAUSTED: " + load(path)["message"])
    equal(browser.value("tlmalloc.views.failures0.count"), 4)
    told = browser.value("document.querySelector('#failures tbody tr').textContent")
    assert "host" in told and "48 KiB: TLA_EXHAUSTED; only 16 KiB were free" in told, told
    see(browser, "#memory canvas")
    equal(browser.value("tlmalloc.views.memory0.failed"), 1)
    # What the host was in until then; no kernel has begun, so that there is no time of kernels to show.
    equal(browser.value("tlmalloc.views.kernels0"), {"rows": 5, "drawn": 1, "timed": True})
    before = browser.value("tlmalloc.domain")
    browser.keys("k")
    equal(browser.value("tlmalloc.domain"), before)
    # Without the log, and beside a run that did not fail.
    browser.open(page_of(folder, path, run(folder, "report")))


def the_page_reports_a_report_that_was_changed(browser, folder):
    path = run(folder, "report")
    report = load(path)
    report["kernels"] = report["links"] = 5
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file)
    browser.open(page_of(folder, path))
    told = browser.value("document.querySelector('#main > .failed').textContent")
    assert told.startswith("Parts of this page cannot be shown ("), told
    equal(browser.value("tlmalloc.errors.splice(0).length"), 1)


def the_page_prints(browser, folder):
    path = run(folder, "report", "--events", os.path.join(folder, "log"))
    browser.open(page_of(folder, path, logs=[os.path.join(folder, "log")]))
    equal(browser.value("tlmalloc.views.platform0.links"), 0)
    paper = browser.print()
    assert paper.startswith(b"%PDF-") and len(paper) > 50000, len(paper)
    # What had not been seen is drawn for it.
    equal(browser.value("tlmalloc.views.platform0.links"), len(load(path)["links"]))
    assert browser.value("document.querySelectorAll('#figures canvas').length") > 10


def paper_is_light_where_the_system_is_dark(browser, folder):
    path = run(folder, "report", "--events", os.path.join(folder, "log"))
    page = page_of(folder, path, logs=[os.path.join(folder, "log")])
    with driver.Browser(dark=True) as dark:
        dark.open(page)
        see(dark, "#platform canvas")
        looks = "[isDark(), styleColour('text'), document.querySelector('i[data-load]').style.backgroundColor]"
        on_screen = dark.value(looks)
        equal(on_screen[:2], [True, "#e8e8e6"])
        # The mark at the end of the host's part of the critical path.
        mark = "const c = document.querySelector('#kernels canvas'), d = c.width / c.clientWidth; return Array.from(" \
            "c.getContext('2d').getImageData(Math.round(154 * d), Math.round(15 * d), 1, 1).data)"
        equal(dark.run(mark)[:3], [255, 255, 255])
        dark.run("dispatchEvent(new Event('beforeprint'))")
        on_paper = dark.value(looks)
        equal(on_paper[:2], [False, "#1b1b1b"])
        assert on_paper[2] != on_screen[2], on_paper
        equal(dark.run(mark)[:3], [0, 0, 0])
        # The axis is as wide as the canvas above it, however wide paper is.
        equal(dark.value("document.querySelector('#kernels svg').getAttribute('viewBox')"),
              "0 0 %d 22" % dark.value("document.querySelector('#kernels canvas').clientWidth"))
        dark.run("dispatchEvent(new Event('afterprint'))")
        dark.frame()
        see(dark, "#kernels canvas")
        equal(dark.value(looks), on_screen)
        equal(dark.run(mark)[:3], [255, 255, 255])
        equal(dark.value("tlmalloc.errors"), []) # not the console: the browser remarks on pixels that tests read
    browser.open(page)


def a_narrow_window_has_room_for_all(browser, folder):
    path = run(folder, "report", "--events", os.path.join(folder, "log"))
    page = page_of(folder, path, path, logs=[os.path.join(folder, "log")] * 2)
    with driver.Browser(width=500) as narrow:
        narrow.open(page)
        for part in ("kernels", "memory", "mapping", "platform", "figures", "settings"):
            see(narrow, "#" + part)
        assert narrow.value("document.documentElement.scrollWidth") <= narrow.value("innerWidth")
        # What stays at the top when the page moves stands below the head, however many lines that has.
        narrow.run("document.getElementById('mapping').scrollIntoView()")
        narrow.frame()
        below = narrow.value("[document.querySelector('header'), document.getElementById('controls')]"
                             ".map((e) => e.getBoundingClientRect()).map((box) => [box.top, box.bottom])")
        assert below[0][1] > 60 and abs(below[1][0] - below[0][1]) < 2, below
        assert len(narrow.run("return [...document.querySelectorAll('#kernels svg text')].map((t) => t.textContent)")) \
            <= 10
    browser.open(page)


def a_figure_that_is_the_same_everywhere_has_one_bar(browser, folder):
    path = run(folder, "report", "--kernel", "dma_read", "--events", os.path.join(folder, "log"))
    browser.open(page_of(folder, path, logs=[os.path.join(folder, "log")]))
    see(browser, "#figures .plots")
    views = "[...document.querySelectorAll('#figures .panel')].map((panel) => panel.view.of)"
    found = browser.value(views + ".filter((of) => of.isOne).map((of) => [of.key, of.ticks(), of.find(of.left + 12 * "
                          "of.each + 1), of.find(of.left + 1)])")
    dma_ps = load(path)["kernels"][0]["dma_ps"]
    mine = [row for row in found if row[1] == [dma_ps] and row[0] == "dma_ps"]
    equal(mine[0][2]["text"], "%d ns: 4" % (dma_ps // 1000))
    equal(mine[0][3], None)
    # Of bytes the axis has powers of two.
    ticks = browser.value(views + ".filter((of) => of.key === 'bytes').map((of) => of.ticks())")[0]
    assert len(ticks) > 1 and all(tick % 4096 == 0 for tick in ticks), ticks


def tab_goes_through_the_views(browser, folder):
    path = run(folder, "report", "--events", os.path.join(folder, "log"))
    browser.open(page_of(folder, path, logs=[os.path.join(folder, "log")]))
    browser.run("document.getElementById('slider').focus()")
    seen = []
    for _ in range(10):
        browser.keys("Tab")
        seen.append(browser.value("document.activeElement.id || document.activeElement.getAttribute('aria-label')"))
    equal(seen[:5], ["whole", "reset", "kernel-time", "Activity of every kernel", "memory-name"])
    assert "Mappings from module to module" in seen, seen
    # Keys that are meant for a field are left to it.
    browser.run("document.getElementById('memory-name').focus()")
    before = browser.value("tlmalloc.domain")
    browser.keys("ArrowRight")
    equal(browser.value("tlmalloc.domain"), before)


def the_page_is_dark_where_the_system_is(browser, folder):
    browser.open(page_of(folder, run(folder, "report")))
    ground = "getComputedStyle(document.body).backgroundColor"
    equal(browser.value(ground), "rgb(255, 255, 255)")
    with driver.Browser(dark=True) as dark:
        dark.open(os.path.join(folder, "page.html"))
        equal(dark.value("matchMedia('(prefers-color-scheme: dark)').matches"), True)
        equal(dark.value(ground), "rgb(21, 23, 26)")
        equal(dark.messages(), [])


class Watch:
    """`run --watch' of a kernel of its own, in a folder whose name has a blank."""

    def __init__(self, folder, kernel_text='#include "size.h"\nconst int size = SIZE;\n'):
        self.folder = os.path.join(folder, "a # b")
        os.makedirs(self.folder, exist_ok=True)
        self.kernel, self.config = os.path.join(self.folder, "k.c"), os.path.join(self.folder, "c.yaml")
        self.header, self.page = os.path.join(self.folder, "size.h"), os.path.join(self.folder, "the page.html")
        shutil.copy(NPU_SMALL, self.config)
        write(self.header, "enum { SIZE = 1 };\n")
        with open(SOURCE + "/platform/kernels/vector_add.c", encoding="utf-8") as file:
            write(self.kernel, file.read() + kernel_text)
        self.process = subprocess.Popen([TLMALLOC, "run", self.config, "--kernel", self.kernel, "--watch", "-o",
                                         self.page], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def replace(path, old, new):
    """As editors do: a new file takes the name of the old one."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert old in text, path
    write(path + "~new", text.replace(old, new))
    os.rename(path + "~new", path)


def a_watched_page_refreshes_itself_and_keeps_what_it_shows(browser, folder):
    shown = "typeof WATCH !== 'undefined' && window.tlmalloc && tlmalloc.ready && tlmalloc.watched && " \
        "tlmalloc.watched.state === '%s' && WATCH.page === %d"
    box = "document.getElementById('watch').textContent"
    with Watch(folder) as watch:
        while not os.path.exists(watch.page):
            assert watch.process.poll() is None
            time.sleep(0.01)
        browser.visit(watch.page.replace("#", "%23").replace(" ", "%20"))
        browser.wait_for(shown % ("done", 1))
        browser.keys("+", "+", "ArrowRight")
        browser.run("memoryShown.show(0, memoryShown.axis.length / 3); timeAxis.slide(2000000); window.scrollTo(0, 700)")
        state = "[tlmalloc.domain, tlmalloc.addresses, tlmalloc.slider, window.scrollY, " \
            "document.getElementById('whole').checked, document.getElementById('memory-name').value]"
        before = browser.value(state)
        assert before[0][0] > 0 and before[3] > 0, before
        # An include, the configuration by way of an editor, and a file that is written in pieces.
        begin = time.monotonic()
        write(watch.header, "enum { SIZE = 2 };\n")
        browser.wait_for(shown % ("done", 2))
        print("refreshed %.2f s after the edit" % (time.monotonic() - begin))
        equal(browser.value(state), before)
        replace(watch.config, "\n", "\n# a remark\n")
        browser.wait_for(shown % ("done", 3))
        equal(browser.value(state), before)
        # A failure is shown above the page of the run before, with the text as text.
        with open(watch.kernel, "a", encoding="utf-8") as file:
            file.write("int wrong = \"</script><b>\"")
            file.flush()
            browser.wait_for(shown % ("failed", 3))
        text = browser.value(box)
        assert "The last run failed" in text and "does not compile" in text and "k.c:" in text, text
        assert browser.value("document.querySelector('#watch b')") is None
        equal(browser.value("tlmalloc.domain"), before[0])
        replace(watch.kernel, "int wrong = \"</script><b>\"", "")
        browser.wait_for(shown % ("done", 4))
        assert browser.value("!document.getElementById('watch') || document.getElementById('watch').hidden")
        replace(watch.config, "system:", "sistem:")
        browser.wait_for(shown % ("failed", 4))
        assert "sistem" in browser.value(box), browser.value(box)
        # Nothing runs again while nothing changes.
        time.sleep(1)
        equal(browser.value("[tlmalloc.watched.page, tlmalloc.watched.state]"), [4, "failed"])
        equal(browser.value("tlmalloc.errors"), [])
        watch.process.send_signal(signal.SIGINT)
        browser.wait_for("tlmalloc.watched.state === 'ended'")
        assert "ended" in browser.value(box)
        equal(watch.process.wait(20), 0)
        assert "does not compile" in watch.process.stderr.read()
    equal(sorted(os.listdir(watch.folder)), ["c.yaml", "k.c", "size.h", "the page.html"])
    browser.open(watch.page.replace("#", "%23").replace(" ", "%20"))
    equal(browser.value("[typeof WATCH, tlmalloc.domain[0]]"), ["undefined", 0])


def an_open_page_finds_the_next_watch_and_says_that_it_shows_an_earlier_run(browser, folder):
    with Watch(folder) as watch:
        while not os.path.exists(watch.page):
            assert watch.process.poll() is None
            time.sleep(0.01)
        browser.visit(watch.page.replace("#", "%23").replace(" ", "%20"))
        browser.wait_for("typeof WATCH !== 'undefined' && WATCH.page === 1 && tlmalloc.ready")
        watch.process.send_signal(signal.SIGTERM)
        browser.wait_for("tlmalloc.watched.state === 'ended'")
        equal(watch.process.wait(20), 0)
    with Watch(folder, "int wrong = ;\n") as watch:
        browser.wait_for("typeof WATCH !== 'undefined' && WATCH.page === 0 && window.tlmalloc && tlmalloc.ready && "
                         "tlmalloc.watched && tlmalloc.watched.state === 'failed'")
        box = browser.value("document.getElementById('watch').textContent")
        assert "The last run failed; the page shows an earlier run:" in box and "does not compile" in box, box
        assert browser.value("tlmalloc.domain[1] > 0")
        replace(watch.kernel, "int wrong = ;\n", "")
        browser.wait_for("typeof WATCH !== 'undefined' && WATCH.page === 1 && tlmalloc.ready")
        browser.wait_for("!document.getElementById('watch') || document.getElementById('watch').hidden")
        watch.process.send_signal(signal.SIGTERM)
        equal(watch.process.wait(20), 0)
    browser.messages()  # between the watches the script was missing


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
