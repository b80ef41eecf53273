import { hash } from 'node:crypto';

/** What is kept of a key, and what it is found by: SHA-256 of the whole, hex. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex');
}
