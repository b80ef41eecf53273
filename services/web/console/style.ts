import { STYLE as SHOP_STYLE } from '../shop/style';

/** The style sheet of the console: that of the shop, with forms and tables. */
export const STYLE = `${SHOP_STYLE}
header nav ul { gap: .25rem 1.25rem; } header nav a { text-decoration: none; } header nav { flex: 1; } header form { margin: 0; } @media (max-width: 40rem) { header nav { order: 1; flex-basis: 100%; } header form { margin-left: auto; } }
.panel { background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius); padding: 1.25rem; margin: 0 0 var(--gap); } .panel > p:last-child { margin-bottom: 0; }
.narrow { max-width: 26rem; margin: 12vh auto; }
.fields { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(14rem, 100%), 1fr)); }
.fields .wide { grid-column: 1 / -1; }
label { display: block; } label > span { display: block; font-weight: 600; margin-bottom: .2rem; } label > span small { color: var(--soft); font-weight: 400; }
label input, label select, .field input, .field select, .field textarea { width: 100%; } .field label { font-weight: 600; margin-bottom: .2rem; } .field small { color: var(--soft); font-weight: 400; } input[type=checkbox] { min-height: 0; width: 1.3rem; height: 1.3rem; }
textarea { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: var(--radius); padding: .55rem .8rem; min-height: 9rem; }
[aria-invalid=true] { border-color: var(--sale); border-width: 2px; }
button.quiet { background: none; color: inherit; border-color: var(--line); }
.message { border-left: 4px solid var(--accent); background: var(--surface); padding: .75rem 1rem; margin: 0 0 1.25rem; } .message.bad { border-color: var(--sale); }
.message p { margin: 0; } .message ul { margin: .3rem 0 0; }
.scroll { overflow-x: auto; } td img { width: 3rem; max-width: none; height: 3rem; object-fit: cover; border-radius: 6px; } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td form { display: inline; white-space: nowrap; } tbody input:not([type=checkbox]) { width: 8rem; } td > input:not([type=checkbox]) { width: 100%; min-width: 8rem; }
.depth-1 { padding-left: 1.5rem; } .depth-2 { padding-left: 3rem; } .depth-3 { padding-left: 4.5rem; } .depth-4, .depth-5 { padding-left: 6rem; }
[draggable=true] { cursor: grab; }
.pictures { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: 1rem; } .pictures .card { width: 8rem; height: 8rem; margin-bottom: .5rem; border-radius: 6px; overflow: hidden; background: var(--line); } .pictures button { padding: .2rem .5rem; min-height: 2rem; margin-right: .3rem; }
dl.parts { display: flex; flex-wrap: wrap; gap: .5rem 2rem; } dl.parts dt { font-size: .9rem; } p.bad, dd.bad { color: var(--sale); }
.rows td { vertical-align: top; } .scroll th, .scroll td { padding-right: 1rem; } td time, td code, td .tags { white-space: nowrap; } td .tags { flex-wrap: nowrap; } td code { font-size: .85rem; } pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font-size: .85rem; } h1.stream { font: 600 1.1rem ui-monospace, monospace; } h1.stream, .bad { overflow-wrap: anywhere; } th::first-letter, dt::first-letter { text-transform: uppercase; }
del { color: var(--sale); } ins { color: var(--accent); text-decoration: none; font-weight: 600; }
.plots { display: grid; gap: 1rem var(--gap); grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); } .plots[hidden] { display: none; } .plots > * { min-width: 0; margin: 0; } .plots p { grid-column: 1 / -1; } .plots p:empty { display: none; } .plots table { margin: 0; } .tasks { gap: .5rem 1.25rem; } .tasks a::first-letter { text-transform: uppercase; } label > input[type=checkbox] { vertical-align: middle; } .plots .u-legend { text-align: left; font-size: .85rem; } .plots .u-legend * { border: 0; } progress { width: 100%; height: 1.25rem; accent-color: var(--accent); }
`;
