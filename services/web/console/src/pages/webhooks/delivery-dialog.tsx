import { useQuery } from '@tanstack/react-query';
import type { CatalogClient, Change, Delivery } from 'catalog-client';
import { useApi } from '../../lib/api';
import { formatNumber, formatTime } from '../../lib/format';
import { type Texts, useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Loading } from '../../ui/feedback';
import { Facts } from '../../ui/layout';
import { Dialog } from '../../ui/overlay';
import { DeliveryState } from './state';

const PING = 'webhook.ping';
/** A message is sent soon after its change, or up to some days later. */
const CHANGES_MAX = 500;
/** From this size on, a message has no `changed`. */
const BODY_BYTES_MAX = 20_000;

/** Such as `Products: changed`. */
export function topicName(type: string, t: Texts): string {
  if (type === PING) return t.webhooks.testMessage;
  const [resource, verb] = type.split('.') as [Change['resource'], keyof Texts['webhooks']['verbs']];
  return t.webhooks.topicName(t.history.kinds[resource], t.webhooks.verbs[verb].toLowerCase());
}

interface DeliveryDialogProps {
  readonly delivery: Delivery;
  readonly url: string;
  readonly onClose: () => void;
}

/** An attempt to deliver a message: what was sent, and what the receiver answered. */
export function DeliveryDialog({ delivery, url, onClose }: DeliveryDialogProps) {
  const t = useTexts();
  const locale = useLocale();
  const { client } = useApi();
  const { id, type, at, attempt, duration_ms, error, next_attempt_at } = delivery;
  const { data: change, isPending } = useQuery({
    queryKey: ['changes', 'delivered', id],
    enabled: type !== PING,
    queryFn: () => findChange(client, delivery),
  });
  return (
    <Dialog
      title={topicName(type, t)}
      size="large"
      isOpen
      onClose={onClose}
      footer={<Button onPress={onClose}>{t.common.close}</Button>}
    >
      <h3>{t.webhooks.answer}</h3>
      <Facts
        facts={[
          [t.webhooks.answerStatus, <DeliveryState key="status" delivery={delivery} />],
          ...(error ? [[t.webhooks.error, error] as const] : []),
          [t.webhooks.duration, t.webhooks.milliseconds(formatNumber(duration_ms, locale))],
          ...(next_attempt_at
            ? [[t.webhooks.nextAttempt, formatTime(next_attempt_at, locale)] as const]
            : []),
        ]}
      />
      <h3>{t.webhooks.request}</h3>
      <Facts
        facts={[
          [t.webhooks.at, formatTime(at, locale)],
          [t.webhooks.attempt, formatNumber(attempt, locale)],
          ['POST', <code key="url">{url}</code>],
          ['webhook-id', <code key="id">{id}</code>],
        ]}
      />
      {type !== PING &&
        (isPending ? (
          <Loading lines={3} />
        ) : change ? (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: What scrolls must be reached by the keyboard.
          <pre className="message-body" dir="ltr" tabIndex={0}>
            {bodyOf(change)}
          </pre>
        ) : (
          <p className="muted">{t.webhooks.noBody}</p>
        ))}
    </Dialog>
  );
}

/** Returns the change that the message is about, null if it is too far back in the history. */
async function findChange(client: CatalogClient, { id, type, at }: Delivery): Promise<Change | null> {
  const resource = [type.split('.')[0] as Change['resource']];
  let seen = 0;
  for await (const change of client.store.fullHistory({ resource, until: at })) {
    if (change.id === id) return change;
    // Ids grow with time, and sort as texts.
    if (change.id < id || ++seen >= CHANGES_MAX) return null;
  }
  return null;
}

function bodyOf(data: Change): string {
  const message = { type: data.type, timestamp: data.occurred_at, data };
  const is_long = new TextEncoder().encode(JSON.stringify(message)).length >= BODY_BYTES_MAX;
  const { changed: _, ...short } = data;
  return JSON.stringify(is_long ? { ...message, data: short } : message, null, 2);
}
