/* Descriptions as HTML and as plain text. */

/** The interface's limit for the plain description. */
const LENGTH_MAX = 10_000;
const BLOCKS =
  'p, div, h1, h2, h3, h4, h5, h6, li, blockquote, pre, tr, hr, dt, dd, figure, figcaption, table, ul, ol';

/** Returns the text of a description, with a line for each block. Scripts of the HTML do not run. */
export function textOf(html: string): string {
  const { body } = new DOMParser().parseFromString(html, 'text/html');
  for (const block of body.querySelectorAll(`br, ${BLOCKS}`)) block.before('\n');
  for (const block of body.querySelectorAll(BLOCKS)) block.after('\n');
  const lines = (body.textContent ?? '').split('\n').map((line) => line.replace(/\s+/g, ' ').trim());
  const text = lines.filter((line) => line !== '').join('\n');
  return [...text].slice(0, LENGTH_MAX).join('');
}

const ENTITIES: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;' };

/** Returns a paragraph for each line of a plain text. */
export const htmlOf = (text: string): string =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => `<p>${line.replace(/[<>&]/g, (sign) => ENTITIES[sign]!)}</p>`)
    .join('');
