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
  const replay = useMutation({
    mutationFn: async () =>
      client.webhooks.replay(webhook.id, { from: await lastChangeBefore(client, since!) }),
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
      onClose={onClose}
      footer={
        <>
          <Button onPress={onClose}>{t.common.cancel}</Button>
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

/** Returns the id of the last change before a time, `-1` if there is none. */
async function lastChangeBefore(client: CatalogClient, until: string): Promise<string> {
  for await (const { id } of client.store.fullHistory({ until, limit: 1 })) return id;
  return '-1';
}
