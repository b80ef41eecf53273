import { hash } from 'node:crypto';
import { isUuid } from './uuid';

/** Ids are UUIDv7 strings in lower case (decisions §1); each kind is a type of its own. */
declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type AccountId = Branded<'account'>;
export type ApiKeyId = Branded<'api_key'>;
export type StoreId = Branded<'store'>;
export type ListingId = Branded<'listing'>;
export type PublicationId = Branded<'publication'>;
export type MediaId = Branded<'media'>;
export type ReviewId = Branded<'review'>;
export type PaymentMethodId = Branded<'payment_method'>;
export type AnyId =
  | AccountId
  | ApiKeyId
  | StoreId
  | ListingId
  | PublicationId
  | MediaId
  | ReviewId
  | PaymentMethodId;

/** Random bytes in, so that a seed replays a run. */
export type RandomBytes = (size: number) => Uint8Array;

/** The id in lower case, or undefined where the text is no UUID (→ `invalid_uuid`). */
export function parseId<Id extends AnyId>(text: string): Id | undefined {
  return isUuid(text) ? (text.toLowerCase() as Id) : undefined;
}

/** A UUIDv7 (RFC 9562 §5.7): 48 bits of Unix milliseconds, then random bits. */
export function generateId<Id extends AnyId>(now_ms: number, random: RandomBytes): Id {
  return uuidFrom(now_ms, random(10)) as Id;
}

/**
 * The same names give the same id, so that an import run twice writes no doubles.
 * UUIDv7 in form: `ms` should be a stable time, such as the store's creation.
 */
export function deriveId<Id extends AnyId>(ms: number, ...names: string[]): Id {
  return uuidFrom(ms, hash('sha256', names.join('\u0000'), 'buffer')) as Id;
}

function uuidFrom(ms: number, bits: Uint8Array): string {
  const bytes = new Uint8Array(16);
  for (let i = 0, rest = ms; i < 6; i++, rest = Math.floor(rest / 256)) bytes[5 - i] = rest % 256;
  bytes.set(bits.subarray(0, 10), 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Buffer.from(bytes).toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
