import { CatalogError, isOutage } from '../../shared/kernel/errors';
import type { Runtime } from '../boot/runtime';
import type { Written } from '../command/execute';
import { describeRejection } from '../import/report';
import { catchUp } from './catch-up';
import { CliError } from './invocation';

/** After a crash of a worker, another one continues within about 7 s. */
const CONFIRM_MS = 10_000;

/** A change of an account or API key that must not be believed before it is certain. */
interface ControlChange<Value> {
  /** What was changed, such as `revocation`. */
  readonly noun: string;
  readonly collection: 'accounts' | 'api_keys';
  readonly run: () => Promise<Written<Value>>;
}

/**
 * Runs a change and waits until every process sees it: processes that reach the event store follow the log, the others
 * read the documents. Throws `CliError` if that is not certain within 10 s, or if it is unknown whether the change was
 * saved.
 */
export async function runConfirmed<Value extends { readonly id: string }>(
  runtime: Runtime,
  change: ControlChange<Value>,
): Promise<Value> {
  const written = await runSaved(change);
  await confirm(runtime, change, written);
  return written.value;
}

/** Runs a change. Throws `CliError` if it is unknown whether the change was saved. */
export async function runSaved<Result>({
  noun,
  run,
}: {
  readonly noun: string;
  readonly run: () => Promise<Result>;
}): Promise<Result> {
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
  { noun, collection }: Pick<ControlChange<unknown>, 'noun' | 'collection'>,
  { value, revision }: Pick<Written<{ readonly id: string }>, 'value' | 'revision'>,
): Promise<void> {
  let reason = `after ${CONFIRM_MS / 1_000} s`;
  try {
    await catchUp(runtime, ['control'], CONFIRM_MS);
    const view = await runtime.views.control.current();
    const stored = await view?.get(collection, value.id, ['state']);
    if ((stored?.document?.state.revision ?? -1) >= revision) return;
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    reason = `(${describeRejection(error)})`;
  }
  throw new CliError(
    `The ${noun} is saved, but not confirmed: the documents do not show it ${reason}. Processes that reach the event ` +
      'store apply it within 5 seconds, the others when the documents show it. Check /health/ready of every process, ' +
      'and run the command again: it ends with exit code 0 when all processes apply the change.',
  );
}
