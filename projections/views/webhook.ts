import { stateOf } from '../../shared/catalog/events/aggregate';
import type { WebhookDocument } from '../../shared/catalog/webhook/document';
import { type WebhookEvent, webhookAggregate, webhookResource } from '../../shared/catalog/webhook/webhook';
import type { WebhookId } from '../../shared/kernel/ids';
import type { EventContext, View } from './view';

/** Documents of webhooks. */
export const webhookView: View<WebhookDocument, WebhookEvent> = {
  collection: 'webhooks',
  category: 'webhook',
  fold: (before, event, { id, occurred_at }: EventContext<WebhookId>) => {
    const after = webhookAggregate.evolve(stateOf(before?.state.webhook), event, id, occurred_at);
    if (after.tag === 'deleted') return null;
    if (after.tag !== 'present') return before;
    const webhook = { ...after.resource, secrets: [] };
    const { store_id, status, created_at } = webhook;
    return {
      keys: { store_id, status, created_at },
      body: webhookResource(webhook),
      state: { webhook },
      expansions: {},
    };
  },
};
