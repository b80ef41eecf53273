import { makeTempDir } from '../support/temp-dir';

/** Opens a store in a folder of its own, as often as a test asks. `dispose` closes all and removes the folder. */
export function inFolder<Store extends { close(): Promise<void> }, Options extends unknown[]>(
  open: (folder: string, ...options: Options) => Promise<Store>,
) {
  const { path, remove } = makeTempDir();
  const opened: Store[] = [];
  const openAnother = async (...options: Options): Promise<Store> => {
    const store = await open(path, ...options);
    opened.push(store);
    return store;
  };
  const dispose = async (): Promise<void> => {
    for (const store of opened) await store.close();
    remove();
  };
  return { path, openAnother, dispose };
}
