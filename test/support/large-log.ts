import { pino } from 'pino';
import { openRuntime } from '../../services/boot/runtime';
import { createAccount } from '../../services/command/account';
import { createApiKey } from '../../services/command/api-key';
import type { WriteContext } from '../../services/command/execute';
import { createPublication } from '../../services/command/publication';
import { createStore } from '../../services/command/store';
import { parseConfig } from '../../shared/kernel/config';
import type { StoreId } from '../../shared/kernel/ids';
import { realSystem } from '../../shared/kernel/system';

/** A catalog whose events are in the log and in no document. */
export interface LargeLog {
  readonly store_id: StoreId;
  readonly secret_key: string;
  readonly publications: number;
}

/** Rows that are written at the same time, so that they share commits. */
const CONCURRENCY = 250;

/** Writes a store with this many publications into the log of an empty data folder, and projects nothing. */
export async function writeLargeLog(folder: string, publications: number): Promise<LargeLog> {
  const runtime = await openRuntime(parseConfig({ DATA_DIR: folder }), pino({ level: 'silent' }), realSystem);
  let requests = 0;
  const context = (): WriteContext => ({ source: 'cli', request_id: `large-log-${++requests}` });
  const { id: account_id } = (await createAccount(runtime, context(), { name: 'Merchant' })).value;
  const shop = { name: 'Shop', environment: 'live' } as const;
  const store_id = (await createStore(runtime, context(), { account_id }, shop)).value.id;
  const grants = { account_id, name: 'key', type: 'secret' as const, stores: [store_id] };
  const { key: secret_key } = await createApiKey(runtime, context(), grants);
  for (let first = 0; first < publications; first += CONCURRENCY)
    await Promise.all(
      Array.from({ length: Math.min(CONCURRENCY, publications - first) }, (_, index) =>
        createPublication(
          runtime,
          context(),
          { environment: 'live', store_id },
          {
            ...{
              title: `Teapot number ${first + index}`,
              description: 'Hand made, dishwasher safe. '.repeat(8),
            },
            ...{ price_currency: 'USD', price_amount: first + index },
          },
        ),
      ),
    );
  await runtime.close();
  return { store_id, secret_key, publications };
}
