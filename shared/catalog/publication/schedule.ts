import type { Publication, PublicationChanges } from './publication';

/** When a publication becomes public and when private. If both are set, `publish_at` is before `unpublish_at`. */
type Schedule = Pick<Publication, 'publish_at' | 'unpublish_at'>;

/** Returns when the visibility changes next, in Unix milliseconds. Null if no time is set. */
export function dueAt({ publish_at, unpublish_at }: Schedule): number | null {
  const next = publish_at ?? unpublish_at;
  return next === null ? null : Date.parse(next);
}

/** Returns the visibility of the last time that has passed, without the times that have passed. */
export function dueChanges(
  { publish_at, unpublish_at }: Schedule,
  now: string,
): Pick<PublicationChanges, 'visibility' | keyof Schedule> {
  const hasPassed = (time: string | null): boolean => time !== null && time <= now;
  if (hasPassed(unpublish_at)) return { visibility: 'private', publish_at: null, unpublish_at: null };
  return hasPassed(publish_at) ? { visibility: 'public', publish_at: null } : {};
}
