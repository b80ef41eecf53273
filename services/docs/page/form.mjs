import { resolve } from './document.mjs';
import { el } from './element.mjs';
import { idsOf, onIds } from './seen-ids.mjs';

/**
 * @typedef {import('./document.mjs').Endpoint} Endpoint
 * @typedef {import('./document.mjs').Parameter} Parameter
 * @typedef {{ parameter: Parameter, node: HTMLElement, value: () => string }} Field
 */

/**
 * One field for each parameter of the endpoint. X-Request-Id and what browsers do by themselves are left out.
 * @param {Endpoint} endpoint
 * @returns {Field[]}
 */
export function fieldsFor({ operation, path }) {
  return operation.parameters
    .map(resolve)
    .filter(({ name }) => name !== 'X-Request-Id')
    .map((parameter) => {
      const id = `${operation.operationId}-${parameter.name}`;
      if (parameter.schema.items?.enum) return choices(parameter, id);
      if (parameter.schema.enum || parameter.schema.type === 'boolean') return selection(parameter, id);
      return text(parameter, id, /^\/api\/(\w+)/.exec(path)?.[1] ?? '');
    });
}

/**
 * @param {Parameter} parameter
 * @param {string} id
 * @param {HTMLElement} control
 */
function labelled(parameter, id, control) {
  const mark = parameter.required ? ' *' : '';
  return el('div', { class: 'field' }, el('label', { for: id }, `${parameter.name}${mark}`), control);
}

/**
 * @param {Parameter} parameter
 * @param {string} id
 * @param {string} resource
 * @returns {Field}
 */
function text(parameter, id, resource) {
  const input = el('input', {
    ...{ id, autocomplete: 'off', spellcheck: 'false', required: parameter.required },
    placeholder: String(parameter.example ?? parameter.schema.default ?? ''),
  });
  const node = labelled(parameter, id, input);
  if (parameter.in === 'path') node.append(offerIds(input, resource));
  return { parameter, node, value: () => input.value.trim() };
}

/**
 * Ids that answers have shown are offered, the newest in the field until somebody writes into it.
 * @param {HTMLInputElement} input
 * @param {string} resource
 */
function offerIds(input, resource) {
  const list = el('datalist', { id: `${input.id}-seen` });
  input.setAttribute('list', list.id);
  let written = false;
  input.addEventListener('input', () => {
    written = true;
  });
  const offer = () => {
    const ids = idsOf(resource);
    list.replaceChildren(...ids.map(({ id, title }) => el('option', { value: id }, title)));
    if (!written) input.value = ids[0]?.id ?? '';
  };
  onIds(offer);
  offer();
  return list;
}

/**
 * @param {Parameter} parameter
 * @param {string} id
 * @returns {Field}
 */
function selection(parameter, id) {
  const values = parameter.schema.enum ?? [true, false];
  const options = ['', ...values.map(String)].map((value) => el('option', { value }, value));
  const select = el('select', { id }, ...options);
  return { parameter, node: labelled(parameter, id, select), value: () => select.value };
}

/**
 * @param {Parameter} parameter
 * @param {string} id
 * @returns {Field}
 */
function choices(parameter, id) {
  const boxes = (parameter.schema.items?.enum ?? []).map((value, index) =>
    el('input', { type: 'checkbox', id: `${id}-${index}`, value: String(value) }),
  );
  const labels = boxes.map((box) => el('label', { for: box.id, class: 'box' }, box, box.value));
  const node = el('fieldset', { class: 'field' }, el('legend', {}, parameter.name), ...labels);
  const value = () =>
    boxes
      .filter((box) => box.checked)
      .map((box) => box.value)
      .join(',');
  return { parameter, node, value };
}
