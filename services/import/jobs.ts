import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { type HeldLease, leaseOwner, takeLease } from '../../projections/engine/lease';
import type { Environment } from '../../shared/catalog/realm';
import type { Principal } from '../../shared/http/request';
import { Semaphore, withTimeout } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import { readJsonFile, replaceJsonFile } from '../../shared/kernel/json-file';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import type { ViewStore } from '../../shared/ports/view-store';
import { waitUntilProjected } from '../command/request';
import { findStore } from '../command/store';
import { formatOf, IMPORT_FORMATS, type ImportCatalog, importFile } from './into-store';
import { describeRejection, type ImportReport } from './report';
import { ImportFileError } from './text-file';
import { type UndoReport, undoImport } from './undo';

/** How long a file is kept, and how many of a store. */
const KEPT_MS = 7 * 24 * 3_600_000;
const FILES_MAX = 20;
/** The most rows of a file. A preview keeps what it would write in memory: about 6 kB for each product. */
export const IMPORT_ROWS_MAX = 50_000;
/** How often a step writes how far it is. */
const PROGRESS_EVERY_MS = 1_000;
/** How long a step is protected from a second one after its process was killed. An embedded store notices that at once. */
const LEASE_MS = 20_000;
/** How long a step waits until the documents show what was written before it. */
const CATCH_UP_MS = 30_000;
/** The most rows of each kind that a report keeps. */
const ROWS_MAX = 200;

export const STEPS = ['preview', 'import', 'undo'] as const;
export type ImportStep = (typeof STEPS)[number];

const jobSchema = z.object({
  /** Names the import. Its events have it as the id of their request. */
  run: z.uuid(),
  file: z.string(),
  /** Detected from the content if missing. */
  format: z.enum(IMPORT_FORMATS).optional(),
  currency: z.string().optional(),
  overwrite: z.boolean(),
  images: z.enum(['public', 'skip']),
  created_at: z.iso.datetime(),
  step: z.enum(STEPS),
  /** `stopped`: the service has ended meanwhile. A merchant can start the step again, and it then does the rest. */
  status: z.enum(['running', 'done', 'failed', 'stopped']),
  /** Whether an import was started, so that there may be something to undo. */
  was_imported: z.boolean(),
  done: z.number(),
  total: z.number(),
  /** Why it failed. */
  error: z.string().optional(),
  /** Of the last preview or import that has ended. */
  report: z.custom<ImportReport>().optional(),
  undone: z.custom<UndoReport>().optional(),
});

/** An uploaded file, and the last step that was done with it. */
export type ImportJob = z.infer<typeof jobSchema>;
export type ImportSettings = Pick<ImportJob, 'file' | 'format' | 'currency' | 'overwrite' | 'images'>;

export interface ImportJobDeps extends ImportCatalog {
  readonly viewStores: Readonly<Record<Environment, ViewStore>>;
  readonly system: System;
  readonly log: Logger;
}

/**
 * The imports that merchants start with an uploaded file. The file and the state of its last step are in `folder`, so
 * that every HTTP process shows them, also after a restart. A step runs in the process that has started it. A lease makes
 * sure that a store has only one running step. A process works on one step at a time, and the others wait for it.
 */
export class ImportJobs {
  private readonly running = new Set<Promise<void>>();
  private readonly slot = new Semaphore(1);
  private readonly closing = new AbortController();

  constructor(
    private readonly deps: ImportJobDeps,
    private readonly folder: string,
  ) {}

  /**
   * Stores an uploaded file and starts its preview. `receive` passes the bytes of the file to `storeFile`, and returns the
   * settings of the import. Returns the run. Rejects with the errors of `receive`.
   */
  async create(
    principal: Principal,
    receive: (storeFile: (bytes: AsyncIterable<Uint8Array>) => Promise<void>) => Promise<ImportSettings>,
  ): Promise<string> {
    const store_id = storeOf(principal);
    const run = randomUUID();
    await mkdir(join(this.folder, store_id), { recursive: true, mode: 0o700 });
    const path = this.pathOf(store_id, run);
    try {
      const settings = await receive((bytes) => pipeline(bytes, createWriteStream(path, { mode: 0o600 })));
      const created_at = new Date(this.deps.system.now()).toISOString();
      const state = { step: 'preview', status: 'stopped', was_imported: false, done: 0, total: 0 } as const;
      await this.write(store_id, { run, created_at, ...settings, ...state });
    } catch (error) {
      await this.remove(store_id, run);
      throw error;
    }
    // After the file is stored: of uploads at the same time, the last one to end sees all of them.
    await this.removeOld(store_id);
    await this.startStep(principal, run, 'preview');
    return run;
  }

