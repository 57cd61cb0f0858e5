# SPDX-License-Identifier: Apache-2.0
"""The timeline page of a real run, its script run by node with a page of stubs."""

import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build")) / "bin" / "tilewright-ascendc"
EXAMPLE = ROOT / "examples" / "ascend" / "relu_custom.cpp"
SCRIPT = Path(__file__).with_name("make_pictures.py")

pytestmark = pytest.mark.skipif(not DRIVER.exists(), reason="tilewright-ascendc is not built")

# A document with a canvas that notes what is drawn. `point` finds a bar of `name` and puts the
# mouse on it; what the page then shows is printed as JSON.
STUBS = """
const drawn = [];
const context = new Proxy({measureText: text => ({width: 6 * text.length})}, {
  get: (target, name) => name in target ? target[name]
    : (...given) => { drawn.push([name, context.fillStyle, context.strokeStyle, ...given]); },
  set: (target, name, value) => { target[name] = value; return true; }
});
const elements = {};
const element = id => elements[id] ??=
  {style: {}, getContext: () => context, offsetWidth: 90, offsetHeight: 50};
// The page gets a scroll bar once the canvas is high.
const root = {get clientWidth() { return element('view').height ? 985 : 1000; }};
globalThis.document = {getElementById: element, documentElement: root};
globalThis.innerWidth = 1000; globalThis.innerHeight = 600; globalThis.scrollY = 7;
globalThis.scrollTo = (x, y) => { globalThis.scrolled = y; };
"""
QUESTIONS = """
const view_ = element('view'), tip_ = element('tip');
const bars = () => drawn.filter(d => d[0] === 'fillRect' && d[6] === laneHeight - 4);
const answer = {bars: bars().length, outlined: drawn.filter(d => d[0] === 'strokeRect').length};
answer.labels = drawn.filter(d => d[0] === 'fillText').map(d => d[3]);
const names = drawn.filter(d => d[0] === 'fillText' && d[1] === '#fff');
answer.named = names.length;
answer.cut = names.filter(
  d => !bars().some(b => b[3] === d[4] - 4 && b[5] >= context.measureText(d[3]).width + 8)).length;
answer.widest = Math.max(...bars().map(d => d[5]));
const lane = lanes.findIndex(l => l.pipe === 'V'), first = lanes[lane].bars;
const at = {offsetX: x((first[0] + first[1]) / 2), offsetY: axisHeight + (lane + 0.5) * laneHeight,
  clientX: 5, clientY: 5};
view_.onmousemove(at);
answer.tip = tip_.textContent; answer.shown = tip_.style.display;
view_.onmousemove({...at, offsetY: 1});
answer.hidden = tip_.style.display;
view_.onmousemove({...at, clientX: 990, clientY: 590});
answer.tipAt = [tip_.style.left, tip_.style.top];
const covered = lanes.find(l => l.pipe === 'MTE2'), under = lanes.indexOf(covered);
const pair = [0, fields].map(i => covered.bars.slice(i, i + fields));
answer.runTogether = pair[1][0] < pair[0][1];
view_.onmousemove({...at, offsetX: x((pair[1][0] + pair[0][1]) / 2),
  offsetY: axisHeight + (under + 0.5) * laneHeight});
answer.tipOnTop = tip_.textContent.includes(pair[1][0].toFixed(3) + ' to ');
const before = to - from;
view_.onwheel({offsetX: 5, deltaY: -1000});
answer.scrolls = to - from === before;
view_.onwheel({preventDefault() {}, offsetX: at.offsetX, deltaY: -1000});
answer.zoomed = before / (to - from);
answer.underMouse = Math.abs(time(at.offsetX) - (first[0] + first[1]) / 2);
drawn.length = 0; draw();
const ticks = drawn.filter(d => d[0] === 'fillText' && d[3].endsWith(' us')).map(d => d[4]);
answer.narrowestTick = Math.min(...ticks.slice(1).map((at, i) => at - ticks[i]));
answer.widestZoomed = Math.max(...bars().map(d => d[5]));
const start = from;
view_.onmousedown({offsetX: 500, clientY: 90});
view_.onmousemove({offsetX: 400, offsetY: 50, clientY: 60}); onmouseup();
answer.moved = from - start; answer.scrolled = globalThis.scrolled;
view_.ondblclick();
answer.all = to - from === before;
answer.width = view_.width; answer.title = document.title;
console.log(JSON.stringify(answer));
"""


