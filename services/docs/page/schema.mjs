import { api, nameOf } from './document.mjs';
import { el, prose, table } from './element.mjs';

/** @typedef {import('./document.mjs').Schema} Schema */

/**
 * What a value may be, in few words; a schema with a name is a link to it.
 * @param {Schema} schema
 * @returns {(Node | string)[]}
 */
export function typeOf(schema) {
  if (schema.$ref !== undefined) {
    const name = nameOf(schema.$ref);
    return [el('a', { href: `#schema-${name}` }, name)];
  }
  if (schema.const !== undefined) return [el('code', {}, JSON.stringify(schema.const))];
  if (schema.enum !== undefined)
    return separated(
      schema.enum.map((value) => [el('code', {}, String(value))]),
      ' · ',
    );
  const either = schema.anyOf ?? schema.allOf;
  if (either !== undefined) return separated(either.map(typeOf), schema.anyOf ? ' or ' : ' and ');
  if (schema.items !== undefined) return ['array of ', ...typeOf(schema.items), ...limits(schema)];
  const type = [schema.type ?? 'anything'].flat().join(' or ');
  return [schema.format === undefined ? type : `${type} (${schema.format})`, ...limits(schema)];
}

/**
 * @param {readonly (readonly (Node | string)[])[]} parts
 * @param {string} between
 */
function separated(parts, between) {
  return parts.flatMap((part, index) => (index === 0 ? [...part] : [between, ...part]));
}

/** @param {Schema} schema */
function limits(schema) {
  const { minimum, maximum, minLength, maxLength, maxItems } = schema;
  const told = [
    minimum === undefined ? undefined : `from ${number(minimum)}`,
    maximum === undefined ? undefined : `up to ${number(maximum)}`,
    lengths(minLength, maxLength),
    maxItems === undefined ? undefined : `at most ${number(maxItems)} items`,
  ].filter((part) => part !== undefined);
  return told.length === 0 ? [] : [`, ${told.join(', ')}`];
}

/**
 * @param {number | undefined} min
 * @param {number | undefined} max
 */
function lengths(min = 0, max = undefined) {
  if (max !== undefined)
    return min === 0 ? `up to ${number(max)} characters` : `${min} to ${number(max)} characters`;
  return min > 1 ? `at least ${number(min)} characters` : min === 1 ? 'not empty' : undefined;
}

/** @param {number} value */
const number = (value) => value.toLocaleString('en');

/**
 * The fields of an object, with those of objects within it below them.
 * @param {Schema} schema
 * @param {string} [prefix]
 * @returns {(Node | string | (Node | string)[])[][]}
 */
function fieldRows(schema, prefix = '') {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, field]) => {
    const whole = `${prefix}${name}`;
    const mark = required.includes(name) ? el('span', { class: 'required' }, 'required') : '';
    const row = [[el('code', {}, whole), ' ', mark], typeOf(field), prose(field.description ?? '')];
    return [row, ...fieldRows(field, `${whole}.`)];
  });
}

/** @param {Schema} schema */
export function fieldsOf(schema) {
  const rows = fieldRows(schema);
  return rows.length === 0 ? el('p', {}, ...typeOf(schema)) : table(['Field', 'Type', ''], rows);
}

/** Every schema with a name, closed until it is asked for. */
export function schemaSection() {
  const items = Object.entries(/** @type {Record<string, Schema>} */ (api.components.schemas)).map(
    ([name, schema]) => {
      const details = el('details', { id: `schema-${name}`, class: 'schema' }, el('summary', {}, name));
      details.addEventListener('toggle', () => details.append(fieldsOf(schema)), { once: true });
      return details;
    },
  );
  return el('section', { 'aria-labelledby': 'schemas' }, el('h2', { id: 'schemas' }, 'Schemas'), ...items);
}
