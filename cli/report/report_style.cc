#include "cli/report/report_page.h"

namespace pipeline {

std::string_view ReportStyle() {
  return R"css(
:root {
  color-scheme: light dark;
  --paper: #fff; --raised: #f7f8fa; --ink: #171a20; --soft: #59616e; --line: #e4e7ec; --rule: #eef0f3;
  --accent: #4a57c9; --accent-wash: #4a57c91c; --teal: #0b7f73; --amber: #a05a00;
  --red: #bd2839; --red-wash: #bd283914; --green: #17754a; --green-wash: #17754a17;
  --c0: #4a57c9; --c1: #8d7be0; --c2: #16897c; --c3: #3290c9; --c4: #c98a1e; --c5: #c2603a;
  --c6: #c3c9d3; --c7: #8b95a4; --c8: #c05590;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Hiragino Sans",
    "Noto Sans CJK JP", "Noto Sans JP", "Yu Gothic UI", Meiryo, sans-serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", "Noto Sans Mono CJK JP", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #0f1115; --raised: #161920; --ink: #e7e9ee; --soft: #9ba4b3; --line: #282d37; --rule: #1e222a;
    --accent: #8f9bff; --accent-wash: #8f9bff26; --teal: #45c3b2; --amber: #e2a646;
    --red: #ff7e88; --red-wash: #ff7e8820; --green: #58c98d; --green-wash: #58c98d20;
    --c0: #8f9bff; --c1: #b3a3f5; --c2: #45c3b2; --c3: #62b4e8; --c4: #e2b052; --c5: #e58a63;
    --c6: #3c434f; --c7: #707a89; --c8: #e583b6;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 14px/1.5 var(--sans); }
:lang(ja) { font-family: "Hiragino Sans", "Noto Sans CJK JP", "Noto Sans JP", "Yu Gothic UI", Meiryo, var(--sans); }
:lang(ko) { font-family: "Apple SD Gothic Neo", "Noto Sans CJK KR", "Noto Sans KR", "Malgun Gothic", var(--sans); }
main { max-width: 1128px; margin: 0 auto; padding: 40px 32px 80px; }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; border-radius: 4px; }
h1, h2, h3, p, figure, dl, dd { margin: 0; }
h1 { font-size: 26px; line-height: 1.25; font-weight: 650; letter-spacing: -.015em; overflow-wrap: anywhere; }
h2 { font-size: 17px; font-weight: 620; letter-spacing: -.005em; margin: 0 0 16px; }
h3 { font-size: 14px; font-weight: 600; margin: 28px 0 10px; overflow-wrap: anywhere; }
h3 small { font-size: 13px; font-weight: 400; color: var(--soft); margin-left: 6px; }
section { margin-top: 52px; }
code, pre, .mono { font-family: var(--mono); font-size: 12.5px; }
.soft, .lead, .hint { color: var(--soft); }
.hint { margin-top: 10px; font-size: 13px; }

header .title { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 12px; }
header .when { color: var(--soft); margin-top: 6px; }
.pill { font-size: 12.5px; font-weight: 600; line-height: 1; padding: 5px 9px; border-radius: 99px; }
.pill.done { color: var(--green); background: var(--green-wash); }
.pill.failed { color: var(--red); background: var(--red-wash); }
.pill.other { color: var(--soft); background: var(--rule); }
.command { position: relative; margin-top: 20px; }
.command pre { margin: 0; padding: 12px 72px 12px 14px; background: var(--raised); border: 1px solid var(--line);
  border-radius: 8px; white-space: pre-wrap; overflow-wrap: anywhere; }
.command button { position: absolute; top: 7px; right: 8px; font: 500 12px var(--sans); color: var(--soft);
  background: none; border: 0; border-radius: 5px; padding: 6px 8px; cursor: pointer; }
.command button:hover { color: var(--ink); background: var(--rule); }
nav { display: flex; flex-wrap: wrap; gap: 4px 20px; margin-top: 22px; font-size: 13px; }
nav a { color: var(--soft); }
nav a:hover { color: var(--ink); text-decoration: none; }

.tiles { display: grid; grid-template-columns: repeat(6, 1fr); margin: 28px 0 0; border-block: 1px solid var(--line); }
.tiles > div { padding: 16px 14px 15px 18px; border-left: 1px solid var(--line); min-width: 0; }
.tiles > div:first-child { border-left: 0; padding-left: 0; }
.tiles dt { font-size: 12.5px; color: var(--soft); }
.tiles dd { font-size: 21px; font-weight: 600; letter-spacing: -.015em; font-variant-numeric: tabular-nums; line-height: 1.35; white-space: nowrap; }
.tiles dd small { font-size: 13px; font-weight: 500; color: var(--soft); letter-spacing: 0; }
.tiles .note { font-size: 12.5px; font-weight: 400; letter-spacing: 0; color: var(--soft); white-space: normal; line-height: 1.4; }

.failures { margin-top: 28px; border: 1px solid var(--red); border-radius: 8px; background: var(--red-wash); padding: 14px 18px; }
.failures h2 { font-size: 14px; margin: 0 0 6px; color: var(--red); }
.failures code { margin-right: 6px; font-weight: 600; }
.failures li { overflow-wrap: anywhere; }
ul.plain { list-style: none; padding: 0; margin: 0; }

.wide { overflow-x: auto; }
.graph { display: block; }
.graph.narrow { display: none; max-width: 100%; height: auto; margin: 0 auto; }
.graph a:hover { text-decoration: none; }
.graph .edge { fill: none; stroke: var(--soft); stroke-opacity: .5; stroke-width: 1.25; }
.graph .tip { fill: var(--soft); fill-opacity: .75; }
.graph text { font: 11.5px var(--sans); fill: var(--ink); font-variant-numeric: tabular-nums; }
.graph .flow { text-anchor: middle; paint-order: stroke; stroke: var(--paper); stroke-width: 4px; font-weight: 550; }
.graph .soft, .graph .type { fill: var(--soft); font-weight: 400; }
.graph .name { font-size: 13px; font-weight: 600; }
.graph rect { fill: var(--raised); stroke: var(--line); stroke-width: 1.25; }
.graph a:hover rect { stroke: var(--accent); }
.graph .out rect { fill: var(--accent-wash); stroke: var(--accent); stroke-opacity: .55; }
.graph .stood rect { stroke-dasharray: 4 3; fill: none; }
.graph .failed rect { stroke: var(--red); fill: var(--red-wash); stroke-dasharray: none; stroke-opacity: 1; }

.time { position: relative; }
.row { display: grid; grid-template-columns: 176px minmax(0, 1fr); column-gap: 20px; padding: 14px 0; border-top: 1px solid var(--rule); }
.row:first-child { border-top: 0; padding-top: 4px; }
.row .side h3 { margin: 0; line-height: 1.35; }
.row .side p { font-size: 12.5px; line-height: 1.45; color: var(--soft); }
.row .plot { position: relative; min-width: 0; }
.row .plot svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.row .plot.curve { height: 88px; margin-top: 14px; }
.row.units .plot { align-self: center; min-height: 10px; }
.units i { position: absolute; height: 10px; min-width: 2px; border-radius: 3px; background: var(--accent); opacity: .82; }
.units i.failed { background: var(--red); }
.units b { position: absolute; top: 0; bottom: 0; width: 1px; background: var(--paper); }
.key { display: flex; align-items: center; gap: 7px; font-size: 12.5px; line-height: 1.6; color: var(--soft); }
.key::before { content: ""; width: 10px; height: 2px; border-radius: 1px; background: currentColor; }
.key.s0::before { background: var(--accent); } .key.s1::before { background: var(--amber); } .key.s2::before { background: var(--teal); }
.key output { margin-left: auto; color: var(--ink); font-variant-numeric: tabular-nums; }
.plot path { vector-effect: non-scaling-stroke; }
.plot .grid { fill: none; stroke: var(--rule); stroke-width: 1; }
.plot .line { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.plot .line.s0 { stroke: var(--accent); } .plot .line.s1 { stroke: var(--amber); } .plot .line.s2 { stroke: var(--teal); }
.plot .area, .plot .load { fill: var(--accent-wash); stroke: none; }
.plot .load { stroke: var(--accent); stroke-width: 1.2; }
.plot .y { position: absolute; left: 0; font-size: 11px; line-height: 1; transform: translateY(calc(-100% - 2px)); color: var(--soft);
  font-variant-numeric: tabular-nums; text-shadow: 0 0 3px var(--paper), 0 0 3px var(--paper), 0 0 3px var(--paper); pointer-events: none; }
.row.axis { padding: 0; border: 0; font-size: 11.5px; color: var(--soft); font-variant-numeric: tabular-nums; }
.row.axis .plot { height: 18px; }
.row.axis .plot span { position: absolute; transform: translateX(-50%); white-space: nowrap; }
.row.axis .plot span:first-child { transform: none; }
.row.axis .side { text-align: right; color: var(--ink); }
.loss { display: block; margin: 6px 0; }
.loss text { font: 11px var(--sans); fill: var(--soft); font-variant-numeric: tabular-nums; dominant-baseline: middle; }
.loss .grid { stroke: var(--rule); } .loss .baseline { stroke: var(--soft); stroke-dasharray: 3 4; }
.loss .line { fill: none; stroke-width: 1.5; stroke-linejoin: round; } .loss .s0 { stroke: var(--accent); } .loss .s1 { stroke: var(--amber); }
.loss circle { fill: var(--amber); }
.cursor { position: absolute; top: 0; bottom: 18px; width: 1px; background: var(--soft); pointer-events: none; }

table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: right; padding: 9px 0 9px 22px; border-bottom: 1px solid var(--rule); white-space: nowrap; font-variant-numeric: tabular-nums; }
th { font-weight: 500; }
thead th { color: var(--soft); font-size: 12.5px; border-bottom-color: var(--line); padding-top: 0; vertical-align: bottom; }
th:first-child, td:first-child, td.text { text-align: left; }
th:first-child, td:first-child { padding-left: 0; }
.state { text-align: left; color: var(--soft); }
td.text { white-space: normal; overflow-wrap: anywhere; min-width: 12em; }
tbody th b { font-weight: 600; } tbody th span { color: var(--soft); }
tbody tr:target { background: var(--accent-wash); }
td.zero { color: var(--soft); }
td .bar { display: inline-block; width: 56px; height: 6px; margin-left: 9px; border-radius: 3px; background: var(--rule); vertical-align: 1px; overflow: hidden; text-align: left; }
td .bar i { display: block; height: 100%; border-radius: 3px; background: var(--accent); }
table.reasons th, table.reasons td { vertical-align: baseline; }
details { border-top: 1px solid var(--rule); padding: 9px 0; font-size: 13px; }
details summary { cursor: pointer; overflow-wrap: anywhere; }
details[open] summary { margin-bottom: 10px; }
.wide + details { border-top: 0; margin-top: 8px; }
ul.differences li { font-family: var(--mono); font-size: 12.5px; padding: 2px 0; overflow-wrap: anywhere; }
table.numbers { width: auto; min-width: 40%; }

.sample { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 14px; line-height: 1.75; }
.pairs { border-top: 1px solid var(--line); }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 32px; padding: 10px 0; border-bottom: 1px solid var(--rule); }
.pair.head { padding: 6px 0; font-size: 12.5px; color: var(--soft); }
.pair > div { min-width: 0; }
.none { color: var(--red); font-size: 13px; line-height: 1.9; }
del, ins { text-decoration: none; border-radius: 3px; padding: 2px 0; }
del { background: var(--red-wash); color: var(--red); box-shadow: inset 0 -1.5px var(--red); }
ins { background: var(--green-wash); color: var(--green); box-shadow: inset 0 -1.5px var(--green); }
.cp { font: 10.5px/1 var(--mono); color: var(--soft); border: 1px solid var(--line); border-radius: 3px; padding: 0 3px; margin: 0 1px; }
.end { display: inline-block; width: 1px; height: 1em; margin: 0 2px; background: var(--soft); opacity: .55; vertical-align: -2px; }
ul.examples { list-style: none; margin: 2px 0 0; padding: 0; color: var(--soft); }
ul.examples li { padding: 2px 0; line-height: 1.6; overflow-wrap: anywhere; white-space: pre-wrap; }

.histograms { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 26px 40px; }
.histogram figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 12px; font-size: 12.5px; margin-bottom: 8px; }
.histogram figcaption b { font-weight: 600; } .histogram figcaption span { color: var(--soft); }
.histogram .plot { position: relative; height: 96px; border-bottom: 1px solid var(--line); }
.histogram svg { position: absolute; inset: 0; width: 100%; height: 100%; }
.histogram .bars { fill: var(--accent); fill-opacity: .55; stroke: none; }
.histogram .before { fill: none; stroke: var(--ink); stroke-opacity: .6; stroke-width: 1.1; }
.histogram .axis { position: relative; height: 18px; font-size: 11px; color: var(--soft); font-variant-numeric: tabular-nums; }
.histogram .axis span { position: absolute; top: 3px; transform: translateX(-50%); }
.swatch { display: inline-block; width: 9px; height: 9px; border-radius: 2px; margin-right: 7px; }
.swatch.after { background: var(--accent); opacity: .55; margin-left: 14px; } .swatch.before { height: 2px; border-radius: 0; background: var(--ink); opacity: .6; vertical-align: 3px; }
.mix { display: grid; grid-template-columns: 176px minmax(0, 1fr); gap: 20px; align-items: center; padding: 5px 0; font-size: 13px; }
.mix > span { overflow-wrap: anywhere; }
.mix > div { display: flex; height: 14px; border-radius: 4px; overflow: hidden; gap: 1px; }
.mix + .wide { margin-top: 14px; }
.c0 { background: var(--c0); } .c1 { background: var(--c1); } .c2 { background: var(--c2); } .c3 { background: var(--c3); }
.c4 { background: var(--c4); } .c5 { background: var(--c5); } .c6 { background: var(--c6); } .c7 { background: var(--c7); } .c8 { background: var(--c8); }

