import { useQueryClient } from '@tanstack/react-query';
import type { Listing, MediaCollection } from 'catalog-client';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useApi } from '../../lib/api';
import { isSame, useDraft } from '../../lib/draft';
import { fieldErrorsOf } from '../../lib/errors';
import { useTextLanguage } from '../../lib/languages';
import { useTexts } from '../../texts/texts';
import { say, sayError, sayFailed } from '../../ui/feedback';
import { type Fields, fieldsOf, patchOf } from './fields';

export type SavedListing = Listing & { readonly media: MediaCollection };
export type Editor = ReturnType<typeof useEditor>;

/** The state of the editor of a listing, undefined for a new one, and what saves it. */
export function useEditor(listing: SavedListing | undefined, parent_id: string | null) {
  const t = useTexts();
  const { client } = useApi();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [is_pending, setPending] = useState(false);
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({});
  const [language, setLanguage] = useTextLanguage();
  const saved = fieldsOf(listing, parent_id);
  const draft = useDraft<Fields>(`listing/${listing?.id ?? 'new'}`, saved);
  const { values, changed } = draft;

  async function create(): Promise<void> {
    const { id } = await client.listings.create({ ...patchOf(values, values), name: values.name });
    draft.discard();
    void queries.invalidateQueries({ queryKey: ['listings'] });
    say(t.common.saved);
    navigate(`/listings/${id}`, { replace: true });
  }

  async function update({ id }: Listing): Promise<void> {
    const now = await client.listings.get(id, { visibility: 'all', expand: ['media'] });
    queries.setQueryData(['listings', id], now);
    const before = fieldsOf(now, null);
    const names = Object.keys(changed) as (keyof Fields)[];
    // Somebody else's save of the same field is shown before it is overwritten.
    if (names.some((name) => !isSame(before[name], saved[name]))) return sayFailed(t.errors.changedMeanwhile);
    const write = async (fields: Partial<Fields>, all: Fields, ifMatch?: Listing) => {
      await client.listings.update(id, patchOf(fields, all), { ...(ifMatch && { ifMatch }) });
      await queries.invalidateQueries({ queryKey: ['listings'] });
    };
    await write(changed, { ...before, ...changed }, now);
    draft.settle(changed, values);
    const former = Object.fromEntries(names.map((name) => [name, before[name]])) as Partial<Fields>;
    say(t.common.saved, () => write(former, before));
  }

  async function save(): Promise<void> {
    setFaults({});
    setPending(true);
    try {
      await (listing ? update(listing) : create());
    } catch (error) {
      const refused = fieldErrorsOf(error, t);
      setFaults(refused);
      if (Object.keys(refused).length === 0) sayError(error, t);
    }
    setPending(false);
  }

  const discard = () => {
    setFaults({});
    say(t.product.discarded, draft.discard());
  };

  return { ...draft, faults, language, setLanguage, is_pending, save, discard };
}
