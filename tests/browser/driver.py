"""Drives Chromium by the WebDriver protocol of Debian's chromium-driver, with Python's own library alone."""
import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request

PROGRAMS = ("chromium", "chromedriver")


def missing():
    """The programs that are not here, of those that are needed."""
    return [name for name in PROGRAMS if not shutil.which(name)]


class Browser:
    """A window without a screen. Use in a with statement, which ends what was started."""

    def __init__(self, width=1280, height=900, dark=False):
        self.driver = subprocess.Popen([shutil.which("chromedriver"), "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        self.root = None
        try:
            self.root = "http://127.0.0.1:%d" % self._port()
            arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                         "--disable-dev-shm-usage", "--window-size=%d,%d" % (width, height)]
            if dark:
                arguments.append("--force-dark-mode")
            options = {"binary": shutil.which("chromium"), "args": arguments}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self.root += "/session/" + made["sessionId"]
        except BaseException:
            self.driver.kill()
            raise

    def _port(self):
        for line in self.driver.stdout:
            if "successfully on port " in line:
                return int(line.split("on port ")[1].split()[0].rstrip("."))
        raise RuntimeError("chromedriver ended before it said its port")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._ask("DELETE", "")
        except OSError:
            pass
        self.driver.terminate()
        self.driver.wait(20)

    def _ask(self, method, path, body=None):
        data = None if method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.root + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as problem:
            raise RuntimeError(json.load(problem)["value"]["message"]) from None

    def visit(self, path):
        """Loads a file, and an anchor in it (FILE#ANCHOR)."""
        self._ask("POST", "/url", {"url": "file://" + path})

    def open(self, path):
        """Opens a page, and waits until it says that it is ready; how many seconds that took."""
        begin = time.monotonic()
        self.visit(path)
        self.wait_for("window.tlmalloc && window.tlmalloc.ready")
        return time.monotonic() - begin

    def run(self, script, *arguments):
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def value(self, expression):
        return self.run("return " + expression)

    def wait_for(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > end:
                raise AssertionError("waited %d s for %s" % (seconds, expression))
            time.sleep(0.02)

    def later(self, script):
        """Runs a script that calls its argument when it is done; with what."""
        return self._ask("POST", "/execute/async", {"script": script, "args": []})

    def frame(self):
        """Waits until what was asked for is drawn."""
        self.later("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));")

    def keys(self, *keys):
        """Presses keys one after the other; "Shift+ArrowLeft" holds Shift."""
        codes = {"ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015",
                 "Tab": "\ue004", "Escape": "\ue00c", "Enter": "\ue007"}
        actions = []
        for key in keys:
            held, pressed = ("\ue008", key[6:]) if key.startswith("Shift+") else (None, key)
            pressed = codes.get(pressed, pressed)
            actions += [{"type": "keyDown", "value": held}] if held else []
            actions += [{"type": "keyDown", "value": pressed}, {"type": "keyUp", "value": pressed}]
            actions += [{"type": "keyUp", "value": held}] if held else []
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})
        self.frame()

    def point(self, x, y, then=()):
        """Moves the pointer to a place of the window; then: more actions of the pointer."""
        move = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}
        self._ask("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse",
                                                    "actions": [move, *then]}]})
        self.frame()

    def drag(self, x, y, by_x, by_y=0):
        self.point(x, y, [{"type": "pointerDown", "button": 0},
                          {"type": "pointerMove", "duration": 50, "x": round(x + by_x), "y": round(y + by_y)},
                          {"type": "pointerUp", "button": 0}])

    def box(self, selector):
        """Where an element is in the window, when it has been brought there."""
        return self.run("const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center'}); "
                        "const b = e.getBoundingClientRect(); "
                        "return {x: b.x, y: b.y, width: b.width, height: b.height}", selector)

    def messages(self):
        """What the page has said on the console since this was asked."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def print(self):
        """The page on paper, a PDF."""
        return base64.b64decode(self._ask("POST", "/print"))

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._ask("GET", "/screenshot")))
