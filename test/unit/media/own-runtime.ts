import { openRuntime, type Runtime } from '../../../services/boot/runtime';
import { createAccount } from '../../../services/command/account';
import { createStore } from '../../../services/command/store';
import { parseConfig } from '../../../shared/kernel/config';
import type { StoreId } from '../../../shared/kernel/ids';
import { createLogger } from '../../../shared/kernel/log';
import { realSystem } from '../../../shared/kernel/system';
import { makeTempDir } from '../../support/temp-dir';

export interface OwnRuntime {
  readonly runtime: Runtime;
  readonly store_id: StoreId;
  close(): Promise<void>;
}

/** Opens the stores of a service that does not run, in a folder of their own, and creates a store. Nothing renders pictures. */
export async function openOwnRuntime(): Promise<OwnRuntime> {
  const folder = makeTempDir();
  const config = parseConfig({ DATA_DIR: folder.path });
  const runtime = await openRuntime(config, createLogger({ level: 'silent' }), realSystem);
  const deps = { system: realSystem, events: runtime.events };
  const account = await createAccount(deps, { source: 'cli', request_id: 'account' }, { name: 'Account' });
  const store = await createStore(
    deps,
    { source: 'cli', request_id: 'store' },
    { account_id: account.value.id },
    { name: 'Shop', environment: 'live' },
  );
  const close = async (): Promise<void> => {
    await runtime.close();
    folder.remove();
  };
  return { runtime, store_id: store.value.id, close };
}
