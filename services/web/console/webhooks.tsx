import type { Delivery, Webhook } from '../../../shared/client';
import type { PageAnswer } from './frame';
import { Button, NewSecret, Submit, secondOf, WideTable } from './parts';
import { type Page, unlessInvalid, type Visit } from './visit';

const PATH = '/console/webhooks';
const WEBHOOKS_MAX = 50;
/** How many attempts to deliver are shown of each webhook. */
const DELIVERIES_MAX = 10;

/** Shows the webhooks. `secret`: the secret of a webhook that was just made, or the new secret of another one. */
async function show({ client }: Visit, secret?: string): Promise<PageAnswer> {
  const { data } = await client.webhooks.list({ limit: WEBHOOKS_MAX }, { consistent: true }).page();
  const panels = await Promise.all(
    data.map(async (webhook) => {
      const deliveries = await client.webhooks.deliveries(webhook.id, { limit: DELIVERIES_MAX }).page();
      return <WebhookPanel key={webhook.id} webhook={webhook} deliveries={deliveries.data} />;
    }),
  );
  const body = (
    <>
      <h1>Webhooks</h1>
      {secret && (
        <NewSecret
          heading="Secret"
          note="It signs the messages. Copy it now: it is not shown again."
          secret={secret}
        />
      )}
      {panels.length === 0 && <p class="empty">No address hears of changes yet.</p>}
      {panels}
      <form class="panel" method="post" action={PATH}>
        <h2>New webhook</h2>
        <label>
          <span>Address that all changes are sent to</span>
          <input name="url" type="url" placeholder="https://" required />
        </label>
        <Submit label="Create" />
      </form>
    </>
  );
  return { title: 'Webhooks', body };
}

function WebhookPanel({ webhook, deliveries }: { webhook: Webhook; deliveries: readonly Delivery[] }) {
  const { id, url, status, status_reason, pending_count } = webhook;
  const button = (action: string, label: string) => (
    <Button action={`/console/webhook/${id}`} label={label} name={url} values={{ action }} />
  );
  return (
    <section class="panel">
      <h2>{url}</h2>
      <p class="note">
        {`${status}${status_reason ? ` (${status_reason})` : ''} · ${pending_count} to be sent again`}
      </p>
      <div class="tags">
        {status === 'active' && button('ping', 'Ping')}
        {status === 'active' ? button('pause', 'Pause') : button('activate', 'Activate')}
        {button('rotate', 'New secret')}
        {button('delete', 'Delete')}
      </div>
      {deliveries.length > 0 && (
        <WideTable
          columns={['Time', 'Message', { label: 'Attempt', is_number: true }, 'Answer', 'Next attempt']}
          rows={deliveries.map(({ at, type, attempt, error, response_status, next_attempt_at }) => [
            secondOf(at),
            type,
            attempt,
            error ?? response_status,
            next_attempt_at && secondOf(next_attempt_at),
          ])}
        />
      )}
    </section>
  );
}

export const list: Page = (visit) => show(visit);

export const create = unlessInvalid(list, async (visit) => {
  const { secret } = await visit.client.webhooks.create({ url: visit.form.get('url') ?? '' });
  return show(visit, secret);
});

export const change: Page = async (visit) => {
  const { client, id, form } = visit;
  switch (form.get('action')) {
    case 'ping':
      await client.webhooks.ping(id);
      return { location: PATH, saved: 'A ping is on its way.' };
    case 'rotate':
      return show(visit, (await client.webhooks.rotateSecret(id)).secret);
    case 'delete':
      await client.webhooks.delete(id);
      return { location: PATH, saved: 'Deleted.' };
    default: {
      const status = form.get('action') === 'pause' ? 'paused' : 'active';
      await client.webhooks.update(id, { status });
      return { location: PATH, saved: `The webhook is ${status}.` };
    }
  }
};
