import { pause } from '../../shared/kernel/async';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import type { ViewStore } from '../../shared/ports/view-store';
import { logRetried } from '../engine/errors';
import { takeLease } from '../engine/lease';

export interface RetentionOptions {
  readonly views: ViewStore;
  readonly owner: string;
  readonly system: System;
  readonly log: Logger;
  /** How long a retired version stays for a rollback, and documents of an earlier release for going back, in milliseconds. */
  readonly keep_ms: number;
  /** Time between two checks. Default: a minute. */
  readonly every_ms?: number;
}

const LEASE = 'retention';
const LEASE_TTL_MS = 15_000;
const EVERY_MS = 60_000;

/**
 * Drops retired versions and documents of earlier releases at their time, until `signal` aborts. Events are dispatched to a retired version too, so each
 * one costs as much for every write as the active one.
 */
export async function dropRetiredVersions(options: RetentionOptions, signal: AbortSignal): Promise<void> {
  for (; !signal.aborted; await pause(options.every_ms ?? EVERY_MS, signal))
    await Promise.all([dropOutdated(options), dropEarlierFormats(options)]).catch((error: unknown) =>
      logRetried(options.log, error, {}, 'dropping retired versions failed; retrying'),
    );
}

async function dropOutdated(options: RetentionOptions): Promise<void> {
  const { views, owner, log } = options;
  if ((await outdatedVersions(options)).length === 0) return;
  const lease = await takeLease(views, LEASE, owner, LEASE_TTL_MS, log);
  if (!lease) return;
  try {
    for (const { version, retired_at } of await outdatedVersions(options)) {
      await views.drop(version);
      log.info({ version, retired_at }, 'dropped a retired version; a rollback to it is no longer possible');
    }
  } finally {
    await lease.release();
  }
}

/**
 * Deletes documents of earlier releases. Waits `keep_ms` after this release has created its own, and after the last write
 * to the earlier ones.
 */
async function dropEarlierFormats({ views, system, keep_ms, log }: RetentionOptions): Promise<void> {
  const unused_since_ms = system.now() - keep_ms;
  const active = (await views.versions()).find(({ status }) => status === 'active');
  if (active === undefined || Date.parse(active.created_at) > unused_since_ms) return;
  const files = await views.dropEarlierFormats(unused_since_ms);
  if (files.length > 0) log.info({ files }, 'deleted the documents of an earlier release');
}

async function outdatedVersions({ views, system, keep_ms }: RetentionOptions) {
  const versions = await views.versions();
  const active = versions.find(({ status }) => status === 'active');
  return versions.flatMap(({ version, status, retired_at = active?.created_at }) => {
    const is_outdated =
      status === 'retired' && retired_at !== undefined && system.now() - Date.parse(retired_at) >= keep_ms;
    return is_outdated ? [{ version, retired_at }] : [];
  });
}
