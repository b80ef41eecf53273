import { leaseOwner, takeLease } from '../../projections/engine/lease';
import { ENVIRONMENTS, type Environment } from '../../shared/catalog/realm';
import { pause, withTimeout } from '../../shared/kernel/async';
import type { WebhookId } from '../../shared/kernel/ids';
import { logBackgroundFailure } from '../../shared/kernel/log';
import type { ActiveView } from '../../shared/ports/document-reader';
import type { ViewStore } from '../../shared/ports/view-store';
import { Sender, type SenderParts, TIMES } from './sender';

export interface WebhookParts extends SenderParts {
  readonly views: Readonly<Record<Environment | 'control', ActiveView>>;
  readonly viewStores: Readonly<Record<Environment, ViewStore>>;
}

export interface WebhookWork {
  stop(): Promise<void>;
}

const LEASE = 'webhooks';
const LEASE_TTL_MS = 10_000;
/** How long a shutdown waits for receivers. What they have not answered is sent again. */
const STOP_MS = 3_000;
const PAGE_SIZE = 200;
const SEARCH_FAILED = 'searching for webhooks failed; retrying';

/**
 * Sends the changes of all stores to their webhooks in the background (docs/webhooks.md). Any number of processes may run
 * it: one of them, the owner of a lease, sends.
 */
export function startWebhooks(parts: WebhookParts, other_times: Partial<typeof TIMES> = {}): WebhookWork {
  const times = { ...TIMES, ...other_times };
  const stopping = new AbortController();
  const killing = new AbortController();
  const owner = leaseOwner();
  const work = async (environment: Environment): Promise<void> => {
    const { log, viewStores } = parts;
    for (const { signal } = stopping; !signal.aborted; await pause(times.search_ms, signal)) {
      try {
        if ((await activeWebhooks(parts, environment)).length === 0) continue;
        const lease = await takeLease(viewStores[environment], LEASE, owner, LEASE_TTL_MS, log);
        if (!lease) continue;
        const ended = AbortSignal.any([signal, lease.lost]);
        try {
          await sendAll(parts, environment, times, ended, killing.signal);
        } finally {
          await lease.release();
        }
      } catch (error) {
        logBackgroundFailure(parts.log, error, SEARCH_FAILED);
      }
    }
  };
  const ended = Promise.all(parts.config.WEBHOOKS === 'off' ? [] : ENVIRONMENTS.map(work));
  return {
    stop: async () => {
      stopping.abort();
      await withTimeout(ended, STOP_MS, () => undefined);
      killing.abort();
      await ended;
    },
  };
}

/** Runs a sender for each active webhook. Resolves when there are none, or when `ended` aborts. */
async function sendAll(
  parts: WebhookParts,
  environment: Environment,
  times: typeof TIMES,
  ended: AbortSignal,
  killing: AbortSignal,
): Promise<void> {
  const running = new Map<WebhookId, Promise<void>>();
  do {
    try {
      for (const { id, store_id } of await activeWebhooks(parts, environment)) {
        if (running.has(id)) continue;
        const sender = new Sender(parts, environment, id, store_id, times, ended, killing);
        running.set(
          id,
          sender.run().then(() => void running.delete(id)),
        );
      }
    } catch (error) {
      logBackgroundFailure(parts.log, error, SEARCH_FAILED);
    }
    await pause(times.search_ms, ended);
  } while (running.size > 0 && !ended.aborted);
  await Promise.all(running.values());
}

interface ActiveWebhook {
  readonly id: WebhookId;
  readonly store_id: string;
}

async function activeWebhooks({ views }: WebhookParts, environment: Environment): Promise<ActiveWebhook[]> {
  const view = await views[environment].current();
  const found: ActiveWebhook[] = [];
  for (let full = view !== undefined; full; ) {
    const page = await view!.find('webhooks', {
      where: { status: 'active', id: { after: found.at(-1)?.id ?? '' } },
      order: [['id', 'asc']],
      limit: PAGE_SIZE,
    });
    for (const { id, document } of page)
      if (document) found.push({ id: id as WebhookId, store_id: String(document.keys.store_id) });
    full = page.length === PAGE_SIZE;
  }
  return found;
}
