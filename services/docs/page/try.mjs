import { bodyEditor } from './body.mjs';
import { BASE } from './document.mjs';
import { el, json, table } from './element.mjs';
import { fieldsFor } from './form.mjs';
import { gallery, picture } from './pictures.mjs';
import { rememberIds } from './seen-ids.mjs';
import { currentToken } from './token.mjs';

/**
 * @typedef {import('./document.mjs').Endpoint} Endpoint
 * @typedef {import('./form.mjs').Field} Field
 * @typedef {ReturnType<import('./body.mjs').Editor['sent']>} Sent
 */

/**
 * A form that sends the request, and shows what came back.
 * @param {Endpoint} endpoint
 */
export function tryForm(endpoint) {
  const body = bodyEditor(endpoint);
  const fields = fieldsFor(endpoint).filter(({ parameter }) => !body.names.includes(parameter.name));
  const output = el('div', { class: 'answer', 'aria-live': 'polite' });
  const button = el('button', { type: 'submit' }, 'Send');
  const form = el(
    'form',
    { class: 'try' },
    el('div', { class: 'fields' }, ...fields.map(({ node }) => node)),
    ...body.nodes,
    button,
  );
  // Not disabled: whoever sends by keyboard stays where they are.
  let is_waiting = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (is_waiting) return;
    is_waiting = true;
    button.setAttribute('aria-disabled', 'true');
    output.replaceChildren(el('p', {}, 'Waiting…'));
    output.replaceChildren(...(await send(endpoint, fields, body.sent())));
    button.removeAttribute('aria-disabled');
    is_waiting = false;
  });
  return el('div', {}, el('h4', {}, 'Try it'), form, output);
}

/**
 * @param {Endpoint} endpoint
 * @param {readonly Field[]} fields
 * @param {Sent} sent
 * @returns {Promise<Node[]>}
 */
async function send(endpoint, fields, { body, type }) {
  const started_ms = performance.now();
  try {
    const reply = await fetch(addressOf(endpoint, fields), {
      method: endpoint.method,
      headers: headersOf(endpoint, fields, type),
      ...(body === undefined ? {} : { body }),
    });
    const bytes = await reply.blob();
    return [
      ...summary(reply, performance.now() - started_ms),
      ...(bytes.type.startsWith('image/')
        ? [await picture(bytes)]
        : told(endpoint, reply, await bytes.text())),
    ];
  } catch (error) {
    return [el('p', { class: 'status bad' }, `No answer: ${error instanceof Error ? error.message : error}`)];
  }
}

/**
 * @param {Endpoint} endpoint
 * @param {readonly Field[]} fields
 */
function addressOf({ path }, fields) {
  const filled = filledIn(fields, 'path').reduce(
    (whole, [name, value]) => whole.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
  const address = new URL(filled.slice(1), BASE);
  for (const [name, value] of filledIn(fields, 'query')) address.searchParams.set(name, value);
  return address;
}

/**
 * @param {Endpoint} endpoint
 * @param {readonly Field[]} fields
 * @param {string | undefined} type
 */
function headersOf({ operation }, fields, type) {
  const headers = new Headers(filledIn(fields, 'header'));
  const token = currentToken();
  if (token !== undefined && operation.security.some((one) => 'bearer' in one))
    headers.set('Authorization', `Bearer ${token}`);
  const key = /** @type {HTMLInputElement | null} */ (document.getElementById('key'));
  if (operation.security.some((one) => 'api_key' in one)) headers.set('X-API-Key', key?.value.trim() ?? '');
  if (type !== undefined) headers.set('Content-Type', type);
  return headers;
}

/**
 * @param {readonly Field[]} fields
 * @param {string} place
 * @returns {[string, string][]}
 */
function filledIn(fields, place) {
  return fields
    .filter(({ parameter }) => parameter.in === place)
    .map(({ parameter, value }) => /** @type {[string, string]} */ ([parameter.name, value()]))
    .filter(([, value]) => value !== '');
}

/**
 * @param {Response} reply
 * @param {number} took_ms
 */
function summary(reply, took_ms) {
  const rows = [...reply.headers].map(([name, value]) => [el('code', {}, name), value]);
  const status = `${reply.status} ${reply.statusText} · ${Math.round(took_ms)} ms`;
  return [
    el('p', { class: reply.ok ? 'status good' : 'status bad' }, status),
    el('details', {}, el('summary', {}, `${rows.length} headers`), table(['Header', 'Value'], rows)),
  ];
}

/**
 * @param {Endpoint} endpoint
 * @param {Response} reply
 * @param {string} text
 * @returns {Node[]}
 */
function told({ operation }, reply, text) {
  if (text === '') return [];
  const answer = parsed(text);
  if (answer === undefined) return [el('pre', { tabindex: '0', 'aria-label': 'Answer' }, text)];
  if (reply.ok) rememberIds(answer);
  const pictures = gallery(answer);
  return [...(pictures ? [pictures] : []), json(answer, `Answer of ${operation.operationId}`)];
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
