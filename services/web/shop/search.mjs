// Shows what the search finds while one types. Without this script, the form opens the same page.

const form = document.querySelector('form.search');
const input = form.elements.q;
const PAUSE_MS = 300;
const LETTERS_MIN = 3;
let shown = input.value;
let typing;
let request = new AbortController();

async function showFound() {
  const words = input.value.trim();
  request.abort();
  if (words.length < LETTERS_MIN || words === shown) return;
  request = new AbortController();
  const path = `${form.action}?${new URLSearchParams({ q: words })}`;
  try {
    const answer = await fetch(path, { signal: request.signal });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    document.querySelector('main').replaceWith(page.querySelector('main'));
    document.title = page.title;
    shown = words;
    const is_search = location.pathname === new URL(form.action).pathname;
    history[is_search ? 'replaceState' : 'pushState'](null, '', path);
  } catch {
    // Other words are looked for already, or the network has failed: the form can still be sent.
  }
}

input.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(showFound, PAUSE_MS);
});
// A link to a part of the page is no other search.
addEventListener('popstate', () => {
  if ((new URL(location).searchParams.get('q') ?? '') !== shown) location.reload();
});
