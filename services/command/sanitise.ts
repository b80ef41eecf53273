import sanitizeHtml from 'sanitize-html';

/** HTML that `sanitise` returned. Safe to insert into a page. */
export type SafeHtml = string & { readonly __safe_html: unique symbol };

const BLOCKS = 'p div h1 h2 h3 h4 h5 h6 blockquote pre hr ul ol li dl dt dd figure figcaption'.split(' ');
const INLINE = 'a abbr b br code del em i img ins mark s small span strong sub sup u'.split(' ');
const TABLES = 'table caption thead tbody tfoot tr th td'.split(' ');
/** Tags that are removed with their content. Other tags that are not allowed are removed, but their text stays. */
const REMOVED_WITH_CONTENT =
  'script style textarea option select xmp iframe noscript noembed noframes title template object svg math';

const LINK = /^(https?:\/\/|mailto:)/i;
const IMAGE = /^https?:\/\//i;

/** Control characters, which an entity such as `&#1;` can add to a text or attribute. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must match control characters
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/** A text without these characters is safe as it is, and sanitising would not change it. */
const MARKUP = /[<>&]/;

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
  nonTextTags: REMOVED_WITH_CONTENT.split(' '),
  /** Removes tags that are nested deeper, because very deep nesting can break a page. */
  nestingLimit: 50,
  transformTags: { a: safeLink },
  exclusiveFilter: (frame) => frame.tag === 'img' && !IMAGE.test(frame.attribs.src ?? ''),
};

/** Wrongly nested tags can change in every round. In practice, two or three rounds reach a stable result. */
const ROUNDS_MAX = 5;

/**
 * Returns the safe subset of a description's HTML (docs/interface.md#descriptions): formatting, lists, tables, http(s)
 * and mailto links with `rel="noopener nofollow"`, http(s) images. Removes scripts, styles, event handlers and frames.
 * Idempotent, so that a client can write back what it has read.
 */
export function sanitise(html: string): SafeHtml {
  let safe = html;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const next = sanitiseOnce(safe);
    if (next === safe) break;
    safe = next;
  }
  return safe as SafeHtml;
}

function sanitiseOnce(html: string): string {
  const safe = MARKUP.test(html) ? sanitizeHtml(html, OPTIONS) : html;
  return safe.replace(CONTROLS, '').trim();
}

/** Adds `rel` to a link. Replaces a link with another scheme by its text. */
function safeLink(_tag: string, attributes: sanitizeHtml.Attributes): sanitizeHtml.Tag {
  const href = (attributes.href ?? '').replace(CONTROLS, '').trim();
  if (!LINK.test(href)) return { tagName: 'span', attribs: {} };
  return { tagName: 'a', attribs: { ...attributes, href, rel: 'noopener nofollow' } };
}
