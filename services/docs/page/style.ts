/** The look of `/docs`: the browser's own fonts, light or dark as the reader's system is. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ink: light-dark(#1c1f24, #e4e6ea); --soft: light-dark(#5b6370, #a3abb8);
  --paper: light-dark(#ffffff, #15181c); --panel: light-dark(#f5f6f8, #1d2127); --line: light-dark(#dcdfe4, #343a43);
  --link: light-dark(#0b57c2, #7db4ff); --good: light-dark(#0f6b34, #6fd394); --bad: light-dark(#a3271e, #ff9a90);
  --get: light-dark(#0b57c2, #7db4ff); --post: light-dark(#0f6b34, #6fd394);
  --patch: light-dark(#8a5200, #f0b45c); --delete: light-dark(#a3271e, #ff9a90);
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
a { color: var(--link); }
code, pre, textarea { font: 0.875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: 0.5rem; z-index: 1; }
.layout { display: grid; grid-template-columns: 18rem minmax(0, 1fr); max-width: 84rem; margin: 0 auto; }
nav { border-right: 1px solid var(--line); padding: 1.5rem 1rem; position: sticky; top: 0; height: 100vh; overflow: auto; }
nav ul { list-style: none; margin: 0; padding: 0; font-size: 0.9rem; }
nav a { text-decoration: none; color: inherit; display: flex; gap: 0.4rem; align-items: baseline; padding: 0.15rem 0; }
nav .method { flex: none; }
nav a:hover { text-decoration: underline; }
nav .group { font-weight: 600; margin-top: 1rem; }
nav .group:first-child { margin-top: 0; }
main { padding: 1.5rem 2rem 6rem; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 0.75rem; }
h1 small { color: var(--soft); font-size: 1rem; font-weight: 400; }
h2 { margin: 2.5rem 0 0.75rem; font-size: 1.3rem; }
h3 { display: inline; font-size: 1rem; font-weight: 600; }
h4 { margin: 1.5rem 0 0.5rem; font-size: 1rem; }
.method { display: inline-block; min-width: 3.6rem; font: 600 0.7rem/1.6 ui-monospace, monospace; }
.method.get { color: var(--get); } .method.post { color: var(--post); }
.method.patch { color: var(--patch); } .method.delete { color: var(--delete); }
details.operation, details.schema { border: 1px solid var(--line); border-radius: 6px; margin: 0.5rem 0; scroll-margin-top: 1rem; }
details > summary { cursor: pointer; padding: 0.6rem 0.8rem; }
details.response > summary { padding: 0.3rem 0; overflow-wrap: anywhere; }
details.schema > :not(summary) { margin: 0 0.8rem 0.8rem; }
.answer > details > summary { padding: 0.3rem 0; color: var(--soft); }
.brief { color: var(--soft); margin-left: 0.75rem; }
.content { border-top: 1px solid var(--line); padding: 0 1rem 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.75rem 0.35rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 500; }
td { overflow-wrap: break-word; } td:first-child { white-space: nowrap; }
.required { color: var(--bad); font-size: 0.75rem; }
pre { background: var(--panel); border-radius: 6px; padding: 0.75rem; overflow: auto; max-height: 32rem; margin: 0.5rem 0; }
form { background: var(--panel); border-radius: 6px; padding: 1rem; }
.token { margin: 1.5rem 0; max-width: 44rem; }
.row { display: flex; gap: 0.5rem; } .row input { flex: 1; min-width: 0; }
.note, .state { color: var(--soft); font-size: 0.9rem; margin: 0.5rem 0 0; }
.state:empty { display: none; }
.fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: 0.75rem 1rem; margin-bottom: 0.75rem; }
.fields:empty { display: none; }
.field { border: 0; padding: 0; margin: 0; min-width: 0; }
label, legend { display: block; font-size: 0.85rem; padding: 0; color: var(--soft); }
.box { display: inline-flex; gap: 0.3rem; margin-right: 0.8rem; color: var(--ink); }
input:not([type=checkbox]), select, textarea, button { font: inherit; min-height: 2.5rem; color: inherit; padding: 0.4rem 0.6rem;
  border: 1px solid var(--line); border-radius: 4px; background: var(--paper); width: 100%; }
textarea { font-family: ui-monospace, monospace; font-size: 0.875rem; resize: vertical; }
button { width: auto; cursor: pointer; background: var(--link); border-color: var(--link); color: var(--paper); font-weight: 600; }
button[aria-disabled] { opacity: 0.5; }
.answer > .picture { max-width: 100%; max-height: 32rem; border-radius: 6px; background: var(--panel); }
.try .field + button, .fields + button { margin-top: 0; } .try > .field { margin-bottom: 0.75rem; }
.status { font-weight: 600; } .status.good { color: var(--good); } .status.bad { color: var(--bad); }
.pictures { display: flex; flex-wrap: wrap; gap: 0.5rem; }
.pictures img { width: 8rem; height: 8rem; object-fit: cover; border-radius: 6px; background: var(--panel); }
@media (max-width: 52rem) {
  .layout { display: block; }
  /* The operations themselves are their own list. */
  nav { display: none; }
  main { padding: 1rem 1rem 4rem; }
  .brief { display: block; margin: 0; }
  td:first-child { white-space: normal; }
  .stacked thead { display: none; }
  .stacked tr { display: block; border-bottom: 1px solid var(--line); padding: 0.4rem 0; }
  .stacked td { display: inline; border: 0; padding: 0 0.5rem 0 0; }
  .stacked td:last-child { display: block; }
  .pictures img { width: calc(50% - 0.25rem); height: auto; aspect-ratio: 1; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
}
`;
