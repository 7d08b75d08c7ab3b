"""Style sheet of a report: light and dark, for telephone, screen and paper."""

STYLE = """
.skfair-report{--ink:#1b1f24;--soft:#57606a;--paper:#fff;--line:#c9d1d9;--mark:#eef4fb;--bar:#7aa7d9;
--stroke:#0b3d75;--ref:#a04000;font:16px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--paper);max-width:70rem;margin:0 auto;padding:1rem;box-sizing:border-box;
text-align:left}
@media (prefers-color-scheme:dark){.skfair-report{--ink:#e6edf3;--soft:#9da7b3;--paper:#0d1117;
--line:#3d444d;--mark:#17263a;--bar:#3f6fa8;--stroke:#b9d7fb;--ref:#f0a35e}
body:has(>main>.skfair-report){background:#0d1117}}
.skfair-report h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0 1rem;overflow-wrap:anywhere}
.skfair-report h2{font-size:1.25rem;margin:1.6rem 0 .6rem;overflow-wrap:anywhere}
.skfair-report p,.skfair-report li{max-width:46rem;margin:.35rem 0;overflow-wrap:anywhere}
.skfair-report .finding{font-size:1.1rem}
.skfair-report .frame{overflow-x:auto;margin:0 0 1.4rem}
.skfair-report .frame:focus{outline:2px solid var(--stroke);outline-offset:2px}
.skfair-report table{border-collapse:collapse;width:100%;font-size:.92rem;
font-variant-numeric:tabular-nums;color:inherit;background:none}
.skfair-report caption{text-align:left;font-weight:600;padding:.3rem 0;color:inherit}
.skfair-report small{color:var(--soft);font-size:.85em;white-space:nowrap}
.skfair-report caption>*{display:block;position:sticky;left:0;white-space:normal;
max-width:min(46rem,calc(100vw - 2.5rem))}
.skfair-report caption small{font-weight:400}
.skfair-report td:has(svg){width:50%}
.skfair-report td>div{display:flex;flex-wrap:wrap;align-items:center;gap:0 1rem;min-width:11rem}
.skfair-report td>div>span{flex:0 0 11rem}
.skfair-report th,.skfair-report td{text-align:left;padding:.3rem .8rem .3rem 0;font-weight:400;
border-bottom:1px solid var(--line);vertical-align:middle;background:none}
.skfair-report thead th{color:var(--soft);font-size:.85em;vertical-align:bottom}
.skfair-report tbody th{max-width:16rem;overflow-wrap:anywhere;min-width:6rem}
.skfair-report tr.marked th,.skfair-report tr.marked td{background:var(--mark);font-weight:600}
.skfair-report svg{display:block;flex:1 1 8rem;min-width:0;height:1.25rem;overflow:visible}
.skfair-report svg line{vector-effect:non-scaling-stroke}
.skfair-report .span{stroke:var(--bar);stroke-width:7}
.skfair-report .at{stroke:var(--stroke);stroke-width:3}
.skfair-report .ref{stroke:var(--ref);stroke-width:1.5;stroke-dasharray:3 3}
@media print{.skfair-report{--ink:#000;--soft:#333;--paper:#fff;--line:#999;--mark:#eee;--bar:#999;
--stroke:#000;--ref:#000;font-size:10pt;max-width:none}
.skfair-report .frame{overflow:visible;break-inside:avoid}
.skfair-report h1,.skfair-report h2,.skfair-report caption,.skfair-report thead{break-after:avoid}
body:has(>main>.skfair-report){background:#fff}}
"""
"""Rules that apply inside a report only."""
