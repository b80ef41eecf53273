import { decidePublication } from '../../../shared/catalog/publication/publication';
import type { Environment } from '../../../shared/catalog/realm';
import type { PublicationId } from '../../../shared/kernel/ids';
import type { StoreDeps, WriteContext } from '../context';
import { execute } from '../execute';
import { placeOf } from './service';

export interface PublicationViews {
  readonly environment: Environment;
  readonly id: PublicationId;
  /** At least 1. */
  readonly count: number;
}

/** One event for all of them, once per `context.operation`. Views of what is deleted or unknown are let go. */
export async function recordViews(
  deps: StoreDeps,
  context: WriteContext,
  views: PublicationViews,
): Promise<void> {
  const { environment, id, count } = views;
  await execute({
    ...placeOf(deps, environment, id),
    context,
    decide: (state) => decidePublication(state, { type: 'RecordViews', count }),
  });
}
