import sanitizeHtml from 'sanitize-html';

/** Elements that stand on lines of their own; every other tag is only a gap between words where it needs one. */
const BLOCKS = [
  ...['address', 'article', 'aside', 'blockquote', 'dd', 'div', 'dl', 'dt', 'figure', 'footer', 'form'],
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'header', 'hr', 'li', 'main', 'nav', 'ol', 'p', 'pre', 'section'],
  ...['table', 'tr', 'ul'],
];
const BREAKS = [...BLOCKS, 'br'];
const GAPS = ['td', 'th'];

/** The entities that sanitize-html leaves in text; all others it has decoded. */
const ENTITIES: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' };

/**
 * The words of an HTML text: entities decoded, blocks and `<br>` to newlines, other tags gone, scripts and styles gone
 * with what is in them, runs of white space to one space. At most `length_max` UTF-16 units.
 */
export function htmlToText(html: string, length_max = 10_000): string {
  // What comes out has only bare tags of the list and escaped text, so that the patterns below are safe.
  const bare = sanitizeHtml(html.replace(/\s+/g, ' '), {
    allowedTags: [...BREAKS, ...GAPS],
    allowedAttributes: {},
  });
  const text = bare
    .replace(/<\/?(?:td|th)>/g, ' ')
    .replace(/<[^>]*>/g, '\n')
    .replace(/&(?:lt|gt|quot|amp);/g, (entity) => ENTITIES[entity]!)
    .replace(/(?:(?!\n)[\p{Cc}\s])+/gu, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  return cut(text, length_max);
}

/** Never through the middle of a character that takes two units. */
function cut(text: string, length_max: number): string {
  const short = text.slice(0, length_max);
  return /[\uD800-\uDBFF]$/.test(short) && text.length > length_max ? short.slice(0, -1) : short;
}
