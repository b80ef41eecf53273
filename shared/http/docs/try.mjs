import { BASE } from './document.mjs';
import { el, json, table } from './element.mjs';
import { fieldsFor } from './form.mjs';
import { gallery } from './pictures.mjs';
import { rememberIds } from './seen-ids.mjs';
import { currentToken } from './token.mjs';

/**
 * @typedef {import('./document.mjs').Endpoint} Endpoint
 * @typedef {import('./form.mjs').Field} Field
 */

/**
 * A form that sends the request, with the example filled in, and shows what came back.
 * @param {Endpoint} endpoint
 */
export function tryForm(endpoint) {
  const { operation } = endpoint;
  const fields = fieldsFor(endpoint);
  const example = operation.requestBody?.content['application/json']?.example;
  const id = `${operation.operationId}-body`;
  const body = example === undefined ? undefined : el('textarea', { id, rows: '8', spellcheck: 'false' });
  if (body) body.value = JSON.stringify(example, null, 2);
  const output = el('div', { class: 'answer', 'aria-live': 'polite' });
  const button = el('button', { type: 'submit' }, 'Send');
  const form = el(
    'form',
    { class: 'try' },
    el('div', { class: 'fields' }, ...fields.map(({ node }) => node)),
    body && el('div', { class: 'field' }, el('label', { for: id }, 'Body'), body),
    button,
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    output.replaceChildren(el('p', {}, 'Waiting…'));
    output.replaceChildren(...(await send(endpoint, fields, body?.value)));
    button.disabled = false;
  });
  return el('div', {}, el('h4', {}, 'Try it'), form, output);
}

/**
 * @param {Endpoint} endpoint
 * @param {readonly Field[]} fields
 * @param {string | undefined} body
 * @returns {Promise<Node[]>}
 */
async function send(endpoint, fields, body) {
  const started_ms = performance.now();
  try {
    const reply = await fetch(addressOf(endpoint, fields), {
      method: endpoint.method,
      headers: headersOf(endpoint, fields, body),
      ...(body === undefined ? {} : { body }),
    });
    const text = await reply.text();
    return show(endpoint, reply, text, performance.now() - started_ms);
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
 * @param {string | undefined} body
 */
function headersOf({ operation }, fields, body) {
  const headers = new Headers(filledIn(fields, 'header'));
  const token = currentToken();
  if (token !== undefined && operation.security.some((one) => 'bearer' in one))
    headers.set('Authorization', `Bearer ${token}`);
  const key = /** @type {HTMLInputElement | null} */ (document.getElementById('key'));
  if (operation.security.some((one) => 'api_key' in one)) headers.set('X-API-Key', key?.value.trim() ?? '');
  if (body !== undefined) headers.set('Content-Type', 'application/json');
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
 * @param {Endpoint} endpoint
 * @param {Response} reply
 * @param {string} text
 * @param {number} took_ms
 * @returns {Node[]}
 */
function show(endpoint, reply, text, took_ms) {
  const answer = parsed(text);
  const rows = [...reply.headers].map(([name, value]) => [el('code', {}, name), value]);
  const body =
    answer === undefined
      ? el('pre', { tabindex: '0', 'aria-label': 'Answer' }, text)
      : json(answer, `Answer of ${endpoint.operation.operationId}`);
  if (reply.ok) rememberIds(answer);
  const pictures = gallery(answer);
  return [
    el(
      'p',
      { class: reply.ok ? 'status good' : 'status bad' },
      `${reply.status} ${reply.statusText} · ${Math.round(took_ms)} ms`,
    ),
    el('details', {}, el('summary', {}, `${rows.length} headers`), table(['Header', 'Value'], rows)),
    ...(pictures ? [pictures] : []),
    ...(text === '' ? [] : [body]),
  ];
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
