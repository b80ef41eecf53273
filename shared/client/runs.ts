import type { UndoneRun } from './api.js';
import type { Calls } from './calls.js';
import type { BodyOf } from './operations.js';
import type { WriteOptions } from './options.js';

/** Runs: the writes that carry one name, by the option `run` of the client or of a call. */
export class RunCalls {
  constructor(private readonly calls: Calls) {}

  /**
   * Undoes a run, for what nobody has changed since. If `complete` of the report is `false`, call it again.
   *
   * @example
   * const { kept } = await client.runs.undo('spring-sale', { dry_run: true });
   */
  undo(run: string, body: BodyOf<'undoRun'> = {}, options: WriteOptions = {}): Promise<UndoneRun> {
    return this.calls.write('undoRun', { id: run, body }, options);
  }
}
