import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { CatalogClient, Webhook } from 'catalog-client';
import { useState } from 'react';
import { useApi } from '../../lib/api';
import { messageOf } from '../../lib/errors';
import { useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Banner, say } from '../../ui/feedback';
import { DateTimeField } from '../../ui/fields';
import { Dialog } from '../../ui/overlay';

/** Sends the changes since a time again. */
export function ReplayDialog({
  webhook,
  onClose,
}: {
  readonly webhook: Webhook;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const { client } = useApi();
  const queries = useQueryClient();
  const [since, setSince] = useState<string | null>(null);
  const [stopping] = useState(() => new AbortController());
  const cancel = () => {
    stopping.abort();
    onClose();
  };
  const replay = useMutation({
    mutationFn: async () => {
      const from = await lastChangeBefore(client, since!, stopping.signal);
      return client.webhooks.replay(webhook.id, { from });
    },
    onSuccess: () => {
      say(t.webhooks.isReplayed);
      onClose();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['webhooks'] }),
  });
  return (
    <Dialog
      title={t.webhooks.replayTitle}
      isOpen
      onClose={cancel}
      footer={
        <>
          <Button onPress={cancel}>{t.common.cancel}</Button>
          <Button
            kind="primary"
            isDisabled={since === null}
            isPending={replay.isPending}
            onPress={() => replay.mutate()}
          >
            {t.webhooks.sendAgain}
          </Button>
        </>
      }
    >
      <p>{t.webhooks.replayNote}</p>
      <DateTimeField label={t.webhooks.replaySince} value={since} onChange={setSince} />
      {replay.error && <Banner tone="bad">{messageOf(replay.error, t)}</Banner>}
    </Dialog>
  );
}

/** Returns the id of the last change before a time, `-1` if there is none. Reads the log from its end, which can take long. */
async function lastChangeBefore(client: CatalogClient, until: string, signal: AbortSignal): Promise<string> {
  for await (const { id } of client.store.fullHistory({ until, limit: 1 }, { signal })) return id;
  return '-1';
}
