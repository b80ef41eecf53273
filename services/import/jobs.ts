import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { environmentSchema } from '../../shared/catalog/vocabulary';
import type { Principal } from '../../shared/http/request';
import { CatalogError } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import { readJsonFile, replaceJsonFile } from '../../shared/kernel/json-file';
import type { System } from '../../shared/kernel/system';
import { findStore } from '../command/store';
import { formatOf, IMPORT_FORMATS, type ImportCatalog, importFile } from './into-store';
import { describeRejection, type ImportReport } from './report';
import { ImportFileError } from './text-file';
import { type UndoReport, undoImport } from './undo';

/** How long a file is kept after its last step. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** How often a step writes how far it is. */
const PROGRESS_EVERY_MS = 1_000;
/** A step that has not written for this long runs no more: its process was killed. */
const SILENT_MS = 20_000;
/** The most rows of each kind that a report keeps. */
const ROWS_MAX = 200;

const STEPS = ['preview', 'import', 'undo'] as const;
export type ImportStep = (typeof STEPS)[number];

const jobSchema = z.object({
  /** Names the import. Its events have it as the id of their request. */
  run: z.uuid(),
  environment: environmentSchema,
  file: z.string(),
  /** Missing: as the content says. */
  format: z.enum(IMPORT_FORMATS).optional(),
  currency: z.string().optional(),
  overwrite: z.boolean(),
  images: z.enum(['public', 'skip']),
  created_at: z.iso.datetime(),
  step: z.enum(STEPS),
  /** `stopped`: the service has ended meanwhile. The step can be started again, and then does the rest. */
  status: z.enum(['running', 'done', 'failed', 'stopped']),
  done: z.number(),
  total: z.number(),
  /** Why it failed. */
  error: z.string().optional(),
  /** Of the last preview or import. */
  report: z.custom<ImportReport>().optional(),
  undone: z.custom<UndoReport>().optional(),
});

/** An uploaded file, and the last step that was done with it. */
export type ImportJob = z.infer<typeof jobSchema>;
export type ImportSettings = Pick<ImportJob, 'file' | 'format' | 'currency' | 'overwrite' | 'images'>;

export interface ImportJobDeps extends ImportCatalog {
  readonly system: System;
  readonly log: Logger;
}

/**
 * The imports that merchants start with an uploaded file. The file and the state of its last step are in `folder`, so
 * that every HTTP process shows them, also after a restart. A step runs in the process that has started it.
 */
export class ImportJobs {
  private readonly running = new Set<Promise<void>>();
  private readonly closing = new AbortController();

  constructor(
    private readonly deps: ImportJobDeps,
    private readonly folder: string,
  ) {}

