import { BASE } from './document.mjs';
import { el } from './element.mjs';

/** More than a page of products would only be slow. */
const PICTURES_MAX = 24;

/** @typedef {{ url: string, alt: string }} Picture */

/**
 * Pictures that an answer speaks of: those of media records, the smallest variant of each.
 * @param {unknown} value
 * @returns {Picture[]}
 */
export function picturesIn(value) {
  if (Array.isArray(value)) return value.flatMap(picturesIn);
  if (typeof value !== 'object' || value === null) return [];
  const record = /** @type {Record<string, unknown>} */ (value);
  if (record.object === 'media') return mediaPicture(record);
  return Object.values(record).flatMap(picturesIn);
}

/**
 * @param {Record<string, unknown>} media
 * @returns {Picture[]}
 */
function mediaPicture(media) {
  const [smallest] = /** @type {{ url?: unknown }[]} */ (Array.isArray(media.variants) ? media.variants : []);
  const url = smallest?.url ?? media.url;
  return typeof url === 'string'
    ? [{ url, alt: typeof media.alt === 'string' ? media.alt : 'A picture' }]
    : [];
}

/** @param {unknown} answer */
export function gallery(answer) {
  const pictures = picturesIn(answer).slice(0, PICTURES_MAX);
  if (pictures.length === 0) return undefined;
  const images = pictures.map(({ url, alt }) => {
    const src = new URL(url.replace(/^\//, ''), BASE).href;
    return el('img', { src, alt, loading: 'lazy' });
  });
  return el('div', { class: 'pictures' }, ...images);
}

/**
 * A picture that an answer is. As a data address: the page may show nothing else that is not the service's.
 * @param {Blob} bytes
 * @returns {Promise<HTMLImageElement>}
 */
export async function picture(bytes) {
  const reader = new FileReader();
  const read = new Promise((resolve, reject) => {
    reader.onload = resolve;
    reader.onerror = () => reject(reader.error);
  });
  reader.readAsDataURL(bytes);
  await read;
  return el('img', { src: String(reader.result), alt: 'The answer', class: 'picture' });
}
