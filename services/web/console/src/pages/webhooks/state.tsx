import type { Delivery, Webhook } from 'catalog-client';
import { useTexts } from '../../texts/texts';
import { Badge } from '../../ui/feedback';

/** Whether it sends, sends again what failed, is paused by the merchant, or was stopped by the service. */
export function WebhookState({
  webhook: { status, status_reason, pending_count },
}: {
  readonly webhook: Webhook;
}) {
  const t = useTexts();
  if (isStopped({ status, status_reason })) return <Badge tone="bad">{t.webhooks.stopped}</Badge>;
  if (status === 'paused') return <Badge>{t.webhooks.paused}</Badge>;
  if (pending_count > 0) return <Badge tone="warn">{t.webhooks.waiting(pending_count)}</Badge>;
  return <Badge tone="good">{t.webhooks.sends}</Badge>;
}

/** Whether the service has stopped it. */
export const isStopped = ({ status, status_reason }: Pick<Webhook, 'status' | 'status_reason'>): boolean =>
  status === 'disabled' || (status === 'paused' && status_reason !== undefined);

/** What the receiver answered. */
export function DeliveryState({ delivery: { response_status, error } }: { readonly delivery: Delivery }) {
  const t = useTexts();
  return (
    <Badge tone={error === undefined ? 'good' : 'bad'}>
      {response_status === undefined ? t.webhooks.noAnswer : String(response_status)}
    </Badge>
  );
}
