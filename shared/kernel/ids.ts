import { hash } from 'node:crypto';

/** Ids are UUIDv7 strings in lower case (docs/interface/requests.md#ids-and-timestamps). Each kind of id has a type of its own. */
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
export type NameId = Branded<'name'>;
export type WebhookId = Branded<'webhook'>;
export type ProposalId = Branded<'proposal'>;
export type ListPriceId = Branded<'list_price'>;
export type AnyId = Branded<string>;

/** Returns `size` random bytes. Passed as an argument, so that tests can replay a run from a seed. */
export type RandomBytes = (size: number) => Uint8Array;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Returns whether the text has the form of a UUID, in upper or lower case. */
export function isUuid(text: string): boolean {
  return UUID.test(text.toLowerCase());
}

/** Returns the id in lower case, or undefined if the text is not a UUID. */
export function parseId<Id extends AnyId>(text: string): Id | undefined {
  return isUuid(text) ? (text.toLowerCase() as Id) : undefined;
}

/** Returns a new UUIDv7 (RFC 9562 §5.7): 48 bits of Unix milliseconds, then random bits. */
export function generateId<Id extends AnyId>(now_ms: number, random: RandomBytes): Id {
  return uuidFrom(now_ms, random(10)) as Id;
}

/**
 * Returns the same UUIDv7 for the same arguments, so that a second run of an import creates nothing new. `ms` should be a
 * time that never changes, such as the creation time of the store.
 */
export function deriveId<Id extends AnyId>(ms: number, ...names: string[]): Id {
  // With a separator, the names `ab`, `c` and `a`, `bc` give different ids.
  return uuidFrom(ms, hash('sha256', names.join('\u0000'), 'buffer')) as Id;
}

/** Returns the time of a UUIDv7, in Unix milliseconds. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** The two hexadecimal digits of each byte. */
const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Returns the UUIDv7 of a time and the first 10 of `tail_bytes`. */
function uuidFrom(ms: number, tail_bytes: Uint8Array): string {
  const time = ms.toString(16).padStart(12, '0');
  const digits = (at: number): string => HEX[tail_bytes[at]!]!;
  // The version (7) and the variant of RFC 9562.
  const version = HEX[(tail_bytes[0]! & 0x0f) | 0x70];
  const variant = HEX[(tail_bytes[2]! & 0x3f) | 0x80];
  const end = digits(4) + digits(5) + digits(6) + digits(7) + digits(8) + digits(9);
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}${digits(1)}-${variant}${digits(3)}-${end}`;
}
