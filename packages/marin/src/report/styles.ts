/** The page's style. Colours are variables, so that the charts follow the reader's choice of light or dark as well. */
export const styles = `
:root {
  --page: #fdfdfc; --raised: #f4f4f1; --ink: #1b1e22; --quiet: #585e66; --line: #dcdcd7;
  --accent: #0a5ea8; --accent-soft: #9cc0e0; --second: #b4540a; --second-text: #974405; --lost: #d97b3a; --mark: #ffe5a3;
  color-scheme: light dark;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14161a; --raised: #1d2025; --ink: #e8e9eb; --quiet: #a3aab3; --line: #343940;
    --accent: #6fb4f3; --accent-soft: #33597d; --second: #e89a5b; --second-text: #f0ab74; --lost: #b5642c; --mark: #5c4712;
  }
}
@media print {
  :root {
    --page: #fff; --raised: #fff; --ink: #000; --quiet: #444; --line: #bbb;
    --accent: #0a5ea8; --accent-soft: #9cc0e0; --second: #974405; --second-text: #974405; --lost: #d97b3a; --mark: #ffe5a3;
    color-scheme: light;
  }
}
*, ::before, ::after { box-sizing: border-box; }
html { background: var(--page); color: var(--ink); font: 100%/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif; -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-inline-size: 50rem; padding: clamp(1.25rem, 4vw, 3.5rem) clamp(1rem, 4vw, 2rem); }
h1, h2, h3, h4 { line-height: 1.2; text-wrap: balance; overflow-wrap: anywhere; }
h1 { font-size: clamp(1.9rem, 6vw, 2.75rem); font-weight: 650; letter-spacing: -0.02em; margin: 0 0 0.6rem; }
h2 { font-size: 1.45rem; font-weight: 640; letter-spacing: -0.01em; margin: 0 0 0.9rem; }
h3 { font-size: 1.05rem; font-weight: 620; margin: 2rem 0 0.6rem; }
h4 { font-size: 0.9rem; font-weight: 600; margin: 0 0 0.5rem; }
p { margin: 0 0 1rem; max-inline-size: 42rem; text-wrap: pretty; }
a { color: var(--accent); text-underline-offset: 0.15em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 2px; }
code, pre { font-family: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 0.88em; }
.unseen { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.note, figcaption, footer { color: var(--quiet); font-size: 0.9rem; }
.kicker { color: var(--quiet); font-size: 0.8rem; font-weight: 600; letter-spacing: 0.08em; text-transform: uppercase; margin: 0 0 0.5rem; }
.lede { font-size: 1.15rem; color: var(--ink); margin-block-end: 1.75rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr)); gap: 1px; margin: 0; background: var(--line); border: 1px solid var(--line); border-radius: 10px; overflow: hidden; }
.tiles > div { background: var(--page); padding: 1rem 1.1rem; }
dt { color: var(--quiet); font-size: 0.85rem; }
dd { margin: 0; }
.figure { display: block; white-space: nowrap; font-size: 1.5rem; font-weight: 620; letter-spacing: -0.01em; line-height: 1.25; font-variant-numeric: tabular-nums; }
.unit { font-weight: 550; font-size: 0.95rem; }
.tiles .note { margin-block-start: 0.25rem; line-height: 1.4; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.35rem 1.25rem; list-style: none; margin: 1.5rem 0 0; padding: 0; font-size: 0.95rem; }
section { margin-block-start: 3.5rem; scroll-margin-block-start: 1rem; border-block-start: 1px solid var(--line); padding-block-start: 1.75rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; inline-size: 100%; font-size: 0.95rem; font-variant-numeric: tabular-nums; }
th, td { text-align: start; vertical-align: top; padding: 0.5rem 0.75rem 0.5rem 0; border-block-end: 1px solid var(--line); }
th:last-child, td:last-child { padding-inline-end: 0; }
th { font-weight: 500; }
thead th { color: var(--quiet); font-size: 0.85rem; font-weight: 500; white-space: nowrap; vertical-align: bottom; }
.number { text-align: end; white-space: nowrap; }
tbody th { min-inline-size: 6rem; overflow-wrap: anywhere; }
.bars tbody th { inline-size: 60%; }
.bars tbody th, .bars tbody td { border-block-end: 0; padding-block: 0.28rem; vertical-align: middle; }
.bars tbody tr:first-child > * { padding-block-start: 0.6rem; }
.barred { display: grid; grid-template-columns: 8rem 1fr; gap: 0.2rem 0.75rem; align-items: center; }
.out th, .out td { color: var(--quiet); font-size: 0.88rem; }
.out th { font-weight: 400; }
.own th, .own td { font-weight: 650; }
.track { display: block; block-size: 1rem; background: var(--raised); border-radius: 3px; overflow: hidden; }
.bar { display: block; block-size: 100%; min-inline-size: 2px; inline-size: calc(var(--share) * 100%); margin-inline-start: min(calc(var(--from) * 100%), calc(100% - 2px)); background: var(--accent); print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.bar.lost { background: var(--lost); }
.bar.other, .bar.validation { background: var(--accent-soft); }
.run tbody th { inline-size: 45%; }
time { white-space: nowrap; }
.scroll + .note { margin-block-start: 0.75rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 0.9rem 1.25rem; margin: 0 0 1.5rem; }
.facts dd { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
figure { margin: 1.5rem 0; }
figcaption { margin-block-end: 0.25rem; }
figure svg { display: block; max-inline-size: 100%; block-size: auto; }
.narrow { display: none; }
.pairwise { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 1.5rem; }
.pairwise figure { margin: 0.5rem 0; }
.text { margin: 0; padding: 0.85rem 1rem; background: var(--raised); border-radius: 8px; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; }
mark { background: var(--mark); color: inherit; border-radius: 2px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.sample .text { font-size: 1.05rem; line-height: 1.65; }
.sample figcaption { margin-block-start: 0.5rem; }
.sides { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0.4rem 1.25rem; }
.sides > div { display: grid; grid-row: span 3; grid-template-rows: subgrid; align-content: start; }
.sides h4 { margin: 0; align-self: end; }
.pair .text { font-size: 0.9rem; }
.pair .note { margin: 0.4rem 0 0; }
.sides .note { margin: 0 0 0.6rem; }
.digest { display: inline-block; inline-size: 12ch; overflow: hidden; vertical-align: bottom; white-space: nowrap; user-select: all; -webkit-user-select: all; }
.digest:focus { inline-size: auto; white-space: normal; overflow-wrap: anywhere; }
.wrap { white-space: pre-wrap; overflow-wrap: anywhere; }
.graph svg { margin-inline: auto; min-inline-size: 21rem; }
.edge { fill: none; stroke: var(--quiet); stroke-width: 1.25; }
.head { fill: var(--quiet); }
.node { fill: var(--raised); stroke: var(--line); }
.graph a { text-decoration: none; }
.graph a:hover .node, .graph a:focus .node { stroke: var(--accent); stroke-width: 2; }
.graph .name { fill: var(--ink); font-size: 14px; font-weight: 600; }
.graph .short { fill: var(--quiet); font: 11px ui-monospace, Menlo, Consolas, monospace; }
tr:target > * { background: var(--raised); }
details { border-block-end: 1px solid var(--line); padding-block: 0.5rem; }
summary { cursor: pointer; }
pre { margin: 0.5rem 0 0; padding: 0.85rem 1rem; background: var(--raised); border-radius: 8px; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
footer { margin-block-start: 3.5rem; border-block-start: 1px solid var(--line); padding-block-start: 1rem; }
@media (max-width: 40rem) {
  .wide { display: none; }
  .narrow { display: block; }
  .pairwise, .sides { grid-template-columns: minmax(0, 1fr); }
  table { font-size: 0.84rem; }
  .bars tbody th { inline-size: 42%; }
  .bars tbody th, .bars tbody td { vertical-align: top; }
  .barred { grid-template-columns: 1fr; }
  thead th, thead .number { white-space: normal; }
  .track { block-size: 0.6rem; }
  tbody th { min-inline-size: 5.75rem; }
  th, td { padding-inline-end: 0.35rem; }
}
@media print {
  @page { margin: 18mm 16mm; }
  html { font-size: 10.5pt; }
  body { max-inline-size: none; padding: 0; }
  nav { display: none; }
  section { margin-block-start: 1.5rem; padding-block-start: 1rem; }
  figure, tr, .pair, .tiles > div { break-inside: avoid; }
  h2, h3, h4, figcaption { break-after: avoid; }
  .text { border: 1px solid var(--line); }
  .digest { inline-size: auto; white-space: normal; overflow-wrap: anywhere; }
  .scroll { overflow: visible; }
  details::details-content { content-visibility: visible; block-size: auto; }
  a { color: inherit; text-decoration: none; }
}
`;
