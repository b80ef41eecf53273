import { useQueryClient } from '@tanstack/react-query';
import { CatalogApiError } from 'catalog-client';
import { useEffect } from 'react';
import { useApi } from './api';

const PAUSE_AFTER_ERROR_MS = 10_000;
/** While many things change, reads are repeated once in this time. */
const PAUSE_MS = 1_000;

/**
 * Follows the changes of the store while the page is visible, and marks what they concern as outdated. The first part of a
 * query's key names its resource: `['publications', …]`, `['listings', …]`, `['media', …]`, `['reviews', …]`, `['store']`.
 * Queries of changes begin with `['changes', …]`.
 */
export function useLiveChanges(): void {
  const { client } = useApi();
  const queries = useQueryClient();
  useEffect(() => {
    let stopped = new AbortController();
    const outdated = new Set<string>();
    let is_busy = false;
    const invalidate = async () => {
      if (is_busy) return;
      is_busy = true;
      while (outdated.size > 0) {
        const kinds = [...outdated, 'changes'];
        outdated.clear();
        await Promise.all(kinds.map((kind) => queries.invalidateQueries({ queryKey: [kind] })));
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
      is_busy = false;
    };
    const follow = async ({ signal }: AbortController): Promise<void> => {
      while (!signal.aborted) {
        try {
          for await (const { resource } of client.store.changes({ after: 'now' }, { signal })) {
            outdated.add(RESOURCES[resource]);
            void invalidate();
          }
        } catch (error) {
          // A key that may not read the changes never may.
          if (signal.aborted || (error instanceof CatalogApiError && error.status === 403)) return;
          await new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_ERROR_MS));
          // What has changed meanwhile is not known.
          void queries.invalidateQueries();
        }
      }
    };
    const onVisibility = () => {
      stopped.abort();
      if (document.hidden) return;
      stopped = new AbortController();
      void follow(stopped);
    };
    onVisibility();
    document.addEventListener('visibilitychange', onVisibility);
    return () => {
      stopped.abort();
      document.removeEventListener('visibilitychange', onVisibility);
    };
  }, [client, queries]);
}

const RESOURCES = {
  store: 'store',
  listing: 'listings',
  publication: 'publications',
  variant: 'publications',
  media: 'media',
  review: 'reviews',
} as const;
