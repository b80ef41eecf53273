import sanitizeHtml from 'sanitize-html';

/** HTML that went through `sanitise`: may be put into a page as it is. */
export type SafeHtml = string & { readonly __safe_html: unique symbol };

const BLOCKS = 'p div h1 h2 h3 h4 h5 h6 blockquote pre hr ul ol li dl dt dd figure figcaption'.split(' ');
const INLINE = 'a abbr b br code del em i img ins mark s small span strong sub sup u'.split(' ');
const TABLES = 'table caption thead tbody tfoot tr th td'.split(' ');
/** Dropped with all that is in them; of other tags only the tag goes and the text stays. */
const DROPPED_WHOLE =
  'script style textarea option select xmp iframe noscript noembed noframes title template object svg math';

const LINK = /^(https?:\/\/|mailto:)/i;
const IMAGE = /^https?:\/\//i;

/** What the text of a tag or attribute may smuggle in as an entity (`&#1;`). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is for
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

const OPTIONS: sanitizeHtml.IOptions = {
  allowedTags: [...BLOCKS, ...INLINE, ...TABLES],
  allowedAttributes: {
    '*': ['lang', 'dir'],
    a: ['href', 'title', 'rel'],
    abbr: ['title'],
    img: ['src', 'alt', 'title', 'width', 'height'],
    ol: ['start'],
    th: ['colspan', 'rowspan', 'scope'],
    td: ['colspan', 'rowspan'],
  },
  allowedSchemes: ['http', 'https', 'mailto'],
  allowedSchemesByTag: { img: ['http', 'https'] },
  allowProtocolRelative: false,
  nonTextTags: DROPPED_WHOLE.split(' '),
  /** Deeper tags lose their tag: no page needs them, and no page breaks on them. */
  nestingLimit: 50,
  transformTags: { a: safeLink },
  exclusiveFilter: (frame) => frame.tag === 'img' && !IMAGE.test(frame.attribs.src ?? ''),
};

/** Badly nested tags come out nested otherwise, which takes a second look; more than a few are never needed. */
const ROUNDS_MAX = 5;

/**
 * The safe subset of a description's HTML (decisions §6): formatting, lists, tables, http(s) and mailto links that
 * pass on nothing, http(s) images; no scripts, styles, handlers, frames. What came out goes in again unchanged, so
 * that a client may send back what it read.
 */
export function sanitise(html: string): SafeHtml {
  let safe = sanitiseOnce(html);
  for (let round = 1; round < ROUNDS_MAX; round++) {
    const again = sanitiseOnce(safe);
    if (again === safe) break;
    safe = again;
  }
  return safe as SafeHtml;
}

function sanitiseOnce(html: string): string {
  return sanitizeHtml(html, OPTIONS).replace(CONTROLS, '').trim();
}

/** A link that leads nowhere allowed becomes plain text. */
function safeLink(_tag: string, attributes: sanitizeHtml.Attributes): sanitizeHtml.Tag {
  const href = (attributes.href ?? '').replace(CONTROLS, '').trim();
  if (!LINK.test(href)) return { tagName: 'span', attribs: {} };
  return { tagName: 'a', attribs: { ...attributes, href, rel: 'noopener nofollow' } };
}
