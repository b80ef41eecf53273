import type { CatalogClient, Publication } from 'catalog-client';
import { useEffect, useState } from 'react';
import { useApi } from '../../lib/api';
import { type Filters, readMatching } from './query';
import { readProducts } from './work';

/** The chosen products: those with the ids, or with `isAll` all that match except those with the ids. */
export interface Selection {
  readonly isAll: boolean;
  readonly ids: ReadonlySet<string>;
}

export const NOTHING: Selection = { isAll: false, ids: new Set() };
export const EVERYTHING: Selection = { isAll: true, ids: new Set() };

export const isSelected = ({ isAll, ids }: Selection, id: string): boolean => isAll !== ids.has(id);

export const countOf = ({ isAll, ids }: Selection, total: number): number =>
  isAll ? Math.max(0, total - ids.size) : ids.size;

export function withSelected(selection: Selection, ids: readonly string[], is_selected: boolean): Selection {
  const next = new Set(selection.ids);
  for (const id of ids) {
    if (selection.isAll === is_selected) next.delete(id);
    else next.add(id);
  }
  return { ...selection, ids: next };
}

/** What to change: a selection among the products that match. */
export interface Target {
  readonly filters: Filters;
  readonly selection: Selection;
  readonly count: number;
}

async function readTarget(
  client: CatalogClient,
  { filters, selection }: Target,
  following: { readonly signal: AbortSignal; readonly onProgress: (done: number) => void },
): Promise<Publication[]> {
  if (!selection.isAll) return readProducts(client, [...selection.ids], following);
  const products = await readMatching(client, filters, following);
  return products.filter(({ id }) => isSelected(selection, id));
}

/** Reads all products of the target, as they are now. */
export function useTarget(target: Target) {
  const { client } = useApi();
  const [products, setProducts] = useState<readonly Publication[]>();
  const [done, setDone] = useState(0);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const stopping = new AbortController();
    const { signal } = stopping;
    readTarget(client, target, { signal, onProgress: setDone }).then(
      (read) => signal.aborted || setProducts(read),
      (reason: unknown) => signal.aborted || setError(reason),
    );
    return () => stopping.abort();
  }, [client, target]);
  return { products, setProducts, done, error };
}
