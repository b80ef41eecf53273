import { nameOf, resolve } from './document.mjs';
import { el, json, prose, table } from './element.mjs';
import { fieldsOf, typeOf } from './schema.mjs';
import { tryForm } from './try.mjs';

/**
 * @typedef {import('./document.mjs').Endpoint} Endpoint
 * @typedef {import('./document.mjs').Answer} Answer
 * @typedef {import('./document.mjs').Media} Media
 */

/**
 * One operation, closed; what is in it is made when it is opened.
 * @param {Endpoint} endpoint
 */
export function operationDetails(endpoint) {
  const { method, path, operation } = endpoint;
  const badge = el('span', { class: `method ${method.toLowerCase()}` }, method);
  const heading = el('h3', {}, badge, ' ', el('code', {}, path));
  const summary = el('summary', {}, heading, el('span', { class: 'brief' }, operation.summary));
  const details = el('details', { id: operation.operationId, class: 'operation' }, summary);
  details.addEventListener('toggle', () => details.append(contentOf(endpoint)), { once: true });
  return details;
}

/** @param {Endpoint} endpoint */
function contentOf(endpoint) {
  const { operation } = endpoint;
  return el(
    'div',
    { class: 'content' },
    el('p', {}, ...prose(operation.description ?? '')),
    tryForm(endpoint),
    ...parameters(endpoint),
    ...requestBody(endpoint),
    el('h4', {}, 'Answers'),
    ...Object.entries(operation.responses).map(([status, answer]) => answerDetails(status, answer)),
  );
}

/** @param {Endpoint} endpoint */
function parameters({ operation }) {
  const rows = operation.parameters.map(resolve).map((parameter) => {
    const { name, schema, description = '', required } = parameter;
    const mark = required ? el('span', { class: 'required' }, 'required') : '';
    const fallback =
      Array.isArray(schema.default) || schema.default === undefined ? '' : `, default ${schema.default}`;
    return [
      [el('code', {}, name), ' ', mark],
      parameter.in,
      [...typeOf(schema), fallback],
      prose(description),
    ];
  });
  return rows.length === 0 ? [] : [el('h4', {}, 'Parameters'), table(['Name', 'In', 'Type', ''], rows)];
}

/** @param {Endpoint} endpoint */
function requestBody({ operation }) {
  const { content = {} } = operation.requestBody ?? {};
  return Object.entries(content).flatMap(([type, { schema }]) => [
    el('h4', {}, 'Body ', el('code', {}, type)),
    ...(schema === undefined ? [] : [el('p', {}, ...typeOf(schema)), fieldsOf(resolve(schema))]),
  ]);
}

/**
 * @param {string} status
 * @param {Answer} answer
 */
function answerDetails(status, answer) {
  const good = Number(status) < 400;
  const title = el('span', { class: good ? 'status good' : 'status bad' }, status);
  const details = el('details', { class: 'response' }, el('summary', {}, title, ' ', brief(answer, good)));
  details.addEventListener('toggle', () => details.append(...answerContent(answer)), { once: true });
  return details;
}

/**
 * @param {Answer} answer
 * @param {boolean} good
 */
function brief(answer, good) {
  if (good) return answer.description;
  const examples = Object.values(answer.content?.['application/json']?.examples ?? {});
  return [...new Set(examples.map((example) => resolve(example).summary ?? ''))].join(' · ');
}

/** @param {Answer} answer */
function answerContent({ description, headers = {}, content = {} }) {
  const named = Object.entries(headers).map(([name, header]) => [
    el('code', {}, name),
    prose(resolve(header).description ?? ''),
  ]);
  return [
    el('p', {}, ...prose(description)),
    ...Object.entries(content).flatMap(([type, media]) => mediaContent(type, media)),
    table(['Header', ''], named),
  ];
}

/**
 * @param {string} type
 * @param {Media} media
 */
function mediaContent(type, { schema, example, examples = {} }) {
  const shown =
    example === undefined ? Object.values(examples).map(resolve).slice(0, 1) : [{ value: example }];
  return [
    el('p', {}, el('code', {}, type), ' ', ...(schema?.$ref ? typeOf(schema) : [])),
    ...shown.map(({ value }) => json(value, `Example of ${nameOf(schema?.$ref) || 'an error'}`)),
  ];
}
