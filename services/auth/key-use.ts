import type { ApiKey } from '../../shared/catalog/api-key/api-key';
import { LRUCache } from '../../shared/kernel/cache';
import type { ApiKeyId } from '../../shared/kernel/ids';
import type { System } from '../../shared/kernel/system';

export type OnKeyUsed = (api_key_id: ApiKeyId) => void | Promise<void>;

/** How exact a key's `last_used_at` is; a busy key costs one write per interval. */
const INTERVAL_MS = 5 * 60_000;
const KEYS_MAX = 10_000;

/** Tells `onKeyUsed` of a key at most once per interval, by this process's memory and by what the key itself says. */
export class KeyUse {
  private readonly system: System;
  private readonly onKeyUsed: OnKeyUsed | undefined;
  private readonly told_at_ms = new LRUCache<ApiKeyId, number>({ max: KEYS_MAX });

  constructor(options: { system: System; onKeyUsed?: OnKeyUsed }) {
    this.system = options.system;
    this.onKeyUsed = options.onKeyUsed;
  }

  /** Never throws and never waits: a token is issued whether its use can be recorded or not. */
  record(key: ApiKey): void {
    if (this.onKeyUsed === undefined) return;
    const now_ms = this.system.now();
    const stored_ms = key.last_used_at === null ? 0 : Date.parse(key.last_used_at);
    if (now_ms - Math.max(stored_ms, this.told_at_ms.get(key.id) ?? 0) < INTERVAL_MS) return;
    this.told_at_ms.set(key.id, now_ms);
    void this.tell(key.id);
  }

  private async tell(id: ApiKeyId): Promise<void> {
    try {
      await this.onKeyUsed?.(id);
    } catch {
      // Told again with the next use after this.
      this.told_at_ms.delete(id);
    }
  }
}
