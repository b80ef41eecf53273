import sanitizeHtml from 'sanitize-html';
import { shortenText } from '../../shared/kernel/text';

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
const WITHOUT_SCHEME = /^\/\/[^/\\]/;

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
  transformTags: { a: safeLink, img: safeImage },
  exclusiveFilter: (frame) => frame.tag === 'img' && !IMAGE.test(frame.attribs.src ?? ''),
};

/** Wrongly nested tags can change in every round. In practice, two or three rounds reach a stable result. */
const ROUNDS_MAX = 5;

/**
 * Returns the safe subset of a description's HTML (docs/interface/publications.md#descriptions): formatting, lists, tables, http(s)
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

/** Returns the address. One that begins with `//`, which means the scheme of the page, gets https. */
function addressOf(value = ''): string {
  const address = value.replace(CONTROLS, '').trim();
  return WITHOUT_SCHEME.test(address) ? `https:${address}` : address;
}

/** Adds `rel` to a link. Replaces a link with another scheme by its text. */
function safeLink(_tag: string, attributes: sanitizeHtml.Attributes): sanitizeHtml.Tag {
  const href = addressOf(attributes.href);
  if (!LINK.test(href)) return { tagName: 'span', attribs: {} };
  return { tagName: 'a', attribs: { ...attributes, href, rel: 'noopener nofollow' } };
}

function safeImage(_tag: string, attributes: sanitizeHtml.Attributes): sanitizeHtml.Tag {
  return { tagName: 'img', attribs: { ...attributes, src: addressOf(attributes.src) } };
}

/** The attributes with an address, and which addresses are kept. */
const ADDRESSES: Readonly<Record<string, { attribute: string; what: string; kept: RegExp }>> = {
  a: { attribute: 'href', what: 'link', kept: LINK },
  img: { attribute: 'src', what: 'image', kept: IMAGE },
};

/** Returns what `sanitise` removes from HTML, each once: elements, links, images and attributes. */
export function removedFrom(html: string): string[] {
  const removed = new Set<string>();
  const allowed_tags = new Set(OPTIONS.allowedTags || []);
  const allowed = OPTIONS.allowedAttributes as Readonly<Record<string, readonly string[]>>;
  const note = (tag: string, attributes: sanitizeHtml.Attributes): sanitizeHtml.Tag => {
    const { attribute, what, kept } = ADDRESSES[tag] ?? {};
    const kept_attributes = [...allowed['*']!, ...(allowed[tag] ?? [])];
    if (!allowed_tags.has(tag)) removed.add(`<${tag}>`);
    else
      for (const [name, value] of Object.entries(attributes)) {
        const address = name === attribute ? addressOf(value) : undefined;
        if (address !== undefined && !kept!.test(address))
          removed.add(`${what} "${shortenText(address, 40)}"`);
        if (!kept_attributes.includes(name)) removed.add(`attribute ${shortenText(name, 40)}`);
      }
    return { tagName: tag, attribs: attributes };
  };
  if (MARKUP.test(html)) sanitizeHtml(html, { ...OPTIONS, transformTags: { '*': note } });
  return [...removed];
}
