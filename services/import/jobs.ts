import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type HeldLease, leaseOwner, takeLease } from '../../projections/engine/lease';
import { describeRejection } from '../../shared/api/error-catalogue';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { Environment } from '../../shared/catalog/realm';
import {
  IMPORT_FORMATS,
  IMPORT_STEPS,
  type ImportFormat,
  type ImportStep,
  ROW_OUTCOMES,
  type RowOutcome,
} from '../../shared/catalog/vocabulary';
import type { Principal } from '../../shared/http/request';
import { Semaphore, withTimeout } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import { readJsonFile, replaceJsonFile } from '../../shared/kernel/json-file';
import type { Logger } from '../../shared/kernel/log';
import { isSameValue } from '../../shared/kernel/same-value';
import type { System } from '../../shared/kernel/system';
import { shortenText } from '../../shared/kernel/text';
import type { ViewStore } from '../../shared/ports/view-store';
import { waitUntilProjected } from '../command/request';
import { findStore } from '../command/store';
import { type UndoReport, undoRun } from '../command/undo';
import { type DetectedFile, detectFile, formatOf } from './format';
import { type ImportCatalog, importFile } from './into-store';
import type { RowNote } from './item';
import type { ImportReport, PublicationPreview } from './report';
import { ImportFileError, readLines } from './text-file';
import { currencyOfNew } from './writer';

/** How long a file is kept, and how many of a store: of each key that needs confirmation, and of all other keys together. */
const KEPT_MS = 7 * 24 * 3_600_000;
const FILES_MAX = 20;
/** The most rows of a file. A preview keeps what it would write in memory: about 6 kB for each product. */
const IMPORT_ROWS_MAX = 50_000;
/** How often a step writes how far it is. */
const PROGRESS_EVERY_MS = 1_000;
/** How long a step is protected from a second one after its process was killed. An embedded store notices that at once. */
const LEASE_MS = 20_000;
/** How often, and how many times, a preview tries again to get the lease of a step that has just ended. */
const LEASE_POLL_MS = 50;
const LEASE_TRIES = 20;
/** How long a step waits until the documents show what was written before it. */
const CATCH_UP_MS = 30_000;
/** The most unread parts of the file, and publications that an undo kept, that the state of an import has. */
const STATE_ROWS_MAX = 200;
/** The most rows of each outcome in the file of rows. */
const LISTED_ROWS_MAX = 10_000;
/** How long an upload may take, and be stored without becoming an import because the request was refused. */
const UPLOAD_MS = 3_600_000;
const FILE_NAME_MAX = 255;

type ReportCounts = ReturnType<typeof countsOf>;

const jobSchema = z.object({
  /** Names the import. Its events have it as the id of their request. */
  run: z.uuid(),
  file: z.string(),
  /** The key that has uploaded the file, if it needs confirmation. */
  uploaded_by: z.string().optional(),
  /** Detected from the content if missing. */
  format: z.enum(IMPORT_FORMATS).optional(),
  currency: z.string().optional(),
  overwrite: z.boolean(),
  images: z.enum(['public', 'skip']),
  columns: z.record(z.string(), z.string().nullable()).optional(),
  created_at: z.iso.datetime(),
  step: z.enum(IMPORT_STEPS),
  /** `stopped`: the service has ended meanwhile. A merchant can start the step again, and it then does the rest. */
  status: z.enum(['running', 'done', 'failed', 'stopped']),
  /** Whether an import was started, so that there may be something to undo. */
  was_imported: z.boolean(),
  done: z.number(),
  total: z.number(),
  /** Why it failed. */
  error: z.string().optional(),
  /** How the last preview or import has read the file. */
  detected: z.custom<DetectedFile & { readonly currency?: string }>().optional(),
  /** Of the last preview or import that has ended. */
  report: z.custom<ReportCounts>().optional(),
  /** How many rows the file of rows has. Missing in the state of an earlier release. */
  listed: z.record(z.enum(ROW_OUTCOMES), z.number()).optional(),
  undone: z.custom<UndoReport>().optional(),
});