  /**
   * Starts a step, also one that was stopped. Returns false if another step of the store runs, if there is no such file,
   * or if the step has nothing to do: an import needs a preview, and an undo an import.
   */
  async startStep(principal: Principal, run: string, step: ImportStep): Promise<boolean> {
    if (this.closing.signal.aborted) return false;
    const store_id = storeOf(principal);
    const { viewStores, log } = this.deps;
    const views = viewStores[principal.environment];
    const lease = await takeLease(views, `import:${store_id}`, leaseOwner(), LEASE_MS, log);
    if (!lease) return false;
    try {
      const before = await this.get(store_id, run);
      if (!before || !mayStart(step, before)) {
        await lease.release();
        return false;
      }
      const { error: _, ...kept } = before;
      const was_imported = before.was_imported || step === 'import';
      const job: ImportJob = { ...kept, step, status: 'running', was_imported, done: 0, total: 0 };
      await this.write(store_id, job);
      const running = this.run(principal, job, lease).finally(() => this.running.delete(running));
      this.running.add(running);
      return true;
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  /** Returns undefined if there is no such import, and if its state cannot be read, which is logged. */
  async get(store_id: StoreId, run: string): Promise<ImportJob | undefined> {
    if (!z.uuid().safeParse(run).success) return undefined;
    const path = this.stateOf(store_id, run);
    try {
      const job = await readJsonFile(path, jobSchema, 'an import');
      if (job?.status !== 'running') return job;
      const is_silent = Date.now() - (await stat(path)).mtimeMs > LEASE_MS;
      return is_silent ? { ...job, status: 'stopped' } : job;
    } catch (error) {
      this.deps.log.warn({ err: error, run }, 'the state of an import cannot be read');
      return undefined;
    }
  }

  /** Returns the imports of a store, newest first. */
  async list(store_id: StoreId): Promise<ImportJob[]> {
    const runs = (await this.filesOf(store_id))
      .filter((name) => name.endsWith('.json'))
      .map((name) => name.slice(0, -'.json'.length));
    const jobs = await Promise.all(runs.map((run) => this.get(store_id, run)));
    return jobs
      .filter((job) => job !== undefined)
      .sort((one, other) => (one.created_at < other.created_at ? 1 : -1));
  }

  /** Stops the running steps, and waits until they have written their state. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all(this.running);
  }

  /** Runs a step to its end. Never rejects. */
  private async run(principal: Principal, job: ImportJob, lease: HeldLease): Promise<void> {
    const { log } = this.deps;
    const store_id = storeOf(principal);
    const signal = AbortSignal.any([this.closing.signal, lease.lost]);
    let state = job;
    const write = (): Promise<void> =>
      this.write(store_id, state).catch((error: unknown) =>
        log.warn({ err: error, run: job.run }, 'the state of an import cannot be written'),
      );
    let writing = Promise.resolve();
    const timer = setInterval(() => {
      writing = writing.then(write);
    }, PROGRESS_EVERY_MS);
    const onProgress = (done: number, total: number): void => {
      state = { ...state, done, total };
    };
    const ended = await this.slot
      .run(() => this.work(principal, job, signal, onProgress))
      .catch((error: unknown): Partial<ImportJob> => {
        if (signal.aborted) return { status: 'stopped' };
        return { status: 'failed', error: this.messageOf(error, store_id, job) };
      });
    clearInterval(timer);
    await writing;
    state = { ...state, ...ended };
    // Without the lease, another process may have begun the step again.
    if (!lease.lost.aborted) await write();
    await lease.release();
  }

  private async work(
    principal: Principal,
    { run, step, ...settings }: ImportJob,
    signal: AbortSignal,
    on_progress: (done: number, total: number) => void,
  ): Promise<Partial<ImportJob>> {
    if (signal.aborted) return { status: 'stopped' };
    const { environment, account_id, api_key_id } = principal;
    const store_id = storeOf(principal);
    const context = { account_id, api_key_id, request_id: run };
    if (step === 'undo') {
      const target = { environment, store_id, run, dry_run: false, signal, on_progress };
      const undone = await undoImport(this.deps, { ...context, source: 'import' }, target);
      const { kept, ...counts } = undone ?? { deleted: 0, reverted: 0, kept: [] };
      const status = signal.aborted ? 'stopped' : 'done';
      return { status, undone: { ...counts, kept: kept.slice(0, ROWS_MAX) } };
    }
    const store = await findStore(this.deps, { environment, id: store_id });
    if (!store) throw new CatalogError('store_not_found');
    const head = await this.deps.events[environment].head();
    const projected = waitUntilProjected(this.deps.views[environment], store_id, head, CATCH_UP_MS);
    await withTimeout(projected, CATCH_UP_MS, () => false, signal);
    const path = this.pathOf(store_id, run);
    const { format = await formatOf(path), currency, overwrite, images } = settings;
    const report = await importFile(this.deps, context, {
      ...{ store, path, format, currency, overwrite, images, signal, on_progress },
      rows_max: IMPORT_ROWS_MAX,
      dry_run: step === 'preview',
    });
    return { status: report.complete ? 'done' : 'stopped', report: shortened(report) };
  }

  private messageOf(error: unknown, store_id: StoreId, { run, file }: ImportJob): string {
    if (error instanceof ImportFileError)
      return error.message.replace(this.pathOf(store_id, run), () => `“${file}”`);
    if (error instanceof CatalogError) return describeRejection(error);
    this.deps.log.error({ err: error, run }, 'an import has failed');
    return 'An internal error. The log of the service has the details.';
  }

  /** Removes files that are too old or too many, and what an interrupted upload has left. */
  private async removeOld(store_id: StoreId): Promise<void> {
    const oldest_ms = this.deps.system.now() - KEPT_MS;
    const jobs = await this.list(store_id);
    const kept = jobs.filter(
      ({ status, created_at }, index) =>
        status === 'running' || (index < FILES_MAX && Date.parse(created_at) > oldest_ms),
    );
    const removed = jobs.filter((job) => !kept.includes(job)).map(({ run }) => run);
    for (const run of removed) await this.remove(store_id, run);
    const runs = new Set(jobs.map(({ run }) => run));
    for (const name of await this.filesOf(store_id)) {
      const path = join(this.folder, store_id, name);
      const age = await stat(path).catch(() => undefined);
      if (!runs.has(name.split('.')[0]!) && age && age.mtimeMs < oldest_ms) await rm(path, { force: true });
    }
  }

  private async remove(store_id: StoreId, run: string): Promise<void> {
    for (const path of [this.stateOf(store_id, run), this.pathOf(store_id, run)])
      await rm(path, { force: true });
  }

  private async filesOf(store_id: StoreId): Promise<string[]> {
    try {
      return await readdir(join(this.folder, store_id));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return [];
    }
  }

  private write(store_id: StoreId, job: ImportJob): Promise<void> {
    return replaceJsonFile(this.stateOf(store_id, job.run), job);
  }

  private readonly pathOf = (store_id: StoreId, run: string): string =>
    join(this.folder, store_id, `${run}.data`);
  private readonly stateOf = (store_id: StoreId, run: string): string =>
    join(this.folder, store_id, `${run}.json`);
}

/** The store of a key's imports: its default store. */
const storeOf = ({ stores }: Principal): StoreId => stores[0]!;

/** An import needs a preview before it, and an undo an import. */
function mayStart(step: ImportStep, { report, was_imported }: ImportJob): boolean {
  if (step === 'undo') return was_imported;
  return step === 'preview' || report !== undefined || was_imported;
}

const shortened = (report: ImportReport): ImportReport => ({
  ...report,
  failed: report.failed.slice(0, ROWS_MAX),
  unread: report.unread.slice(0, ROWS_MAX),
  warnings: report.warnings.slice(0, ROWS_MAX),
  kept: report.kept.slice(0, ROWS_MAX),
  images: [],
  preview: report.preview.slice(0, ROWS_MAX),
});
