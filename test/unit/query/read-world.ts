import { openViewStore } from '../../../services/boot/open-adapters';
import { queryRoutes } from '../../../services/query/routes';
import type { Viewed } from '../../../services/query/view-counter';
import { CachedActiveView } from '../../../shared/adapters/active-view';
import type { CollectionName, ViewDocument } from '../../../shared/catalog/documents';
import { type JsonValue, type Position, START } from '../../../shared/catalog/events/envelope';
import { laneOf } from '../../../shared/catalog/events/lanes';
import { writeJson } from '../../../shared/catalog/json-text';
import { permissionsOf } from '../../../shared/catalog/vocabulary';
import type { Principal } from '../../../shared/http/request';
import type { Answer, Route } from '../../../shared/http/route';
import { parseConfig } from '../../../shared/kernel/config';
import { CatalogError } from '../../../shared/kernel/errors';
import type { ViewStore, ViewVersion } from '../../../shared/ports/view-store';
import { noPictures } from '../../support/no-media';
import { makeTempDir, type TempDir } from '../../support/temp-dir';
import { documentsOf, type StoreContents } from './catalog-documents';
import { idOf } from './sample';

export interface Asked {
  readonly id?: string;
  /** As after the `?` of an address. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly as?: Partial<Principal>;
  readonly method?: 'GET' | 'HEAD';
}

/** The reads over a real view store on a folder of its own; documents are written straight into it. */
export class ReadWorld {
  /** What the reads take for the time, Unix milliseconds. */
  now_ms = 1_000_000;
  /** At least so long a read waits for a position, on a machine however busy; the product's own limit where it is 0. */
  patience_ms = 60_000;
  /** What was told of as viewed. */
  readonly viewed: Viewed[] = [];
  private readonly heads = new Map<number, Position>();
  private readonly routes: readonly Route[];

  private constructor(
    private readonly folder: TempDir,
    private readonly store: ViewStore,
    readonly version: ViewVersion,
    private readonly principal: Principal,
  ) {
    const now = () => this.now_ms;
    const view = new CachedActiveView(
      patient(store, () => this.patience_ms),
      now,
    );
    const system = { now, random: (size: number) => new Uint8Array(size) };
    const recordView = (viewed: Viewed): void => void this.viewed.push(viewed);
    this.routes = queryRoutes({
      views: { live: view, test: view },
      system,
      recordView,
      pictures: noPictures,
    });
  }

  /**
   * An active, empty version; the principal holds a secret key for `stores`. Embedded, unless the settings name a
   * server.
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

  /** Answers of the read at this path, such as `/api/listing/:id`. */
  async ask(path: string, asked: Asked = {}): Promise<Sent> {
    const route = this.routes.find((one) => one.path === path);
    if (!route) throw new Error(`no route ${path}`);
    const parameters = new URLSearchParams(asked.query);
    const names = [...new Set(parameters.keys())];
    const answer = await route.handler({
      method: asked.method ?? 'GET',
      principal: { ...this.principal, ...asked.as },
      params: asked.id === undefined ? {} : { id: asked.id },
      query: Object.fromEntries(names.map((name) => [name, parameters.getAll(name)])),
      body: {},
      request_id: 'request',
      header: (name) => asked.headers?.[name],
    });
    return asSent(answer);
  }

  /** Writes all documents of the store, and moves its lane on by one. */
  async fill(contents: StoreContents): Promise<Position> {
    const lane = laneOf(contents.store.id, this.store.lane_count);
    const from = this.heads.get(lane) ?? START;
    const to = from + 1n;
    const written = documentsOf(contents).map((one) => ({ ...one, position: to }));
    const known = await Promise.all(written.map((one) => this.version.get(one.collection, one.id)));
    const phase = written.map((one, at) => ({ ...one, expected: known[at]?.position ?? null }));
    const outcome = await this.version.apply({ lane, from, to, phases: [phase] });
    if (outcome !== 'applied') throw new Error(outcome);
    this.heads.set(lane, to);
    return to;
  }

  async document(collection: CollectionName, id: string): Promise<ViewDocument> {
    const found = await this.version.get(collection, id, ['state', 'expansions']);
    if (!found?.document) throw new Error(`no ${collection} ${id}`);
    return found.document;
  }

  async close(): Promise<void> {
    await this.store.close();
    this.folder.remove();
  }
}

/** An answer with its data as who asked for it reads them. */
export type Sent = Answer & { readonly data: JsonValue };

const asSent = (answer: Answer): Sent => ({ ...answer, data: JSON.parse(writeJson(answer.data)) });

/** The same documents, with `waitFor` waiting for `least_ms()` at least. */
function patient(store: ViewStore, least_ms: () => number): ViewStore {
  const open = async (number: number): Promise<ViewVersion> => {
    const version = await store.open(number);
    const waitFor: ViewVersion['waitFor'] = (lane, position, timeout_ms) =>
      version.waitFor(lane, position, Math.max(timeout_ms, least_ms()));
    return Object.create(version, { waitFor: { value: waitFor } });
  };
  return Object.create(store, { open: { value: open } });
}

/** The condition that the read is refused for; fails where it is not refused. */
export async function refusal(reading: Promise<unknown>): Promise<string> {
  try {
    await reading;
  } catch (error) {
    if (error instanceof CatalogError) return error.condition;
    throw error;
  }
  throw new Error('was not refused');
}

/** What a public key may: as that of a storefront. */
export const STOREFRONT: Partial<Principal> = { key_type: 'public', permissions: permissionsOf('public') };
