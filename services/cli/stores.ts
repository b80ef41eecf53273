import type { Store } from '../../shared/catalog/store/store';
import type { StoreId } from '../../shared/kernel/ids';
import type { Runtime } from '../boot/runtime';
import { locateStore } from '../command/store';
import { CliError } from './failure';

/** The store in whichever environment it lives, from its events; a clear line where there is none. */
export async function requireStore(runtime: Runtime, id: string): Promise<Store> {
  const store = await locateStore(runtime, id as StoreId);
  if (!store) throw new CliError(`there is no store ${id}`);
  return store;
}
