import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Media } from 'catalog-client';
import { useState } from 'react';
import { useApi } from '../../lib/api';
import { useTexts } from '../../texts/texts';
import { ErrorState, Loading, say, sayError } from '../../ui/feedback';
import { Confirm } from '../../ui/overlay';

const NAMED_MAX = 10;

interface DeleteMediaProps {
  readonly media: readonly Media[];
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

/** Asks before pictures are deleted, because they cannot be restored. Names what shows them. */
export function DeleteMedia({ media, onClose, onDeleted }: DeleteMediaProps) {
  const t = useTexts();
  const { client } = useApi();
  const queries = useQueryClient();
  const [is_pending, setPending] = useState(false);
  const ids = media.map(({ id }) => id);
  const {
    data: uses,
    error,
    refetch,
  } = useQuery({
    queryKey: ['media', 'uses', ids],
    // A deleted picture has no uses to read.
    enabled: !is_pending,
    queryFn: async () => {
      const pages = await Promise.all(ids.map((id) => client.media.uses(id).page()));
      return [...new Map(pages.flatMap(({ data }) => data).map((use) => [use.id, use])).values()];
    },
  });
  const remove = async () => {
    setPending(true);
    try {
      for (const id of ids) await client.media.delete(id);
      say(t.media.deleted(ids.length));
      onDeleted();
    } catch (error) {
      sayError(error, t);
    }
    void queries.invalidateQueries({ queryKey: ['media'] });
    onClose();
  };
  return (
    <Confirm
      title={t.media.deleteTitle(ids.length)}
      action={t.common.delete}
      isOpen
      isPending={is_pending}
      onClose={onClose}
      onConfirm={() => void remove()}
    >
      {error && <ErrorState error={error} onRetry={refetch} />}
      {!uses && !error && <Loading lines={2} />}
      {uses?.length === 0 && <p>{t.media.deleteUnused(ids.length)}</p>}
      {uses && uses.length > 0 && (
        <div>
          <p>{t.media.deleteUsed(ids.length, uses.length)}</p>
          <ul className="media-uses">
            {uses.slice(0, NAMED_MAX).map(({ id, title }) => (
              <li key={id} dir="auto">
                {title}
              </li>
            ))}
            {uses.length > NAMED_MAX && <li>…</li>}
          </ul>
        </div>
      )}
    </Confirm>
  );
}
