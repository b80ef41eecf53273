// Shows a part of the shop without loading the whole page again: what the search finds while one types, and another variant.
// Without this script, the form and the links open the same pages.

const form = document.querySelector('form.search');
const input = form.elements.q;
const PAUSE_MS = 300;
const LETTERS_MIN = 3;
let shown = input.value;
let typing;
let request = new AbortController();

/** Replaces the content of the page. Returns whether the page was loaded, or undefined if another page was asked for meanwhile. */
async function showPage(path) {
  request.abort();
  request = new AbortController();
  const { signal } = request;
  try {
    const answer = await fetch(path, { signal });
    if (!answer.ok) return false;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of ['main', '.chooser'])
      document.querySelector(part)?.replaceWith(page.querySelector(part));
    document.title = page.title;
    return true;
  } catch {
    // If the network has failed, the form and the links still work.
    return signal.aborted ? undefined : false;
  }
}

async function showFound() {
  const words = input.value.trim();
  if (words.length < LETTERS_MIN || words === shown) return;
  const query = new URLSearchParams(new FormData(form));
  query.set('q', words);
  const path = `${form.action}?${query}`;
  if (!(await showPage(path))) return;
  shown = words;
  const is_search = location.pathname === new URL(form.action).pathname;
  history[is_search ? 'replaceState' : 'pushState'](null, '', path);
}

input.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(showFound, PAUSE_MS);
});
addEventListener('click', async (event) => {
  const link = event.target.closest?.('a[data-in-place]');
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  const { href, textContent } = link;
  const is_shown = await showPage(href);
  if (is_shown === false) location.assign(href);
  if (!is_shown) return;
  history.replaceState(null, '', href);
  const links = [...document.querySelectorAll('a[data-in-place][aria-current]')];
  links.find((each) => each.textContent === textContent)?.focus();
});
// A link to a part of the page is no other search.
addEventListener('popstate', () => {
  if ((new URL(location).searchParams.get('q') ?? '') !== shown) location.reload();
});
