import { resolve } from './document.mjs';
import { el } from './element.mjs';

/**
 * @typedef {import('./document.mjs').Endpoint} Endpoint
 * @typedef {import('./document.mjs').Schema} Schema
 * @typedef {{ nodes: Node[], names: string[], sent: () => { body?: string | FormData, type?: string } }} Editor
 *   `names`: the fields that it has, which need not be asked for as parameters as well. `type`: where the browser does
 *   not know it better.
 */

/**
 * What the body of a request is written with: fields and a file, or JSON with the example filled in.
 * @param {Endpoint} endpoint
 * @returns {Editor}
 */
export function bodyEditor({ operation }) {
  const { content = {} } = operation.requestBody ?? {};
  const form = content['multipart/form-data']?.schema;
  if (form !== undefined) return formEditor(resolve(form), operation.operationId);
  const example = content['application/json']?.example;
  if (example !== undefined) return jsonEditor(example, operation.operationId);
  return { nodes: [], names: [], sent: () => ({}) };
}

/**
 * @param {unknown} example
 * @param {string} operation
 * @returns {Editor}
 */
function jsonEditor(example, operation) {
  const id = `${operation}-body`;
  const text = el('textarea', { id, rows: '8', spellcheck: 'false' });
  text.value = JSON.stringify(example, null, 2);
  const node = el('div', { class: 'field' }, el('label', { for: id }, 'Body'), text);
  return { nodes: [node], names: [], sent: () => ({ body: text.value, type: 'application/json' }) };
}

/**
 * @param {Schema} schema
 * @param {string} operation
 * @returns {Editor}
 */
function formEditor({ properties = {}, required = [] }, operation) {
  const inputs = Object.entries(properties).map(([name, field]) =>
    el('input', {
      ...{ id: `${operation}-form-${name}`, name, required: required.includes(name) },
      ...(isFile(field) ? { type: 'file', accept: 'image/*' } : { autocomplete: 'off', spellcheck: 'false' }),
    }),
  );
  const fields = inputs.map((input) => {
    const mark = input.required ? ' *' : '';
    return el('div', { class: 'field' }, el('label', { for: input.id }, `${input.name}${mark}`), input);
  });
  return {
    nodes: [el('div', { class: 'fields' }, ...fields)],
    names: inputs.map(({ name }) => name),
    sent: () => ({ body: filledIn(inputs) }),
  };
}

/** @param {Schema} field */
const isFile = ({ format }) => format === 'binary';

/** @param {readonly HTMLInputElement[]} inputs */
function filledIn(inputs) {
  const form = new FormData();
  for (const { name, value, files } of inputs) {
    const [file] = files ?? [];
    if (file) form.set(name, file);
    else if (value.trim() !== '') form.set(name, value.trim());
  }
  return form;
}
