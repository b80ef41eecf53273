/**
 * Makes the addresses of all media in a parsed response absolute: `url` of the media and of their variants. The service
 * sends a path, such as `/media/live/….webp`, unless pictures have a server of their own. Changes `value` in place.
 *
 * @param base_url The address that such a path is appended to, without a slash at its end.
 */
export function makeMediaAbsolute(value: unknown, base_url: string): void {
  if (typeof value !== 'object' || value === null) return;
  if ('object' in value && value.object === 'media') {
    makeUrlAbsolute(value as { url?: unknown }, base_url);
    if ('variants' in value && Array.isArray(value.variants))
      for (const variant of value.variants) makeUrlAbsolute(variant, base_url);
    return;
  }
  for (const inner of Object.values(value)) makeMediaAbsolute(inner, base_url);
}

function makeUrlAbsolute(resource: { url?: unknown }, base_url: string): void {
  // A second slash would make it an address of another host.
  if (typeof resource.url === 'string' && /^\/(?!\/)/.test(resource.url))
    resource.url = base_url + resource.url;
}
