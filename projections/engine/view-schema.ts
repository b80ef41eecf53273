import type { VersionInfo } from '../../shared/ports/view-store';

/** Of the documents that this code makes. Raise it with every change of what a fold gives: they are made anew then. */
export const VIEW_SCHEMA = 4;

/** Of the scratch versions that `verify` folds into: never read, never fed, dropped when it ends. */
export const SCRATCH_SCHEMA = 0;

/**
 * The versions that new events go to, the active one last: a reader that changes over to a version just activated
 * never finds it behind. Documents of another schema cannot be folded on; they stay as they are until rebuilt.
 */
export function fedVersions(versions: readonly VersionInfo[]): VersionInfo[] {
  const fed = versions.filter(({ status, schema }) => status !== 'building' && schema === VIEW_SCHEMA);
  return fed.sort((a, b) => Number(a.status === 'active') - Number(b.status === 'active'));
}