  /** Keeps an uploaded file, and returns the run of its import. */
  async keep(store_id: StoreId, bytes: AsyncIterable<Uint8Array>): Promise<string> {
    const run = randomUUID();
    await mkdir(join(this.folder, store_id), { recursive: true, mode: 0o700 });
    await this.removeOld(store_id);
    const path = this.pathOf(store_id, run);
    try {
      await pipeline(bytes, createWriteStream(path, { mode: 0o600 }));
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
    return run;
  }

  /** Starts to say what an import of a kept file would do. */
  async preview({ environment, stores }: Principal, run: string, settings: ImportSettings): Promise<void> {
    const created_at = new Date(this.deps.system.now()).toISOString();
    const state = { step: 'preview', status: 'running', done: 0, total: 0 } as const;
    await this.start(stores[0]!, { run, environment, created_at, ...settings, ...state }, {});
  }

  /** Starts a step, also one that was stopped. Does nothing while another step of this import runs. */
  async continue(
    { stores, account_id, api_key_id }: Principal,
    run: string,
    step: ImportStep,
  ): Promise<void> {
    const job = await this.get(stores[0]!, run);
    if (!job || job.status === 'running') return;
    const { error: _, ...rest } = job;
    const next: ImportJob = { ...rest, step, status: 'running', done: 0, total: 0 };
    await this.start(stores[0]!, next, { account_id, api_key_id });
  }

  async get(store_id: StoreId, run: string): Promise<ImportJob | undefined> {
    if (!z.uuid().safeParse(run).success) return undefined;
    const path = this.stateOf(store_id, run);
    const job = await readJsonFile(path, jobSchema, 'an import');
    if (job?.status !== 'running') return job;
    const { mtimeMs } = await stat(path);
    return Date.now() - mtimeMs > SILENT_MS ? { ...job, status: 'stopped' } : job;
  }

  /** Returns the imports of a store, newest first. */
  async list(store_id: StoreId): Promise<ImportJob[]> {
    const names = await readdir(join(this.folder, store_id)).catch(() => []);
    const runs = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
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

  private async start(store_id: StoreId, job: ImportJob, actor: Actor): Promise<void> {
    await replaceJsonFile(this.stateOf(store_id, job.run), job);
    const running = this.run(store_id, job, actor).finally(() => this.running.delete(running));
    this.running.add(running);
  }

  /** Runs a step to its end. Never rejects. */
  private async run(store_id: StoreId, job: ImportJob, actor: Actor): Promise<void> {
    let state = job;
    let writing: Promise<void> | undefined;
    const write = (): Promise<void> => replaceJsonFile(this.stateOf(store_id, job.run), state);
    const timer = setInterval(() => {
      writing ??= write()
        .catch(() => {})
        .finally(() => (writing = undefined));
    }, PROGRESS_EVERY_MS);
    const onProgress = (done: number, total: number): void => {
      state = { ...state, done, total };
    };
    let ended: Partial<ImportJob>;
    try {
      ended = await this.work(store_id, job, actor, onProgress);
    } catch (error) {
      ended = { status: 'failed', error: this.messageOf(error, job, this.pathOf(store_id, job.run)) };
    }
    clearInterval(timer);
    await writing;
    state = { ...state, ...ended };
    await write().catch((error: unknown) =>
      this.deps.log.error({ err: error }, 'cannot keep the state of an import'),
    );
  }

  private async work(
    store_id: StoreId,
    job: ImportJob,
    actor: Actor,
    on_progress: (done: number, total: number) => void,
  ): Promise<Partial<ImportJob>> {
    const { run, environment, step } = job;
    const { signal } = this.closing;
    const context = { ...actor, request_id: run };
    if (step === 'undo') {
      const target = { environment, store_id, run, dry_run: false, signal, on_progress };
      const undone = await undoImport(this.deps, { ...context, source: 'import' }, target);
      const kept = undone?.kept.slice(0, ROWS_MAX) ?? [];
      const counts = { deleted: undone?.deleted ?? 0, reverted: undone?.reverted ?? 0 };
      return { status: signal.aborted ? 'stopped' : 'done', undone: { ...counts, kept } };
    }
    const store = await findStore(this.deps, { environment, id: store_id });
    if (!store) throw new CatalogError('store_not_found');
    const path = this.pathOf(store_id, run);
    const report = await importFile(this.deps, context, {
      ...{ ...job, store: { ...store, environment }, path },
      format: job.format ?? (await formatOf(path)),
      dry_run: step === 'preview',
      ...{ signal, on_progress },
    });
    return { status: report.complete ? 'done' : 'stopped', report: shortened(report) };
  }

  private messageOf(error: unknown, job: ImportJob, path: string): string {
    if (error instanceof ImportFileError) return error.message.replace(path, `“${job.file}”`);
    if (error instanceof CatalogError) return describeRejection(error);
    this.deps.log.error({ err: error, run: job.run }, 'an import has failed');
    return 'An internal error. The log of the service has the details.';
  }

  private async removeOld(store_id: StoreId): Promise<void> {
    const folder = join(this.folder, store_id);
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const { mtimeMs } = await stat(path);
      if (Date.now() - mtimeMs > KEPT_MS) await rm(path, { force: true });
    }
  }

  private readonly pathOf = (store_id: StoreId, run: string): string =>
    join(this.folder, store_id, `${run}.data`);
  private readonly stateOf = (store_id: StoreId, run: string): string =>
    join(this.folder, store_id, `${run}.json`);
}

type Actor = Partial<Pick<Principal, 'account_id' | 'api_key_id'>>;

const shortened = (report: ImportReport): ImportReport => ({
  ...report,
  failed: report.failed.slice(0, ROWS_MAX),
  warnings: report.warnings.slice(0, ROWS_MAX),
  kept: report.kept.slice(0, ROWS_MAX),
  images: [],
});