/** An uploaded file, and the last step that was done with it. */
export type ImportJob = z.infer<typeof jobSchema>;
export type ImportSettings = Pick<ImportJob, 'format' | 'currency' | 'overwrite' | 'images' | 'columns'>;

/** Who imports, and into which store. */
export interface ImportOwner
  extends Pick<Principal, 'environment' | 'account_id' | 'api_key_id' | 'needs_confirmation'> {
  readonly store_id: StoreId;
  /** The run that the request belongs to. */
  readonly run?: string | undefined;
}

/** A file that was uploaded: its name and the hash of its content. */
export type UploadedFile = { readonly name: string; readonly hash: string };

/** A row of the report. */
interface ListedRow {
  readonly outcome: RowOutcome;
  readonly line: number;
  /** Missing for a row of JSON Lines that failed or has a warning. */
  readonly kind?: 'publication' | 'listing';
  readonly external_id?: string;
  readonly title?: string;
  readonly price?: NonNullable<PublicationPreview['price']>;
  readonly fields?: readonly string[];
  readonly changes?: PublicationPreview['changes'];
  readonly reason?: string;
}

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
  /** Where the bytes of an uploaded file are. */
  private readonly uploads = new WeakMap<UploadedFile, string>();

  constructor(
    private readonly deps: ImportJobDeps,
    private readonly folder: string,
  ) {}

  /**
   * Stores the bytes of an upload, for `create` in the same process. Where they are is not in the result, so that the same
   * file is the same request for an `Idempotency-Key`.
   */
  async receive(bytes: AsyncIterable<Uint8Array>, file_name: string): Promise<UploadedFile> {
    const folder = join(this.folder, 'uploads');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, randomUUID());
    const hash = createHash('sha256');
    async function* hashed(): AsyncGenerator<Uint8Array> {
      for await (const chunk of bytes) {
        hash.update(chunk);
        yield chunk;
      }
    }
    try {
      await pipeline(hashed, createWriteStream(path, { mode: 0o600 }));
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
    const file = { name: file_name.slice(0, FILE_NAME_MAX) || 'file', hash: hash.digest('base64url') };
    this.uploads.set(file, path);
    return file;
  }

  /** Removes a file of `receive`, unless it has become an import. */
  async discard(file: UploadedFile): Promise<void> {
    const path = this.uploads.get(file);
    if (path) await rm(path, { force: true });
  }

  /**
   * Makes an import of a file of `receive`, and starts its preview. If another step of the store runs, the preview stays
   * `stopped`. `run`: if there is already an import with this id, it is returned, and nothing starts.
   */
  async create(
    owner: ImportOwner,
    file: UploadedFile,
    settings: ImportSettings,
    run: string = randomUUID(),
  ): Promise<ImportJob> {
    const { store_id } = owner;
    const existing = await this.get(store_id, run);
    if (existing) return existing;
    await mkdir(join(this.folder, store_id), { recursive: true, mode: 0o700 });
    const created_at = new Date(this.deps.system.now()).toISOString();
    const state = { step: 'preview', status: 'stopped', was_imported: false, done: 0, total: 0 } as const;
    const uploader = owner.needs_confirmation && { uploaded_by: owner.api_key_id };
    const job: ImportJob = { run, file: file.name, ...uploader, created_at, ...settings, ...state };
    try {
      await rename(this.uploads.get(file)!, this.pathOf(store_id, run));
      await this.write(store_id, job);
    } catch (error) {
      await this.remove(store_id, run);
      throw error;
    }
    // After the file is stored: of uploads at the same time, the last one to end sees all of them.
    await this.removeOld(store_id);
    try {
      return await this.startStep(owner, run, 'preview');
    } catch (error) {
      if (error instanceof CatalogError) return job;
      throw error;
    }
  }

  /**
   * Starts a step, also one that was stopped. A preview can change the settings. Throws `import_not_found`, and
   * `import_refused` if another step of the store runs or if the step has nothing to do: an import needs a preview, and an
   * undo an import. A key that needs confirmation previews only what it has uploaded. `proposed`: the settings that
   * `settingsOf` returned when the step was proposed. Throws `import_refused` if they have changed since.
   */
  async startStep(
    owner: ImportOwner,
    run: string,
    step: ImportStep,
    { proposed, ...settings }: Partial<ImportSettings> & { readonly proposed?: unknown } = {},
  ): Promise<ImportJob> {
    if (this.closing.signal.aborted) throw new CatalogError('unavailable');
    const { store_id } = owner;
    // A second preview does no harm, and the console sends one for each change.
    const lease = await this.takeLease(owner, step === 'preview' ? LEASE_TRIES : 0);
    try {
      const before = await this.get(store_id, run);
      if (!before) throw new CatalogError('import_not_found');
      assertStart(step, before);
      if (owner.needs_confirmation && before.uploaded_by !== owner.api_key_id)
        throw refused('A key that needs confirmation can preview only files that it has uploaded');
      if (step === 'import' && proposed && !isSameValue(proposed, settingsOf(before)))
        throw refused('The settings of the import have changed since the start was proposed');
      const { error: _error, undone: _undone, report, detected, listed, ...kept } = before;
      const was_imported = before.was_imported || step === 'import';
      const job: ImportJob = {
        ...{ ...kept, ...settings, step, status: 'running', was_imported, done: 0, total: 0 },
        // Without a new preview, a file with other settings cannot be imported.
        ...(step !== 'preview' && { report, detected, listed }),
      };
      await this.write(store_id, job);
      const running = this.run(owner, job, lease).finally(() => this.running.delete(running));
      this.running.add(running);
      return job;
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  /** Removes an import. Throws `import_not_found`, and `import_refused` if a step of the store runs. */
  async delete(owner: ImportOwner, run: string): Promise<void> {
    // So that nobody starts a step with the file meanwhile.
    const lease = await this.takeLease(owner);
    try {
      if (!(await this.get(owner.store_id, run))) throw new CatalogError('import_not_found');
      await this.remove(owner.store_id, run);
    } finally {
      await lease.release();
    }
  }

  private async takeLease({ environment, store_id }: ImportOwner, tries = 0): Promise<HeldLease> {
    const { viewStores, log } = this.deps;
    const name = `import:${store_id}`;
    const take = () => takeLease(viewStores[environment], name, leaseOwner(), LEASE_MS, log);
    let lease = await take();
    // A step that shows its end keeps the lease for a moment.
    for (let n = 0; !lease && n < tries; n++) {
      await sleep(LEASE_POLL_MS);
      lease = await take();
    }
    if (!lease) throw refused('An import of the store runs; try again when it has ended');
    return lease;
  }

  /** Returns the rows of the last report from `skip` on, sorted by line, of one outcome or of all. */
  async rows(
    store_id: StoreId,
    { run, listed }: ImportJob,
    { outcome, skip, limit }: { outcome?: RowOutcome | undefined; skip: number; limit: number },
  ): Promise<{ rows: JsonObject[]; total: number }> {
    const counted: readonly RowOutcome[] = outcome ? [outcome] : ROW_OUTCOMES;
    const total = counted.reduce<number>((sum, each) => sum + (listed?.[each] ?? 0), 0);
    const rows: JsonObject[] = [];
    if (skip >= total) return { rows, total };
    const start = outcome && startOf(outcome);
    let index = 0;
    for await (const { text } of readLines(this.rowsOf(store_id, run))) {
      if (start && !text.startsWith(start)) continue;
      if (index++ >= skip) rows.push(JSON.parse(text) as JsonObject);
      if (rows.length === limit) break;
    }
    return { rows, total };
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
  private async run(owner: ImportOwner, job: ImportJob, lease: HeldLease): Promise<void> {
    const { log } = this.deps;
    const { store_id } = owner;
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
    const update = (change: Partial<ImportJob>): void => {
      state = { ...state, ...change };
    };
    const ended = await this.slot
      .run(() => this.work(owner, job, signal, update))
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
    { store_id, environment, account_id, api_key_id, run: of_request }: ImportOwner,
    { run, step, ...settings }: ImportJob,
    signal: AbortSignal,
    update: (change: Partial<ImportJob>) => void,
  ): Promise<Partial<ImportJob>> {
    if (signal.aborted) return { status: 'stopped' };
    const on_progress = (done: number, total: number): void => update({ done, total });
    const context = { account_id, api_key_id, request_id: run, run: of_request };
    const head = await this.deps.events[environment].head();
    const projected = waitUntilProjected(this.deps.views[environment], store_id, head, CATCH_UP_MS);
    await withTimeout(projected, CATCH_UP_MS, () => false, signal);
    if (step === 'undo') {
      const target = { environment, store_id, run, dry_run: false, signal, on_progress };
      const written = { ...context, source: 'import', request_id: `undo-${run}` } as const;
      const undone = await undoRun(this.deps, written, target);
      if (!undone) return { status: 'done', undone: { deleted: 0, reverted: 0, restored: 0, kept: [] } };
      const { complete, position: _, kept, ...counts } = undone;
      const status = complete ? 'done' : 'stopped';
      return { status, undone: { ...counts, kept: kept.slice(0, STATE_ROWS_MAX) } };
    }
    const store = await findStore(this.deps, { environment, id: store_id });
    if (!store) throw new CatalogError('store_not_found');
    const path = this.pathOf(store_id, run);
    const { columns, currency, overwrite, images } = settings;
    const format = settings.format ?? (await formatOf(path, columns));
    const currency_of_new = currency ?? currencyOfNew(store);
    const detected = await detectFile(path, format, columns, store);
    // Before the file is read, which may fail because of what was detected.
    update({ detected: { ...detected, ...(format !== 'prices' && { currency: currency_of_new }) } });
    const report = await importFile(this.deps, context, {
      ...{ store, path, format, currency, columns, overwrite, images, signal, on_progress },
      rows_max: IMPORT_ROWS_MAX,
      dry_run: step === 'preview',
      lists_changes: true,
    });
    const listed = await this.writeRows(this.rowsOf(store_id, run), format, report);
    return { status: report.complete ? 'done' : 'stopped', report: countsOf(report), listed };
  }

  /** Writes the file of rows, one JSON object a line. Returns how many rows of each outcome it has. */
  private async writeRows(
    path: string,
    format: ImportFormat,
    report: ImportReport,
  ): Promise<Record<RowOutcome, number>> {
    const all = rowsIn(report, format);
    const listed = ROW_OUTCOMES.map((outcome) =>
      all.filter((row) => row.outcome === outcome).slice(0, LISTED_ROWS_MAX),
    );
    const rows = listed.flat().sort((a, b) => a.line - b.line);
    const text = rows.map((row, index) => `${JSON.stringify({ ...row, id: String(index + 1) })}\n`).join('');
    // Replaced at once, because somebody may read the rows of the step before.
    await writeFile(`${path}.tmp`, text, { mode: 0o600 });
    await rename(`${path}.tmp`, path);
    const counts = ROW_OUTCOMES.map((outcome, index) => [outcome, listed[index]!.length]);
    return Object.fromEntries(counts) as Record<RowOutcome, number>;
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
    const kept = jobs.filter(({ status, created_at, uploaded_by }, index) => {
      const newer = jobs.slice(0, index).filter((other) => other.uploaded_by === uploaded_by);
      return status === 'running' || (newer.length < FILES_MAX && Date.parse(created_at) > oldest_ms);
    });
    const removed = jobs.filter((job) => !kept.includes(job)).map(({ run }) => run);
    for (const run of removed) await this.remove(store_id, run);
    const runs = new Set(jobs.map(({ run }) => run));
    for (const name of await this.filesOf(store_id)) {
      const path = join(this.folder, store_id, name);
      const age = await stat(path).catch(() => undefined);
      if (!runs.has(name.split('.')[0]!) && age && age.mtimeMs < oldest_ms) await rm(path, { force: true });
    }
    for (const name of await this.filesOf('uploads')) {
      const path = join(this.folder, 'uploads', name);
      const age = await stat(path).catch(() => undefined);
      if (age && age.mtimeMs < Date.now() - UPLOAD_MS) await rm(path, { force: true });
    }
  }

  private async remove(store_id: StoreId, run: string): Promise<void> {
    for (const pathOf of [this.pathOf, this.rowsOf, this.stateOf])
      await rm(pathOf(store_id, run), { force: true });
  }

  private async filesOf(folder: string): Promise<string[]> {
    try {
      return await readdir(join(this.folder, folder));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return [];
    }
  }

  private async write(store_id: StoreId, job: ImportJob): Promise<void> {
    await replaceJsonFile(this.stateOf(store_id, job.run), job);
    // `remove` deletes the file before the state, so an import that was removed meanwhile leaves no state.
    if (!existsSync(this.pathOf(store_id, job.run))) await this.remove(store_id, job.run);
  }

  private readonly pathOf = (store_id: StoreId, run: string): string =>
    join(this.folder, store_id, `${run}.data`);
  private readonly stateOf = (store_id: StoreId, run: string): string =>
    join(this.folder, store_id, `${run}.json`);
  private readonly rowsOf = (store_id: StoreId, run: string): string =>
    join(this.folder, store_id, `${run}.rows`);
}

/** Returns the settings of an import, as the interface shows them. */
export function settingsOf({ format, currency, overwrite, images, columns = {} }: ImportSettings) {
  return { ...(format && { format }), ...(currency && { currency }), overwrite, images, columns };
}

const refused = (message: string): CatalogError => new CatalogError('import_refused', { message });

/** Throws `import_refused` for an import without a preview that came to its end, and an undo without an import. */
function assertStart(step: ImportStep, { report, was_imported }: ImportJob): void {
  if (step === 'undo' && !was_imported)
    throw refused('The file was not imported, so there is nothing to undo');
  const has_preview = report && (report.complete || !report.dry_run);
  if (step === 'import' && !has_preview)
    throw refused('The file has no complete preview; start one before the import');
}

/** The beginning of the rows with an outcome in the file of rows. */
const startOf = (outcome: RowOutcome): string => `{"outcome":"${outcome}",`;

/** Returns the rows that a report lists. `outcome` is their first property, because `startOf` finds rows by it. */
/** The most characters that a row of a report shows of an invalid id, and of a reason, which may have invalid values. */
const SHOWN_LENGTH_MAX = 1_000;

function rowsIn({ preview, failed, warnings, kept }: ImportReport, format: ImportFormat): ListedRow[] {
  const has_kinds = format !== 'jsonl' && format !== 'translations';
  const noteKind = has_kinds && ({ kind: 'publication' } as const);
  const named = (external_id: string | null) =>
    external_id !== null && { external_id: shortenText(external_id, SHOWN_LENGTH_MAX) };
  const noted =
    (outcome: RowOutcome) =>
    ({ line, external_id, reason }: RowNote): ListedRow => ({
      ...{ outcome, line, ...noteKind, ...named(external_id) },
      reason: shortenText(reason, SHOWN_LENGTH_MAX),
    });
  return [
    ...preview.map(({ outcome, price, ...row }): ListedRow => {
      return { outcome, kind: 'publication', ...row, ...(price && { price }) };
    }),
    ...failed.map(noted('failed')),
    ...warnings.map(noted('warning')),
    ...kept.map(({ line, external_id, fields }): ListedRow => {
      const kind = fields[0]?.startsWith('listing.') ? 'listing' : 'publication';
      return { outcome: 'kept', line, kind, ...named(external_id), fields };
    }),
  ];
}

/** Returns a report without its rows, which have a file of their own. */
function countsOf(report: ImportReport) {
  const { dry_run, wrote, complete, currency, unread, unused_columns } = report;
  const { listings, publications, reviews, media } = report;
  return {
    ...{ dry_run, wrote, complete, ...(currency && { currency }) },
    ...{ listings, publications, reviews, media, unused_columns },
    unread: unread.slice(0, STATE_ROWS_MAX),
  };
}
