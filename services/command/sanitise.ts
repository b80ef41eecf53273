import type sanitizeHtml from 'sanitize-html';
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
  exclusiveFilter: (frame) => frame.tag === 'img' && !IMAGE.test(frame.attribs.src ?? ''),
};

/** Loads the package at its first use: its 70 modules would take a twentieth of the time to start. */
const loadSanitizer = () => require('sanitize-html') as typeof sanitizeHtml;

/** Wrongly nested tags can change in every round. In practice, two or three rounds reach a stable result. */
const ROUNDS_MAX = 5;

/** The text that was sanitised last, and what was removed from it. */
let last: { readonly html: string; readonly removed: ReadonlySet<string> } | undefined;

/**
 * Returns the safe subset of a description's HTML (docs/interface/publications.md#descriptions): formatting, lists, tables, http(s)
 * and mailto links with `rel="noopener nofollow"`, http(s) images. Removes scripts, styles, event handlers and frames.
 * Idempotent, so that a client can write back what it has read.
 */
export function sanitise(html: string): SafeHtml {
  const removed = new Set<string>();
  let safe = sanitiseOnce(html, removed);
  for (let round = 1; round < ROUNDS_MAX; round++) {
    const next = sanitiseOnce(safe, new Set());
    if (next === safe) break;
    safe = next;
  }
  last = { html, removed };
  return safe as SafeHtml;
}

/**
 * Returns what `sanitise` removes from HTML, each once: elements, links, images and attributes. Costs nothing for the text
 * that was sanitised last.
 */
export function removedFrom(html: string): string[] {
  if (last?.html !== html) sanitise(html);
  return [...last!.removed];
}

/** Sanitises HTML once, and adds what it removes to `removed`. */
function sanitiseOnce(html: string, removed: Set<string>): string {
  const transform = (tag: string, attributes: sanitizeHtml.Attributes) => safeTag(tag, attributes, removed);
  const safe = MARKUP.test(html)
    ? loadSanitizer()(html, { ...OPTIONS, transformTags: { '*': transform } })
    : html;
  return safe.replace(CONTROLS, '').trim();
}

/** Returns the address. One that begins with `//`, which means the scheme of the page, gets https. */
function addressOf(value = ''): string {
  const address = value.replace(CONTROLS, '').trim();
  return WITHOUT_SCHEME.test(address) ? `https:${address}` : address;
}

const ALLOWED_TAGS = new Set(OPTIONS.allowedTags || []);
const ALLOWED_ATTRIBUTES = OPTIONS.allowedAttributes as Readonly<Record<string, readonly string[]>>;
/** The attributes with an address, and which addresses are kept. */
const ADDRESSES: Readonly<Record<string, { attribute: string; what: string; kept: RegExp }>> = {
  a: { attribute: 'href', what: 'link', kept: LINK },
  img: { attribute: 'src', what: 'image', kept: IMAGE },
};

/**
 * Returns the tag with a complete address. Adds `rel` to a link, and replaces a link with another scheme by its text. Adds
 * what is not kept of the tag to `removed`.
 */
function safeTag(tag: string, attributes: sanitizeHtml.Attributes, removed: Set<string>): sanitizeHtml.Tag {
  if (!ALLOWED_TAGS.has(tag)) removed.add(`<${tag}>`);
  else
    for (const name of Object.keys(attributes))
      if (!ALLOWED_ATTRIBUTES['*']!.includes(name) && !ALLOWED_ATTRIBUTES[tag]?.includes(name))
        removed.add(`attribute ${shortenText(name, 40)}`);
  const { attribute, what, kept } = ADDRESSES[tag] ?? {};
  if (attribute === undefined) return { tagName: tag, attribs: attributes };
  const address = addressOf(attributes[attribute]);
  const is_kept = kept!.test(address);
  if (!is_kept && attributes[attribute] !== undefined) removed.add(`${what} "${shortenText(address, 40)}"`);
  if (tag === 'img') return { tagName: tag, attribs: { ...attributes, src: address } };
  if (!is_kept) return { tagName: 'span', attribs: {} };
  return { tagName: tag, attribs: { ...attributes, href: address, rel: 'noopener nofollow' } };
}
