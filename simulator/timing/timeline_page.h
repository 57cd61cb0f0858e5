// SPDX-License-Identifier: Apache-2.0
/// The fixed parts of the timeline page; data stands between them.
#pragma once

namespace tilewright::ascend {

inline constexpr const char* timelineHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Timeline</title><style>
body { margin: 0; font: 13px sans-serif; color: #222; background: #fff; }
#head { padding: 8px 12px; border-bottom: 1px solid #ccc; }
#tip { position: fixed; display: none; padding: 4px 8px; background: #222; color: #fff; white-space: pre; }
canvas { display: block; cursor: grab; }
</style></head><body><div id="head"></div><canvas id="view"></canvas><div id="tip"></div><script>
)";

inline constexpr const char* timelineTail = R"(
const colors = {S: '#888', V: '#3a7d44', M: '#b5403a', MTE1: '#b58a1f', MTE2: '#2f6db5', MTE3: '#7a4fb5', FIX: '#c46a1f'};
const view = document.getElementById('view'), tip = document.getElementById('tip');
const fields = 6, left = 140, laneHeight = 20, axisHeight = 24; // bars: start, end, critical, name, place, bytes
let end = 0;
for (const lane of lanes) for (let i = 0; i < lane.bars.length; i += fields) end = Math.max(end, lane.bars[i + 1]);
let from = 0, to = end || 1;
document.title = title;
document.getElementById('head').textContent =
  title + ' - wheel: zoom (over the names: scroll), drag: move, double click: all; outlined in black: critical path';
const x = t => left + (t - from) / (to - from) * (view.width - left);
const time = px => from + (px - left) / (view.width - left) * (to - from);
function draw() {
  view.height = axisHeight + lanes.length * laneHeight + 4;
  view.width = document.documentElement.clientWidth; // without the scroll bar, which is there by now
  const g = view.getContext('2d');
  g.font = '11px sans-serif'; g.textBaseline = 'middle';
  const narrowest = (to - from) * 80 / (view.width - left), power = Math.pow(10, Math.floor(Math.log10(narrowest)));
  const step = power * [1, 2, 5, 10].find(part => part * power >= narrowest);
  for (let i = Math.ceil(from / step); i * step <= to; ++i) {
    g.fillStyle = '#555';
    g.fillText((i * step).toFixed(Math.max(0, -Math.floor(Math.log10(step)))) + ' us', x(i * step) + 3, 8);
    g.fillStyle = '#ccc';
    g.fillRect(x(i * step), 0, 1, view.height);
  }
  lanes.forEach((lane, row) => {
    const y = axisHeight + row * laneHeight;
    let drawnTo = -1;
    const outlines = [], labels = []; // drawn last: bars of copies that run together cover each other
    for (let i = 0; i < lane.bars.length; i += fields) {
      const a = lane.bars[i], b = lane.bars[i + 1];
      if (b < from || a > to) continue;
      const x0 = Math.max(x(a), left), x1 = Math.max(x(b), x0 + 0.5);
      if (x1 < drawnTo + 0.5 && !lane.bars[i + 2]) continue;
      g.fillStyle = colors[lane.pipe]; g.fillRect(x0, y + 2, x1 - x0, laneHeight - 4);
      if (lane.bars[i + 2]) outlines.push([x0, y + 2, x1 - x0, laneHeight - 4]);
      const next = i + fields < lane.bars.length ? x(lane.bars[i + fields]) : Infinity;
      const room = Math.min(x1, next) - x0 - 8, label = texts[lane.bars[i + 3]];
      if (room > 12 && g.measureText(label).width <= room) labels.push([label, x0 + 4, y + laneHeight / 2]);
      drawnTo = Math.max(drawnTo, x1);
    }
    g.strokeStyle = '#000'; g.lineWidth = 1.5;
    for (const outline of outlines) g.strokeRect(...outline);
    g.fillStyle = '#fff';
    for (const label of labels) g.fillText(...label);
    g.fillStyle = '#fff'; g.fillRect(0, y, left - 2, laneHeight);
    g.fillStyle = '#222'; g.fillText(lane.core + ' ' + lane.pipe, 6, y + laneHeight / 2);
  });
}
let drag = null;
view.onwheel = event => {
  if (event.offsetX < left) return; // the page scrolls
  event.preventDefault();
  const t = time(event.offsetX), factor = Math.exp(event.deltaY * 0.001);
  from = Math.max(0, t - (t - from) * factor); to = Math.min(end || 1, t + (to - t) * factor);
  if (to - from < 1e-4) to = from + 1e-4;
  draw();
};
view.onmousedown = event => { drag = {x: event.offsetX, y: event.clientY, top: scrollY, from, to}; };
onmouseup = () => { drag = null; };
view.ondblclick = () => { from = 0; to = end || 1; draw(); };
view.onmousemove = event => {
  if (drag) {
    const d = (event.offsetX - drag.x) / (view.width - left) * (drag.to - drag.from);
    from = drag.from - d; to = drag.to - d; draw();
    scrollTo(0, drag.top + drag.y - event.clientY);
    return;
  }
  const lane = lanes[Math.floor((event.offsetY - axisHeight) / laneHeight)], t = time(event.offsetX);
  tip.style.display = 'none';
  if (!lane || event.offsetX < left) return;
  for (let i = lane.bars.length - fields; i >= 0; i -= fields) // what is on top
    if (lane.bars[i] <= t && t <= lane.bars[i + 1]) {
      tip.textContent = texts[lane.bars[i + 3]] + '\n' + texts[lane.bars[i + 4]] + '\n' +
        lane.bars[i].toFixed(3) + ' to ' + lane.bars[i + 1].toFixed(3) + ' us, ' + lane.bars[i + 5] + ' bytes' +
        (lane.bars[i + 2] ? '\non the critical path' : '');
      tip.style.display = 'block';
      tip.style.left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 4) + 'px';
      tip.style.top = Math.min(event.clientY + 12, innerHeight - tip.offsetHeight - 4) + 'px';
      break;
    }
};
onresize = draw;
draw();
</script></body></html>
)";

} // namespace tilewright::ascend
