import { hash } from 'node:crypto';
import { CatalogError } from '../kernel/errors';

/** 96 bits: enough that no two answers of one address share a tag by chance. */
const HASH_LENGTH = 16;

/** `"<version>-<hash of body>"` of a resource, `"<hash>"` of a list. */
export function etagOf(version: number | undefined, body: string): string {
  const tag = hash('sha256', body, 'base64url').slice(0, HASH_LENGTH);
  return version === undefined ? `"${tag}"` : `"${version}-${tag}"`;
}

/** Whether `If-None-Match` names this very answer: compared whole and weakly (RFC 9110 §13.1.2). */
export function matchesNone(header: string | undefined, etag: string): boolean {
  return header !== undefined && tagsOf(header).some((tag) => tag === '*' || tag === etag);
}

/**
 * `If-Match` of a write, compared by the version alone, since the rest of a tag also changes with what is counted.
 * Passes where the header is missing, `*`, or names the version; else throws `precondition_failed`.
 */
export function assertIfMatch(header: string | undefined, version: number): void {
  if (header === undefined) return;
  if (header.trim() === '*') return;
  const versions = tagsOf(header).map((tag) => /^"(\d+)-[^"]*"$/.exec(tag)?.[1]);
  if (!versions.includes(String(version))) throw new CatalogError('precondition_failed');
}

/** The entity tags of a header's list, without their weakness marks. */
function tagsOf(header: string): string[] {
  return header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
}
