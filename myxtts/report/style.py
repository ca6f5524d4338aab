"""How a report looks: one style sheet, light and dark, from a phone's width up, on paper always light.

Text has a contrast of at least 4.5 on its ground in both schemes; red and blue differ in lightness too.
"""

CSS = """
:root { color-scheme: light dark; --page: #f6f6f4; --card: #ffffff; --text: #1b1d21; --muted: #5b6068;
  --line: #dfe0e0; --faint: #eeeeec; --work: #3f72af; --work-soft: #bdd0e6; --wait: #cf3f4f; --wait-soft: #eeb0b5;
  --pad: #a3a8b0; --other: #7d6b9e; --other-soft: #c9bddc; --good: #17734a; --warn: #8a5a00; --bad: #b3263a; }
@media screen and (prefers-color-scheme: dark) {
  :root { --page: #121417; --card: #1a1d21; --text: #e7e8ea; --muted: #a2a7af; --line: #33373d; --faint: #24282d;
    --work: #6fa3e0; --work-soft: #35506f; --wait: #ff7381; --wait-soft: #74404a; --pad: #6b717a; --other: #a995cc;
    --other-soft: #574a70;
    --good: #5ec795; --warn: #e3b04b; --bad: #ff8a94; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI",
  Roboto, "Helvetica Neue", Arial, sans-serif; font-variant-numeric: tabular-nums; overflow-wrap: break-word; }
main { max-width: 976px; margin: 0 auto; padding: 32px 24px 64px; }
header { color: var(--muted); font-size: 13px; display: flex; flex-wrap: wrap; gap: 4px 16px; }
header strong { color: var(--text); font-weight: 600; }
h1 { font-size: 30px; line-height: 1.2; letter-spacing: -0.01em; font-weight: 680; margin: 10px 0 0; max-width: 30em;
  text-wrap: balance; }
h2 { font-size: 17px; line-height: 1.3; font-weight: 640; margin: 0; }
h3 { font-size: 14px; font-weight: 600; margin: 0; }
p { margin: 8px 0 0; max-width: 44em; }
code { font: 13px/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--faint);
  padding: 1px 5px; border-radius: 4px; }
.verdict { padding: 24px 0 8px; }
.verdict p { font-size: 16px; max-width: 52em; }
.state { font-size: 13px; font-weight: 650; margin: 0; }
.good .state { color: var(--good); } .warn .state { color: var(--warn); } .bad .state { color: var(--bad); }
.balance { margin-top: 20px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(132px, 1fr)); gap: 1px; margin: 20px 0 8px;
  background: var(--card); border: 1px solid var(--line); border-radius: 10px; overflow: hidden; }
.tiles div { padding: 12px 16px; box-shadow: 0 0 0 1px var(--line); }
.tiles dt { color: var(--muted); font-size: 13px; }
.tiles dd { margin: 2px 0 0; font-size: 20px; line-height: 1.25; font-weight: 600; }
.tiles small { display: block; color: var(--muted); font-size: 12px; font-weight: 400; line-height: 1.4; }
section.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 20px 24px;
  margin-top: 16px; break-inside: avoid; }
.card > p, .note, .verdict .note { color: var(--muted); font-size: 13px; }
.card > p { margin-top: 2px; }
.chart { margin: 14px 0 0; }
.chart svg { display: block; width: 100%; height: auto; overflow: visible; }
.rows { max-width: 460px; }
.flat svg { height: 14px; }
.narrow { display: none; }
.grid { display: grid; grid-template-columns: 1fr 1fr; gap: 24px 32px; margin-top: 16px; }
.grid > * { min-width: 0; } .thirds { grid-template-columns: 1fr 1fr 1fr; gap: 16px; }
.grid .chart { margin-top: 6px; }
svg text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; fill: var(--muted);
  font-variant-numeric: tabular-nums; }
svg .strong { fill: var(--text); } svg .inside { fill: var(--card); font-weight: 600; }
.axis { stroke: var(--line); stroke-width: 1; } .mark { stroke: var(--muted); stroke-dasharray: 2 3; }
.work { fill: var(--work); } .work-soft { fill: var(--work-soft); } .wait { fill: var(--wait); }
.wait-soft { fill: var(--wait-soft); } .pad { fill: var(--pad); } .other { fill: var(--other); }
.other-soft { fill: var(--other-soft); }
.crisp rect { shape-rendering: crispEdges; } .none { fill: var(--faint); }
.hover { fill: transparent; } .hover:hover { fill: var(--text); fill-opacity: 0.08; }
.trace { fill: none; stroke: var(--work); stroke-width: 1.5; stroke-linejoin: round; }
.trace.second { stroke: var(--other); } .trace.third { stroke: var(--wait); } .trace.fourth { stroke: var(--pad); }
.trace.control { stroke: var(--muted); stroke-dasharray: 4 3; }
.dot { fill: var(--card); stroke: var(--work); stroke-width: 1.5; } .dot.best { fill: var(--work); }
.band { fill: var(--work-soft); fill-opacity: 0.55; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 10px 0 0; padding: 0; list-style: none;
  font-size: 13px; color: var(--muted); }
.legend li { display: flex; align-items: center; gap: 6px; } .legend svg { width: 12px; height: 12px; flex: none; }
table { border-collapse: collapse; width: 100%; margin-top: 14px; font-size: 14px; }
th { text-align: left; font-weight: 500; color: var(--muted); font-size: 13px; vertical-align: bottom; }
th, td { padding: 6px 16px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:last-child > * { border-bottom: 0; }
tbody th { color: var(--text); font-size: 14px; font-weight: 400; }
td.number, th.number { text-align: right; white-space: nowrap; }
th:last-child, td:last-child { padding-right: 0; }
td.changed { font-weight: 650; }
.scroll { overflow-x: auto; }
details { margin-top: 14px; } summary { cursor: pointer; color: var(--muted); font-size: 13px; }
details.card-like summary { font-size: 17px; font-weight: 640; color: var(--text); }
audio { display: block; width: 100%; margin-top: 8px; }
figure { margin: 0; } figcaption { color: var(--muted); font-size: 13px; margin-top: 6px; }
figure img { display: block; width: 100%; height: auto; max-height: 260px; object-fit: fill; border-radius: 4px;
  image-rendering: auto; margin-top: 8px; }
footer { color: var(--muted); font-size: 12px; margin-top: 24px; }
@media (max-width: 640px) {
  main { padding: 20px 12px 40px; } h1 { font-size: 24px; } .wide { display: none; } .narrow { display: block; }
  section.card { padding: 16px 14px; } .grid, .thirds { grid-template-columns: 1fr; }
  .tiles { grid-template-columns: 1fr 1fr; }
  .tiles div:last-child:nth-child(odd) { grid-column: 1 / -1; }
  .many thead { display: none; } .many tr { display: block; padding: 8px 0; border-bottom: 1px solid var(--line); }
  .many tbody th { display: block; border: 0; padding: 0 0 2px; font-weight: 600; }
  .many td { display: flex; justify-content: space-between; gap: 16px; border: 0; padding: 1px 0; }
  .many td span { text-align: right; } .many td::before { content: attr(data-head); color: var(--muted); flex: none; }
  .many tbody tr:last-child { border-bottom: 0; padding-bottom: 0; }
  .tiles div { padding: 10px 12px; } .tiles dd { font-size: 18px; } th, td { padding-right: 10px; }
  table { font-size: 13px; } tbody th { font-size: 13px; }
}
@media print {
  body { background: none; font-size: 12px; } main { padding: 0; max-width: none; } audio { display: none; }
  section.card { border-color: #ccc; } * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
