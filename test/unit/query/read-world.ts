import { openViewStore } from '../../../services/boot/open-adapters';
import type { PageView } from '../../../services/query/page-view-counter';
import { queryRoutes } from '../../../services/query/routes';
import { CachedActiveView } from '../../../shared/adapters/active-view';
import type { JsonValue, Position } from '../../../shared/catalog/events/envelope';
import { partitionOf } from '../../../shared/catalog/events/partitions';
import { writeJson } from '../../../shared/catalog/json-text';
import { permissionsOf } from '../../../shared/catalog/vocabulary';
import type { Principal } from '../../../shared/http/request';
import type { Answer, Route } from '../../../shared/http/route';
import { parseConfig } from '../../../shared/kernel/config';
import { CatalogError } from '../../../shared/kernel/errors';
import type { ViewStore, ViewVersion } from '../../../shared/ports/view-store';
import { MemoryEventStore } from '../../support/memory-event-store';
import { noPictures } from '../../support/no-media';
import { makeTempDir, type TempDir } from '../../support/temp-dir';
import { documentsOf, NOW_MS, type StoreContents } from './catalog-documents';
import { idOf } from './sample';

export interface ReadRequest {
  readonly id?: string;
  /** The query string, without `?`. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly as?: Partial<Principal>;
  readonly method?: 'GET' | 'HEAD';
}

/**
 * The read endpoints on a real view store in a temporary folder. Tests write documents directly into the view store.
 */
export class ReadWorld {
  /** The current time for the reads, in Unix milliseconds. */
  now_ms = NOW_MS;
  /** How long reads wait for a minimum position: long, so that tests pass on a busy machine. */
  wait_ms = 60_000;
  /** How long reads wanted to wait for a minimum position. */
  readonly requested_waits_ms: number[] = [];
  /** The recorded views. */
  readonly viewed: PageView[] = [];
  private readonly routes: readonly Route[];

  private constructor(
    private readonly folder: TempDir,
    private readonly store: ViewStore,
    readonly version: ViewVersion,
    private readonly principal: Principal,
  ) {
    const now = () => this.now_ms;
    const view = new CachedActiveView(
      withWaits(store, (requested_ms) => {
        this.requested_waits_ms.push(requested_ms);
        return this.wait_ms;
      }),
      now,
    );
    const system = { now, random: (size: number) => new Uint8Array(size) };
    const recordPageView = (viewed: PageView): void => void this.viewed.push(viewed);
    const log = new MemoryEventStore();
    this.routes = queryRoutes({
      views: { live: view, test: view, control: view },
      events: { live: log, test: log },
      system,
      recordPageView,
      pictures: noPictures,
    });
  }

  /**
   * Opens a view store with an active, empty version. Requests use a secret key for `stores`. The view store is
   * embedded unless the settings name a server.
   */
  static async open(stores: readonly string[], settings: Record<string, string> = {}): Promise<ReadWorld> {
    const folder = makeTempDir('catalog-reads-');
    const store = await openViewStore(parseConfig({ DATA_DIR: folder.path, ...settings }), 'live');
    const { version } = await store.createVersion(1);
    await store.activate(version);
    return new ReadWorld(folder, store, await store.open(version), {
      api_key_id: idOf('key'),
      account_id: idOf('account'),
      key_type: 'secret',
      environment: 'live',
      stores: stores as Principal['stores'],
      permissions: permissionsOf('secret'),
    });
  }

  /** Sends a request to a route, for example `/api/listing/:id`. */
  async ask(path: string, request: ReadRequest = {}): Promise<ParsedAnswer> {
    const route = this.routes.find((one) => one.path === path);
    if (!route) throw new Error(`no route ${path}`);
    const parameters = new URLSearchParams(request.query);
    const names = [...new Set(parameters.keys())];
    const answer = await route.handler({
      method: request.method ?? 'GET',
      principal: { ...this.principal, ...request.as },
      params: request.id === undefined ? {} : { id: request.id },
      query: Object.fromEntries(names.map((name) => [name, parameters.getAll(name)])),
      body: {},
      request_id: 'request',
      answer_by_ms: performance.now() + 60_000,
      assertAwaited: () => {},
      header: (name) => request.headers?.[name],
    });
    return parsed(answer);
  }

  /**
   * Writes all documents of the store, deletes the publications with the ids `deleted`, and advances the checkpoint of the
   * store's partition by one.
   */
  async fill(contents: StoreContents, deleted: readonly string[] = []): Promise<Position> {
    const partition = partitionOf(contents.store.id, this.store.partition_count);
    const { checkpoint, revision } = await this.version.partition(partition);
    const to = checkpoint + 1n;
    const tombstones = deleted.map((id) => ({ collection: 'publications', id, document: null }) as const);
    const writes = [...documentsOf(contents), ...tombstones].map((one) => ({ ...one, position: to }));
    const outcome = await this.version.apply({ partition, revision, checkpoint: to, writes });
    if (outcome !== 'applied') throw new Error(outcome);
    return to;
  }

  async close(): Promise<void> {
    await this.store.close();
    this.folder.remove();
  }
}

/** An answer with parsed data. */
export type ParsedAnswer = Answer & { readonly data: JsonValue };

const parsed = (answer: Answer): ParsedAnswer => ({ ...answer, data: JSON.parse(writeJson(answer.data)) });

/** Returns the same store with a `waitFor` that waits for as long as `waitMs` returns for the requested time. */
function withWaits(store: ViewStore, waitMs: (requested_ms: number) => number): ViewStore {
  const open = async (number: number): Promise<ViewVersion> => {
    const version = await store.open(number);
    const waitFor: ViewVersion['waitFor'] = (partition, position, timeout_ms) =>
      version.waitFor(partition, position, waitMs(timeout_ms));
    return Object.create(version, { waitFor: { value: waitFor, writable: true } });
  };
  return Object.create(store, { open: { value: open } });
}

/** Returns the condition with which the read is rejected. Throws if it succeeds. */
export async function refusal(reading: Promise<unknown>): Promise<string> {
  try {
    await reading;
  } catch (error) {
    if (error instanceof CatalogError) return error.condition;
    throw error;
  }
  throw new Error('the read succeeded');
}

/** The principal of a storefront: a public key with all its permissions. */
export const STOREFRONT: Partial<Principal> = { key_type: 'public', permissions: permissionsOf('public') };
