import { gunzipSync, gzipSync } from 'node:zlib';
import type { RenderedAnswer } from '../ports/idempotency-store';

/** Longer bodies are compressed. A shorter one would hardly become smaller. In bytes. */
const COMPRESSED_BYTES_MIN = 1_024;

/** Each further 4 kB of a stored answer count as one more record of its API key, so that the quota limits bytes. */
export const BYTES_PER_RECORD = 4_096;

/** An answer as text. `gzip` is the body in base64 if it is compressed. */
type StoredAnswer = Omit<RenderedAnswer, 'body'> & ({ readonly body: string } | { readonly gzip: string });

/** Returns the text to store for an answer. */
export function encodeAnswer({ status, headers, body }: RenderedAnswer): string {
  const is_short = Buffer.byteLength(body) <= COMPRESSED_BYTES_MIN;
  const stored = is_short ? { body } : { gzip: gzipSync(body).toString('base64') };
  return JSON.stringify({ status, headers, ...stored } satisfies StoredAnswer);
}

/** Returns the answer of a stored text. */
export function decodeAnswer(text: string): RenderedAnswer {
  const { status, headers, ...stored } = JSON.parse(text) as StoredAnswer;
  const body = 'body' in stored ? stored.body : gunzipSync(Buffer.from(stored.gzip, 'base64')).toString();
  return { status, headers, body };
}
