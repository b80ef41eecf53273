export const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#9a4a1f"/>' +
  '<path d="M9 12h14l-1.5 12h-11zM12 12a4 4 0 0 1 8 0" fill="none" stroke="#fff" stroke-width="2.4" stroke-linejoin="round"/></svg>';

/** The style sheet of the shop: one column on a phone, light and dark as the system says. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #fbf9f5; --surface: #ffffff; --ink: #22201c; --soft: #6b655b; --line: #e5dfd3; --accent: #9a4a1f; --on-accent: #ffffff;
  --sale: #a11d33; --radius: 10px; --gap: clamp(1rem, 2.5vw, 2rem);
  font: 16px/1.55 ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
@media (prefers-color-scheme: dark) {
  :root { --ground: #171512; --surface: #211e1a; --ink: #f1ece2; --soft: #b0a797; --line: #3a352d; --accent: #eba06b; --on-accent: #1b1208; --sale: #ff8c9b; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); }
a { color: inherit; text-underline-offset: .2em; }
a:hover { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
img { display: block; max-width: 100%; height: auto; }
h1, h2, h3 { font-family: ui-serif, Georgia, "Noto Serif", serif; line-height: 1.15; font-weight: 600; text-wrap: balance; margin: 0 0 .5em; }
h1 { font-size: clamp(1.8rem, 4vw, 2.7rem); } h2 { font-size: 1.5rem; }
.skip { position: absolute; inset-inline-start: -999px; } .skip:focus { inset-inline-start: 1rem; top: 1rem; background: var(--surface); padding: .5rem 1rem; z-index: 2; }
.wrap { max-width: 76rem; margin: 0 auto; padding: 0 var(--gap); }
header { border-bottom: 1px solid var(--line); background: var(--surface); }
header .wrap { display: flex; flex-wrap: wrap; align-items: center; gap: .75rem var(--gap); padding-block: 1rem; }
.brand { font: 600 1.5rem ui-serif, Georgia, "Noto Serif", serif; text-decoration: none; }
form.search { display: flex; flex: 1 1 16rem; max-width: 30rem; margin-inline-start: auto; }
input, select, button { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: var(--radius); padding: .55rem .8rem; min-height: 2.75rem; }
::placeholder { color: var(--soft); opacity: 1; }
form.search input { flex: 1; min-width: 0; border-start-end-radius: 0; border-end-end-radius: 0; }
button { background: var(--accent); border-color: var(--accent); color: var(--on-accent); cursor: pointer; }
form.search button { border-start-start-radius: 0; border-end-start-radius: 0; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; margin: 0; }
nav.listings { width: 100%; } nav.listings a { display: inline-block; padding: .35rem 0; text-decoration: none; } nav a[aria-current] { color: var(--accent); font-weight: 600; }
nav.crumbs { color: var(--soft); font-size: .9rem; margin: 0 0 1rem; } nav.crumbs li + li::before { content: "›"; margin-inline-end: 1.25rem; }
main.wrap { padding-block: 1.5rem 4rem; }
.lead { color: var(--soft); max-width: 60ch; margin: 0 0 1.5rem; }
.grid { list-style: none; padding: 0; margin: 0 0 2.5rem; display: grid; gap: var(--gap); grid-template-columns: repeat(auto-fill, minmax(min(13.5rem, 42vw), 1fr)); }
.card { display: block; text-decoration: none; }
.card .picture { aspect-ratio: 1; border-radius: var(--radius); overflow: hidden; background: var(--line); margin-bottom: .6rem; }
.card img { width: 100%; height: 100%; object-fit: cover; transition: transform .3s; } .card:hover img { transform: scale(1.03); }
.card strong { display: block; font-weight: 600; line-height: 1.3; text-wrap: balance; }
.price { font-variant-numeric: tabular-nums; } .price s { color: var(--soft); margin-inline-end: .4em; } .price .sale { color: var(--sale); font-weight: 600; } .price .lowest { display: block; color: var(--soft); font-size: .85rem; }
.note { color: var(--soft); font-size: .9rem; } .badge { display: inline-block; font-size: .8rem; border: 1px solid var(--line); border-radius: 99px; padding: .1rem .7rem; background: var(--surface); }
.columns { display: grid; gap: var(--gap); } .columns > * { min-width: 0; }
@media (min-width: 56rem) {
  .columns { grid-template-columns: 14rem 1fr; } .product { grid-template-columns: 1.1fr 1fr; }
  .filters::details-content { content-visibility: visible; block-size: auto; }
  @supports selector(::details-content) { .filters summary { list-style: none; pointer-events: none; } }
}
.filters h2 { font: inherit; font-weight: 600; margin: 1.2rem 0 .3rem; } .filters h2::first-letter { text-transform: uppercase; } .filters ul { list-style: none; margin: 0; padding: 0; }
.filters a { display: flex; justify-content: space-between; gap: 1rem; padding: .3rem 0; text-decoration: none; } .filters a[aria-current] { color: var(--accent); font-weight: 600; } .filters a[aria-current] span:first-child::before { content: "✓ "; }
.filters summary { cursor: pointer; font-weight: 600; padding: .5rem 0; }
.bar { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: 1rem; margin-bottom: 1.25rem; } .bar h1 { margin: 0; } .bar form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
.pager { display: flex; justify-content: center; align-items: center; gap: 1.5rem; }
.product .price { font-size: 1.35rem; } .product > div > :first-child { margin-top: 0; } .tags { display: flex; flex-wrap: wrap; gap: .5rem; }
.gallery { display: grid; align-content: start; gap: .75rem; grid-template-columns: repeat(4, 1fr); } .gallery > :first-child { grid-column: 1 / -1; } .gallery a { display: block; cursor: zoom-in; } .gallery img { width: 100%; border-radius: var(--radius); background: var(--line); }
fieldset { border: 0; margin: 0 0 1rem; padding: 0; } legend { padding: 0; font-weight: 600; margin-bottom: .4rem; } .options { list-style: none; display: flex; flex-wrap: wrap; gap: .5rem; padding: 0; margin: 0; }
.options a { display: block; min-width: 2.75rem; padding: .5rem .9rem; border: 1px solid var(--line); border-radius: var(--radius); background: var(--surface); text-align: center; text-decoration: none; } .options a[aria-current] { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); font-weight: 600; } .options a.none { color: var(--soft); text-decoration: line-through; }
.rating { color: var(--soft); font-size: .9rem; white-space: nowrap; } .rating .stars { letter-spacing: 0; }
.bounds { display: flex; gap: .4rem; align-items: center; } .bounds input { width: 100%; min-width: 0; padding-inline: .5rem; } .bounds button { padding-inline: .8rem; }
nav details { position: relative; } nav summary { cursor: pointer; padding: .35rem 0; } nav.listings details ul, .chooser details div { position: absolute; z-index: 2; inset-inline-end: 0; min-width: 14rem; max-width: 90vw; max-height: 70vh; overflow: auto; display: block; padding: .75rem 1rem; background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius); }
.chooser { margin-inline-start: auto; } .chooser + form.search { margin-inline-start: 0; } .chooser summary { color: var(--soft); } .chooser ul { display: block; } .chooser a { display: block; padding: .5rem 0; text-decoration: none; } .chooser ul + ul { border-top: 1px solid var(--line); margin-top: .5rem; padding-top: .5rem; }
[dir=rtl] :is(h1, h2, p, strong, legend, dd, .note, .price, .lowest, .options a) { unicode-bidi: plaintext; text-align: right; } [dir=rtl] :is(.empty, .options) * { text-align: center; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; } dt { color: var(--soft); } dd { margin: 0; }
.reviews { list-style: none; padding: 0; display: grid; gap: var(--gap); grid-template-columns: repeat(auto-fit, minmax(min(18rem, 100%), 1fr)); } .reviews li { background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius); padding: 1rem 1.25rem; } .stars { color: var(--accent); letter-spacing: .1em; }
.empty { text-align: center; padding: 4rem 1rem; color: var(--soft); }
footer { border-top: 1px solid var(--line); color: var(--soft); font-size: .92rem; background: var(--surface); } footer .wrap { display: grid; gap: 1.5rem var(--gap); grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); padding-block: 2.5rem; } footer p { margin: 0 0 .4rem; }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; } }
`;
