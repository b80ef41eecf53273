import { BASE } from './document.mjs';
import { el } from './element.mjs';

/** In this page's memory alone: a reload, and it is gone. @type {string | undefined} */
let token;

/** @returns {string | undefined} */
export const currentToken = () => token;

/** Where a key is exchanged for the token that requests of this page carry. */
export function tokenForm() {
  const key = el('input', {
    ...{ id: 'key', type: 'password', autocomplete: 'off', spellcheck: 'false', placeholder: 'pk_live_…' },
    ...{ required: true, 'aria-describedby': 'key-note' },
  });
  const state = el('p', { role: 'status', class: 'state' });
  const note =
    'The key and the token stay in this tab, and are gone when it is reloaded. Secret keys belong on servers.';
  const form = el(
    'form',
    { class: 'token' },
    el('label', { for: 'key' }, 'API key'),
    el('div', { class: 'row' }, key, el('button', { type: 'submit' }, 'Get a token')),
    el('p', { id: 'key-note', class: 'note' }, note),
    state,
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    state.textContent = 'Asking…';
    state.textContent = await exchange(key.value.trim());
  });
  return form;
}

/**
 * @param {string} key
 * @returns {Promise<string>} what became of it
 */
async function exchange(key) {
  try {
    const reply = await fetch(new URL('auth/token', BASE), { method: 'POST', headers: { 'X-API-Key': key } });
    const body = await reply.json();
    if (!reply.ok) return `${reply.status}: ${body.message}`;
    token = body.data.token;
    const until = new Date(Date.now() + body.data.expires_in * 1000);
    return `Token received; it is sent with every request until ${until.toLocaleTimeString()}.`;
  } catch (error) {
    return `No answer: ${error instanceof Error ? error.message : error}`;
  }
}
