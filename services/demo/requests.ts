import type { Demo } from './files';

export interface DemoPlaces {
  readonly listing_id: string;
  readonly publication_id: string;
}

/** Four requests to paste into a shell, at `base_url` (no slash at its end). Needs curl and sed. */
export function demoRequests(demo: Demo, places: DemoPlaces, base_url: string): string {
  const tokenOf = (key: string): string =>
    `$(curl -s -X POST ${base_url}/auth/token -H 'X-API-Key: ${key}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`;
  const bearer = `-H "Authorization: Bearer $TOKEN"`;
  return [
    '# 1. An API key for a token of 15 minutes',
    `TOKEN=${tokenOf(demo.public_key)}`,
    '',
    '# 2. A listing, featured publications first',
    `curl -s '${base_url}/api/listing/${places.listing_id}/publications?limit=5' ${bearer}`,
    '',
    '# 3. A publication with its listing',
    `curl -s '${base_url}/api/publication/${places.publication_id}?expand=listing,media' ${bearer}`,
    '',
    '# 4. A write, with the secret key',
    `curl -s -X PATCH ${base_url}/api/publication/${places.publication_id} \\`,
    `  -H "Authorization: Bearer ${tokenOf(demo.secret_key)}" \\`,
    `  -H 'Content-Type: application/json' -d '{"price_amount":4500,"quantity_available":30}'`,
    '',
  ].join('\n');
}
