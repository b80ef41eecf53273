import { pino } from 'pino';
import { type VerifyResult, verify } from '../../projections/maintenance/verify';
import { openViewStore } from '../../services/boot/open-adapters';
import type { Environment } from '../../shared/catalog/realm';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import type { Harness } from './harness';

/**
 * Compares the documents of an environment with its log, as `catalog projections verify` does. It opens the documents anew:
 * in SQLite 3.45, a connection that has searched a word index takes the index for damaged if another process has written to
 * it since (`PRAGMA quick_check` looks for segments that were merged meanwhile).
 */
export async function verifyDocuments(
  { service, settings }: Harness,
  environment: Environment,
): Promise<VerifyResult> {
  const views = await openViewStore(parseConfig(settings), environment);
  try {
    const events = service.runtime.events[environment];
    return await verify({
      realm: environment,
      events,
      views,
      system: realSystem,
      log: pino({ level: 'silent' }),
    });
  } finally {
    await views.close();
  }
}