dl.facts { display: grid; grid-template-columns: 176px minmax(0, 1fr); gap: 7px 20px; font-size: 13px; }
dl.facts dt { color: var(--soft); }
dl.facts dd { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
ol.notes { list-style: none; margin: 0; padding: 0; font-size: 13px; }
ol.notes li { display: grid; grid-template-columns: 176px minmax(0, 1fr); gap: 20px; padding: 3px 0; overflow-wrap: anywhere; }
ol.notes time { color: var(--soft); font-variant-numeric: tabular-nums; }

@media (max-width: 900px) {
  .tiles { grid-template-columns: repeat(3, 1fr); }
  .tiles > div:nth-child(3n+1) { border-left: 0; padding-left: 0; }
  .tiles > div:nth-child(n+4) { border-top: 1px solid var(--line); }
}
@media (max-width: 640px) {
  main { padding: 24px 18px 56px; }
  section { margin-top: 42px; }
  .tiles { grid-template-columns: repeat(2, 1fr); }
  .tiles > div, .tiles > div:nth-child(3n+1) { border-left: 1px solid var(--line); padding-left: 16px; }
  .tiles > div:nth-child(2n+1) { border-left: 0; padding-left: 0; }
  .tiles > div:nth-child(n+3) { border-top: 1px solid var(--line); }
  .row, .mix, dl.facts, ol.notes li { grid-template-columns: minmax(0, 1fr); row-gap: 8px; }
  .mix { gap: 4px; padding: 6px 0; }
  dl.facts { row-gap: 0; } dl.facts dd { margin-bottom: 8px; }
  ol.notes li { gap: 0; padding: 5px 0; }
  .row .side { display: flex; flex-wrap: wrap; gap: 0 14px; align-items: baseline; }
  .key output { margin-left: 0; }
  .row.axis .side { min-height: 18px; } .row.axis .plot span:nth-child(even) { display: none; }
  .pair { grid-template-columns: minmax(0, 1fr); }
  .pair.head { display: none; }
  .pair > div:last-child { margin-top: 6px; padding-left: 12px; border-left: 2px solid var(--line); }
  .wide { margin: 0 -18px; padding: 0 18px; }
  .graph.broad { display: none; } .graph.narrow { display: block; }
}
@media print {
  :root { color-scheme: light; }
  body { font-size: 11px; } main { max-width: none; padding: 0; }
  nav, .command button, .cursor { display: none; }
  section, .row, .pair, figure, tr { break-inside: avoid; } section.long { break-inside: auto; }
  .graph { max-width: 100%; height: auto; } .wide { overflow: visible; }
  .graph.broad { display: block; } .graph.narrow { display: none; }
  i, b, .swatch, del, ins { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
)css";
}

std::string_view ReportScript() {
  return R"js(
"use strict";
(() => {
  const copy = document.getElementById("copy");
  if (copy && navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById("command").textContent);
      copy.textContent = "Copied";
      setTimeout(() => { copy.textContent = "Copy"; }, 1500);
    });
  }

  const charts = document.getElementById("charts");
  if (!charts) return;
  const data = JSON.parse(document.getElementById("chart-data").textContent);
  const cursor = document.getElementById("cursor");
  const moment = document.getElementById("moment");
  const axis = charts.querySelector(".axis .plot");
  const outputs = [...charts.querySelectorAll("output[data-series]")];
  for (const output of outputs) output.dataset.summary = output.textContent;
  let at = null;

  const bytes = (value) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (value >= 1024 && unit + 1 < units.length) { value /= 1024; ++unit; }
    return (unit === 0 || value >= 100 ? value.toFixed(0) : value.toPrecision(3)) + " " + units[unit];
  };
  const say = (value, unit) => unit === "" ? value.toFixed(2) : bytes(value) + (unit === "B/s" ? "/s" : "");
  const span = (seconds) => {
    if (seconds < 60) return seconds.toFixed(data.duration < 10 ? 2 : 1) + " s";
    const whole = Math.round(seconds), pad = (n) => String(n).padStart(2, "0");
    return (whole >= 3600 ? Math.floor(whole / 3600) + ":" + pad(Math.floor(whole / 60) % 60) : Math.floor(whole / 60))
        + ":" + pad(whole % 60);
  };

  const show = () => {
    cursor.hidden = at === null;
    moment.textContent = at === null ? "" : span(at * data.duration);
    if (at !== null) {
      const box = axis.getBoundingClientRect();
      cursor.style.left = (box.left - charts.getBoundingClientRect().left + at * box.width) + "px";
    }
    for (const output of outputs) {
      const series = data.series[output.dataset.series];
      const bin = Math.min(Math.floor((at ?? 0) * series.values.length), series.values.length - 1);
      output.textContent = at === null ? output.dataset.summary : say(series.values[bin], series.unit);
    }
  };
  charts.addEventListener("pointermove", (event) => {
    const box = axis.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    at = part < 0 || part > 1 ? null : part;
    show();
  });
  charts.addEventListener("pointerleave", () => { at = null; show(); });
  charts.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -0.01, ArrowRight: 0.01 }[event.key];
    if (event.key === "Escape") at = null;
    else if (step) at = Math.min(1, Math.max(0, (at ?? 0.5) + step));
    else return;
    event.preventDefault();
    show();
  });
})();
)js";
}

}  // namespace pipeline
