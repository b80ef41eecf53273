import type sanitizeHtml from 'sanitize-html';

/** Block elements and `br`, which start a new line. */
const BREAKS =
  'address article aside blockquote br dd div dl dt figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul'.split(
    ' ',
  );
const GAPS = ['td', 'th'];

/** The only entities in the output of sanitize-html, which decodes all other entities. */
const ENTITIES: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' };

/**
 * Converts HTML to plain text: decodes entities, turns block elements and `<br>` into newlines, removes other tags, and
 * removes scripts and styles with their content. Collapses white space. Returns at most `length_max` UTF-16 units.
 */
export function htmlToText(html: string, length_max = 10_000): string {
  // `reduced` contains only the allowed tags, without attributes, and escaped text. The patterns below rely on this.
  // Loaded here, so that the service starts without the package.
  const sanitise = require('sanitize-html') as typeof sanitizeHtml;
  const reduced = sanitise(html.replace(/\s+/g, ' '), {
    allowedTags: [...BREAKS, ...GAPS],
    allowedAttributes: {},
  });
  const text = reduced
    .replace(/<\/?(?:td|th)>/g, ' ')
    .replace(/<[^>]*>/g, '\n')
    .replace(/&(?:lt|gt|quot|amp);/g, (entity) => ENTITIES[entity]!)
    // White space and control characters, except newlines.
    .replace(/(?:(?!\n)[\p{Cc}\s])+/gu, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  return cut(text, length_max);
}

/** Cuts a text without splitting a surrogate pair. */
function cut(text: string, length_max: number): string {
  const short = text.slice(0, length_max);
  return /[\uD800-\uDBFF]$/.test(short) && text.length > length_max ? short.slice(0, -1) : short;
}
