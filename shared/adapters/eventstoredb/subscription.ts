import { isOutage } from '../../kernel/errors';
import type { LogBatch } from '../../ports/event-store';
import { pause } from './deadline';
import { failureOf } from './failures';
import { type Following, followOnce } from './session';

const PAUSE_FIRST_MS = 50;
const PAUSE_MAX_MS = 1_000;

/**
 * Follows a realm for ever. The client never resumes a subscription and the server ends them for many reasons, some
 * without an error (a slow consumer, a new leader, a restart): after any end it starts again behind the last batch given.
 */
export async function* follow(following: Following): AsyncGenerator<LogBatch, void, undefined> {
  const { ended, connection } = following;
  let { after } = following;
  let pause_ms = PAUSE_FIRST_MS;
  while (!ended.aborted) {
    const { lease } = connection;
    try {
      for await (const batch of followOnce({ ...following, after, lease })) {
        if (batch.position !== after) pause_ms = PAUSE_FIRST_MS;
        after = batch.position;
        yield batch;
      }
    } catch (error) {
      const failure = failureOf(error);
      if (failure) connection.note(failure, lease);
      else if (!isOutage(error)) throw error;
    }
    await pause(pause_ms, ended);
    pause_ms = Math.min(pause_ms * 2, PAUSE_MAX_MS);
  }
}