class Scripts(HTMLParser):
    """Collects the page's scripts and what it loads from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.inside, self.loads = "", False, 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what the tag refers to."""
        self.inside = tag == "script"
        self.loads += sum(name in ("src", "href") for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        """A script ends."""
        self.inside = False

    def handle_data(self, data: str) -> None:
        """Text of a script."""
        if self.inside:
            self.text += data


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the example."""
    folder = tmp_path_factory.mktemp("page")
    subprocess.run([DRIVER, "build", EXAMPLE, "-o", folder / "relu"], check=True)
    subprocess.run(
        [folder / "relu"],
        env=os.environ | {"TILEWRIGHT_ASCEND": f"timeline={folder / 'time.html'}"},
        check=True,
        capture_output=True,
    )
    return (folder / "time.html").read_text(encoding="utf-8")


def test_page_needs_nothing_else(page: str) -> None:
    """One file, with the lanes and lines of the kernel."""
    scripts = Scripts()
    scripts.feed(page)
    assert scripts.loads == 0
    lanes = re.search(r"const lanes=(\[.*?\]);\n", scripts.text, re.DOTALL)
    assert lanes
    pipes = {lane["pipe"] for lane in json.loads(lanes.group(1))}
    assert pipes == {"V", "MTE2", "MTE3"}
    assert "relu_custom.cpp:" in scripts.text


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_page_zooms_and_shows_lines(page: str, tmp_path: Path) -> None:
    """Wheel, drag, double click, hover; the critical path is outlined."""
    scripts = Scripts()
    scripts.feed(page)
    program = tmp_path / "page.js"
    program.write_text(STUBS + scripts.text + QUESTIONS)
    answer = subprocess.run(["node", program], capture_output=True, text=True, check=True)
    seen: dict[str, Any] = json.loads(answer.stdout)
    assert seen["bars"] > 20
    assert 0 < seen["outlined"] < seen["bars"]
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    name, place, times, *rest = seen["tip"].split("\n")
    assert name == "Muls"
    number = int(place.rsplit(":", 1)[1])
    assert place.endswith(f"relu_custom.cpp:{number}")
    assert "Muls(" in lines[number - 1]
    assert re.fullmatch(r"[\d.]+ to [\d.]+ us, 4096 bytes", times)
    assert rest in ([], ["on the critical path"])
    assert (seen["shown"], seen["hidden"]) == ("block", "none")
    assert seen["zoomed"] == pytest.approx(2.718, rel=0.01)
    assert seen["underMouse"] < 1e-9
    assert seen["widestZoomed"] > 2 * seen["widest"]
    assert seen["moved"] > 0
    assert seen["scrolled"] == 7 + 30
    assert seen["scrolls"]
    assert seen["tipAt"] == ["906px", "546px"]
    assert seen["runTogether"]
    assert seen["tipOnTop"]
    assert seen["narrowestTick"] >= 80
    assert seen["named"] > 0
    assert seen["cut"] == 0
    assert seen["all"]
    assert seen["width"] == 985
    assert seen["title"].startswith("relu_custom on 910B2: task ")
    assert any(label.endswith(" V") for label in seen["labels"])


def test_pictures_are_up_to_date() -> None:
    """Run make_pictures.py when this fails."""
    answer = subprocess.run(["python3", SCRIPT, "--check"], check=False)
    assert answer.returncode == 0
