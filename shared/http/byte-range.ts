import type { ByteRange } from '../ports/blob-store';

/**
 * The one range that a `Range` header asks for (RFC 9110 §14.1.2), within `size_bytes`. Undefined where the whole is to be sent:
 * no header, several ranges, or one that cannot be read; `unsatisfiable` where none of it is there.
 */
export function rangeOf(
  header: string | undefined,
  size_bytes: number,
): ByteRange | 'unsatisfiable' | undefined {
  const parts = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header ?? '');
  if (!parts || (parts[1] === '' && parts[2] === '')) return undefined;
  const end = size_bytes - 1;
  if (parts[1] === '') {
    const length = Number(parts[2]);
    return length === 0 ? 'unsatisfiable' : { first: Math.max(0, size_bytes - length), last: end };
  }
  const first = Number(parts[1]);
  const last = parts[2] === '' ? end : Number(parts[2]);
  if (first > end) return 'unsatisfiable';
  return last < first ? undefined : { first, last: Math.min(last, end) };
}
