"""How long a page of many events takes to open, and how many frames a second it zooms at: bench_page.py --tlmalloc FILE
--config FILE [--events N] [--rounds N] [--json FILE]. Needs Chromium and its driver (tests/run --browser)."""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "browser"))
import driver  # noqa: E402
import made_log  # noqa: E402

# 120 frames, half of them in and half of them out; the frames of a second. Drawing is by the processor alone.
ZOOM = """
const done = arguments[0];
timeAxis.showAll();
document.getElementById('PART').scrollIntoView();
let frames = -10, begin = 0;
const step = (now) => {
  if (frames === 0) begin = now;
  if (frames === 120) { done(120000 / (now - begin)); return; }
  frames++;
  if (frames > 0) timeAxis.zoomBy(frames <= 60 ? 1.05 : 1 / 1.05);
  requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""


def run(*words):
    status = os.spawnv(os.P_WAIT, words[0], words)
    if status:
        sys.exit("%s ended with status %d" % (" ".join(words), status))


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tlmalloc", required=True)
    options.add_argument("--config", required=True)
    options.add_argument("--events", type=int, default=1000000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json")
    chosen = options.parse_args()
    if driver.missing():
        print("skipped: %s is not here (tests/run --browser installs it)" % " and ".join(driver.missing()))
        return 77
    with tempfile.TemporaryDirectory() as folder, driver.Browser(1400, 1000) as browser:
        report, log, page = (os.path.join(folder, name) for name in ("report.json", "run.events", "page.html"))
        run(chosen.tlmalloc, "run", chosen.config, "--json", report)
        with open(report, encoding="utf-8") as file:
            read = json.load(file)
        made_log.write(log, read, made_log.many(read, chosen.events))
        begin = time.monotonic()
        run(chosen.tlmalloc, "report", report, "--events", log, "-o", page)
        written = time.monotonic() - begin
        rounds = {"open_s": [], "kernels_fps": [], "memory_fps": []}
        for _ in range(chosen.rounds):
            rounds["open_s"].append(browser.open(page))
            for part in ("kernels", "memory"):
                rounds[part + "_fps"].append(browser.later(ZOOM.replace("PART", part)))
        found = {"events": chosen.events, "pes": len(read["kernels"]), "log_bytes": os.path.getsize(log),
                 "page_bytes": os.path.getsize(page), "write_s": written}
        found.update({name: statistics.median(values) for name, values in rounds.items()})
        messages = browser.messages()
    print("%(events)d events, %(pes)d PEs: the page (%(page_bytes)d bytes, of a log of %(log_bytes)d) is written in "
          "%(write_s).2f s,\nopens in %(open_s).2f s, and zooms at %(kernels_fps).0f frames a second in the kernels, "
          "%(memory_fps).0f in a memory" % found)
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=2)
    if messages:
        sys.exit("the page says: %s" % messages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
