"""The style sheet of report.html: light and dark, phone and paper."""

COLOURS = 12

CSS = (
    """
:root { color-scheme: light dark;
  --paper: #fdfcf9; --ink: #22231f; --soft: #66665e; --rule: #dedbd1; --panel: #f5f3ec;
  --good: #2c7a4b; --bad: #b3261e; --note: #8a6100; --margin: #e9e5d8;
  --c0: #b26a00; --c1: #2f6db0; --c2: #23857a; --c3: #8a4f9e; --c4: #6f7178; --c5: #a83e5b;
  --c6: #5d7a1f; --c7: #1b8aa6; --c8: #5a55b8; --c9: #c24f2e; --c10: #8c6d46; --c11: #b04a93; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #17181a; --ink: #e6e4dd; --soft: #a09e95; --rule: #35363a; --panel: #1f2124;
  --good: #6fc48f; --bad: #ff8a7f; --note: #e0b24f; --margin: #2a2b2c;
  --c0: #f2a93b; --c1: #74aef0; --c2: #5cc4b6; --c3: #c793da; --c4: #a3a5ad; --c5: #ee87a2;
  --c6: #a9c75f; --c7: #58c4de; --c8: #a39ff0; --c9: #f08a6c; --c10: #c9a878; --c11: #e58bcb; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
nav { position: sticky; top: 0; z-index: 2; background: var(--paper); border-bottom: 1px solid var(--rule); padding: .45rem 1.25rem;
  display: flex; gap: 1.1rem; overflow-x: auto; white-space: nowrap; font-size: .88rem; justify-content: safe center; }
nav a { text-decoration: none; color: var(--soft); } nav a:hover { color: var(--ink); }
html { scroll-padding-top: 3rem; }
main { max-width: 80rem; margin: 0 auto; padding: 1.6rem 1.25rem 4rem; }
.verdict { border-left: 4px solid var(--soft); padding: .25rem .8rem; margin: .8rem 0; max-width: none; }
.verdict.good { border-color: var(--good); } .verdict.bad { border-color: var(--bad); } .verdict.note { border-color: var(--note); }
.verdict.good b { color: var(--good); } .verdict.bad b { color: var(--bad); } .verdict.note b { color: var(--note); }
.matrix { font-size: .78rem; line-height: 1.3; } .matrix td, .matrix th { padding: .2rem .4rem .2rem .35rem; } .matrix small { font-size: .9em; }
.matrix thead th { white-space: nowrap; } .matrix td { white-space: nowrap; }
.matrix th[scope=row] { font-weight: 600; color: var(--ink); border: 0; max-width: 17rem; position: sticky; left: 0; background: var(--paper); z-index: 1; }
.matrix th[scope=row] small { font-weight: 400; color: var(--soft); } .matrix th a { text-decoration: none; }
.matrix th a:hover { text-decoration: underline; } .matrix tr.first > * { border-top: 1px solid var(--rule); } .matrix td { border-bottom: 0; }
.matrix td small { color: var(--soft); } .matrix .more { display: block; } .matrix .more .word { font-weight: 500; }
.matrix td.good { background: color-mix(in srgb, var(--good) 9%, transparent); } .matrix td.bad { background: color-mix(in srgb, var(--bad) 12%, transparent); }
.ditto { color: var(--soft); padding-left: 1rem; }
.fold { border-top: 1px solid var(--rule); } .fold > summary { padding: .5rem 0; color: var(--ink); font-size: .95rem; }
.fold > summary .soft { font-size: .85rem; } .fold[open] { padding-bottom: 1.5rem; }
.fold .word { font-size: .85rem; }
button, input[data-filter] { font: inherit; font-size: .82rem; color: var(--ink); background: var(--panel); border: 1px solid var(--rule);
  border-radius: .25rem; padding: .15rem .6rem; margin: .4rem 0; } button { cursor: pointer; }
table.sorts th { cursor: pointer; } th[aria-sort=ascending]::after { content: " ↑"; } th[aria-sort=descending]::after { content: " ↓"; }
h1 { text-wrap: balance; font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; font-weight: 650; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; margin: 3rem 0 .5rem; padding-top: .8rem; border-top: 1px solid var(--rule); font-weight: 650; }
h3 { font-size: 1rem; margin: 1.8rem 0 .3rem; font-weight: 650; }
p, li { max-width: 46rem; } p { margin: .5rem 0; } ul { padding-left: 1.2rem; }
.soft, .meta { color: var(--soft); } .meta { font-size: .9rem; margin: 0; }
code, .num, td.n { font-variant-numeric: tabular-nums; }
code, pre { font: .82em/1.45 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { overflow-wrap: anywhere; }
.strip { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: .75rem; margin: 1.6rem 0; }
.tile { background: var(--panel); border-left: 4px solid var(--soft); padding: .65rem .9rem; font-size: .88rem; line-height: 1.4; }
.tile b { display: block; font-size: .95rem; } .tile p { margin: .15rem 0 0; }
.tile.good { border-color: var(--good); } .tile.bad { border-color: var(--bad); } .tile.note { border-color: var(--note); }
.tile.good b { color: var(--good); } .tile.bad b { color: var(--bad); } .tile.note b { color: var(--note); }
.wins { padding: 0; list-style: none; margin: .8rem 0; } .wins li { padding: .28rem 0 .28rem 1.5rem; position: relative; }
.wins li::before { position: absolute; left: 0; font-weight: 700; }
.wins .lost::before { content: "−"; color: var(--bad); } .wins .won::before { content: "+"; color: var(--good); }
.wins .open::before { content: "·"; color: var(--soft); }
.forest { display: grid; grid-template-columns: minmax(11rem, 15rem) 1fr minmax(12.5rem, 15rem); gap: .35rem 1rem; align-items: center; }
.forest .group { grid-column: 1 / -1; font-weight: 650; font-size: .9rem; margin-top: .9rem; }
.forest .who { font-size: .88rem; line-height: 1.25; } .forest .what { font-size: .85rem; line-height: 1.25; }
.forest small { color: var(--soft); }
.word { font-weight: 650; } .word.good { color: var(--good); } .word.bad { color: var(--bad); } .word.open { color: var(--soft); }
svg { display: block; overflow: visible; } svg text { font-size: 11px; fill: var(--ink); }
svg .tick { fill: var(--soft); font-size: 10.5px; } svg .side { fill: var(--soft); font-size: 11px; font-weight: 600; }
svg .grid { stroke: var(--rule); stroke-width: 1; } svg .one { stroke: var(--ink); stroke-width: 1; }
svg .margin { fill: var(--margin); } svg .raw { fill: var(--soft); opacity: .55; }
svg .interval { stroke-width: 2.5; stroke-linecap: round; } svg .estimate { stroke: var(--paper); stroke-width: 1.5; }
svg .good { stroke: var(--good); } svg .bad { stroke: var(--bad); } svg .open { stroke: var(--soft); }
svg circle.good { fill: var(--good); stroke: var(--paper); } svg circle.bad { fill: var(--bad); stroke: var(--paper); }
svg circle.open { fill: var(--soft); stroke: var(--paper); }
svg .unranked { stroke-dasharray: 3 4; } svg circle.unranked { fill: var(--paper); stroke: var(--soft); stroke-dasharray: none; }
.paths polyline { fill: none; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.paths .thread { stroke-width: 1; opacity: .45; } .paths .curve { stroke-width: 2; } .paths .band { opacity: .16; stroke: none; }
.paths .ideal { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 4; } svg .ideal.mark { fill: none; }
svg .span { stroke-width: 1.5; opacity: .6; }
svg .hollow { fill: var(--paper); stroke-width: 1.5; }
"""
    + "".join(
        f"""
svg .c{i}.mark, .paths .c{i}.band {{ fill: var(--c{i}); }} .paths .c{i}, svg .span.c{i} {{ stroke: var(--c{i}); }} svg .c{i}.hollow {{ stroke: var(--c{i}); }} .key.c{i} i {{ background: var(--c{i}); }}"""
        for i in range(COLOURS)
    )
    + """
.keys { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; font-size: .85rem; margin: .4rem 0; }
.key i { display: inline-block; width: .7rem; height: .7rem; border-radius: 50%; margin-right: .4rem; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5rem; } .pair > div { min-width: 0; }
.axed { display: grid; grid-template-columns: 3.2rem 1fr; gap: .5rem; } .axed > svg { min-width: 0; }
.caption { font-size: .85rem; color: var(--soft); margin: .2rem 0 .5rem; }
.scroll { overflow-x: auto; background: linear-gradient(90deg, var(--paper) 40%, transparent) left / 3rem 100% no-repeat local,
  linear-gradient(270deg, var(--paper) 40%, transparent) right / 3rem 100% no-repeat local,
  linear-gradient(270deg, var(--rule), transparent) right / 1rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-size: .86rem; width: 100%; margin: .6rem 0; }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 1px solid var(--rule); padding: .3rem .7rem .3rem 0; vertical-align: bottom; }
td { border-bottom: 1px solid var(--rule); padding: .32rem .7rem .32rem 0; vertical-align: top; }
td:last-child:not(.n) { overflow-wrap: anywhere; }
td.n, th.n { text-align: right; white-space: nowrap; } tr.first td, tr.inner td { border-bottom: 0; } tr.first td { border-top: 1px solid var(--rule); } tr.inner td { padding-top: 0; }
.badge { font-size: .78rem; line-height: 1.2; } .badge.good { color: var(--good); } .badge.note { color: var(--note); } .badge.bad { color: var(--bad); font-weight: 650; }
td.w, th.w { white-space: nowrap; } a.badge { text-decoration: none; } .standing { margin: 1.2rem 0 0; }
.standing td { vertical-align: baseline; } .standing small { white-space: nowrap; } .standing th.n { white-space: normal; } summary { cursor: pointer; font-size: .9rem; color: var(--soft); }
.badge.none { color: var(--soft); }
ol.commands { padding-left: 1.6rem; font-size: .86rem; } ol.commands li { margin: .5rem 0; max-width: none; }
a { color: inherit; text-decoration-color: var(--rule); }
@media (max-width: 44rem) { body { font-size: 15px; } main { padding: 1.4rem 1rem 3rem; } h1 { font-size: 1.5rem; }
  .forest { grid-template-columns: 1fr; } .forest .what { margin-bottom: .7rem; } .forest .axis-left, .forest .axis-right { display: none; }
  .pair { grid-template-columns: 1fr; gap: .5rem; } .matrix th[scope=row] { max-width: 8.5rem; overflow-wrap: anywhere; } }
@media print { nav, button, input[data-filter] { display: none; } :root { --paper: #fff; --ink: #000; --soft: #555; --rule: #ccc; --panel: #f4f4f4; --margin: #e8e8e8;
  --good: #1d6b3c; --bad: #a01810; --note: #7a5500; } body { font-size: 10.5pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; padding: 0; } h2 { break-after: avoid; } figure, .tile, tr, .forest > *, .pair { break-inside: avoid; }
  .scroll { overflow: visible; } }
"""
)
