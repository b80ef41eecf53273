import type { VersionInfo } from '../../shared/ports/view-store';

/** Of the documents that this code makes. Raise it with every change of what a fold gives: they are made anew then. */
export const VIEW_SCHEMA = 4;

/** Of the scratch versions that `verify` folds into: never read, never fed, dropped when it ends. */
export const SCRATCH_SCHEMA = 0;

/** Whether events can be folded on into the version's documents. Others stay as they are, and are read, until rebuilt. */
export function isCurrent({ schema, keys_differ }: Pick<VersionInfo, 'schema' | 'keys_differ'>): boolean {
  return schema === VIEW_SCHEMA && !keys_differ;
}

/**
 * The versions that new events go to, the active one last: a reader that changes over to a version just activated
 * never finds it behind.
 */
export function fedVersions(versions: readonly VersionInfo[]): VersionInfo[] {
  const fed = versions.filter((info) => info.status !== 'building' && isCurrent(info));
  return fed.sort((a, b) => Number(a.status === 'active') - Number(b.status === 'active'));
}
