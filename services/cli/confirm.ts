import { describeRejection } from '../../shared/api/error-catalogue';
import type { Realm } from '../../shared/catalog/realm';
import { CatalogError, isOutage } from '../../shared/kernel/errors';
import type { Runtime } from '../boot/runtime';
import type { Written } from '../command/execute';
import { catchUp } from './catch-up';
import { CliError } from './invocation';

/** After a crash of a worker, another one continues within about 7 s. */
const CONFIRM_MS = 10_000;

/** A change that an operator must not believe before it is certain. */
interface Change<Value> {
  /** What was changed, such as `revocation`. */
  readonly noun: string;
  /** Default: `control`, for accounts and API keys. */
  readonly realm?: Realm;
  readonly collection: 'accounts' | 'api_keys' | 'stores';
  readonly run: () => Promise<Written<Value>>;
}

/**
 * Runs a change and waits until every process sees it, because the document contains it. Throws `CliError` if that is
 * not certain within 10 s, or if it is unknown whether the change was saved.
 */
export async function runConfirmed<Value extends { readonly id: string }>(
  runtime: Runtime,
  change: Change<Value>,
): Promise<Written<Value>> {
  const written = await runSaved(change.noun, change.run);
  await confirm(runtime, change, written);
  return written;
}

/** Runs a change. Throws `CliError` if it is unknown whether the change was saved. */
export async function runSaved<Result>(noun: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!isOutage(error)) throw error;
    throw new CliError(
      `It is unknown whether the ${noun} was saved (${describeRejection(error)}). Until it is, nothing has changed for ` +
        'clients. Run the command again when the event store can be reached.',
    );
  }
}

/** Waits until the document contains the change. Throws `CliError` if it does not within 10 s. */
export async function confirm(
  runtime: Runtime,
  { noun, realm = 'control', collection }: Omit<Change<unknown>, 'run'>,
  { value, revision }: Pick<Written<{ readonly id: string }>, 'value' | 'revision'>,
): Promise<void> {
  let reason = `after ${CONFIRM_MS / 1_000} s`;
  try {
    await catchUp(runtime, [realm], CONFIRM_MS);
    const view = await runtime.views[realm].current();
    const stored = await view?.get(collection, value.id, ['state']);
    if ((stored?.document?.state.revision ?? -1) >= revision) return;
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    reason = `(${describeRejection(error)})`;
  }
  // Every process follows the log of accounts and API keys
  // (docs/decisions/0019-every-process-follows-the-control-log.md).
  const meanwhile =
    realm === 'control'
      ? 'Processes that reach the event store apply it within 5 seconds, the others when the documents show it.'
      : 'Reads do not apply it until then.';
  throw new CliError(
    `The ${noun} is saved, but not confirmed: the documents do not show it ${reason}. ${meanwhile} Check /health/ready ` +
      'of every process, and run the command again: it ends with exit code 0 when all processes apply the change.',
  );
}
