// The browser's side of /docs. Everything is put into the page as text: nothing that was read, and nothing that
// somebody else wrote, is ever taken for HTML (the page's Content-Security-Policy would refuse it, too).

/** @typedef {Node | string | undefined} Child */

/**
 * An element with attributes and children; `false` and undefined leave an attribute out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | boolean | undefined>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/**
 * A text with what stands between backticks as code.
 * @param {string} text
 * @returns {Node[]}
 */
export function prose(text) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? el('code', {}, part) : new Text(part)));
}

/**
 * @param {unknown} value
 * @param {string} label
 */
export function json(value, label) {
  return el('pre', { tabindex: '0', 'aria-label': label }, JSON.stringify(value, null, 2));
}

/**
 * On a narrow screen each row of it becomes lines, the last cell on one of its own; the roles say that it is a table
 * still.
 * @param {readonly string[]} heads
 * @param {readonly (readonly (Child | Child[])[])[]} rows
 */
export function table(heads, rows) {
  const head = el('tr', {}, ...heads.map((name) => el('th', { scope: 'col' }, name)));
  const body = rows.map((cells) => {
    const inside = cells.map((cell) => el('td', { role: 'cell' }, ...[cell].flat()));
    return el('tr', { role: 'row' }, ...inside);
  });
  const whole = el('table', { role: 'table' }, el('thead', {}, head), el('tbody', {}, ...body));
  return el('div', { class: 'wide stacked' }, whole);
}
