import { CatalogApiError, type CatalogClient, type Change, type Proposal } from 'catalog-client';
import { isSame } from '../../lib/draft';
import { readProducts } from '../products/work';

type Fields = Readonly<Record<string, unknown>>;

/** A write of a proposal: of one resource, or of one item of a batch. */
interface Write {
  readonly resource: Change['resource'];
  readonly verb: 'created' | 'updated' | 'deleted';
  /** Empty for a new resource, and for one that is named by its external id. */
  readonly id: string;
  readonly body: Fields;
}

interface BatchBody {
  readonly listings?: readonly { readonly body: Fields }[];
  readonly items: readonly {
    readonly action: 'create' | 'update' | 'put' | 'delete';
    readonly id?: string;
    readonly external_id?: string;
    readonly body?: Fields;
  }[];
}

const SINGLE = /^(create|update|delete)(Publication|Variant|Listing|Media|Review|Store)$/;
const VERBS = { create: 'created', update: 'updated', put: 'updated', delete: 'deleted' } as const;

/** Returns what a proposal writes, undefined for a write that has no words. */
function writesOf({ operation, path, body = {} }: Proposal): Write[] | undefined {
  if (operation === 'batchPublications') {
    const { listings = [], items } = body as unknown as BatchBody;
    return [
      ...listings.map(({ body }): Write => ({ resource: 'listing', verb: 'updated', id: '', body })),
      ...items.map(
        ({ action, id = '', external_id, body = {} }): Write => ({
          ...{ resource: 'publication', verb: VERBS[action], id },
          body: external_id === undefined ? body : { title: external_id, ...body },
        }),
      ),
    ];
  }
  const [, action, resource] = SINGLE.exec(operation) ?? [];
  if (!action || !resource) return undefined;
  const verb = VERBS[action as 'create' | 'update' | 'delete'];
  const id = verb === 'created' ? '' : (path.split('?')[0]!.split('/')[3] ?? '');
  return [{ resource: resource.toLowerCase() as Change['resource'], verb, id, body }];
}

/**
 * Returns the changes that the history would have if the proposal were confirmed now, undefined if they cannot be told. They
 * differ from the body of the proposal where somebody has changed the same resource meanwhile.
 */
export async function readProposedChanges(
  client: CatalogClient,
  proposal: Proposal,
  name: string | undefined,
): Promise<Change[] | undefined> {
  const writes = writesOf(proposal);
  if (!writes) return undefined;
  const current = await readCurrent(client, writes);
  return writes.flatMap((write, index) =>
    changesOf(write, current.get(write.id)).map(
      (change): Change => ({
        ...{ id: `${index}`, resource: write.resource, resource_id: write.id, revision: 1 },
        ...{ occurred_at: proposal.created_at, actor: { type: 'key', ...(name && { name }) } },
        ...change,
      }),
    ),
  );
}

/** Returns the resources as they are now, by their ids. Leaves out those that do not exist. */
async function readCurrent(client: CatalogClient, writes: readonly Write[]): Promise<Map<string, Fields>> {
  const known = writes.filter(({ id, resource }) => id !== '' || resource === 'store');
  const ids = known.filter(({ resource }) => resource === 'publication').map(({ id }) => id);
  const current = new Map<string, Fields>(
    (await readProducts(client, ids)).map((product) => [product.id, product as unknown as Fields]),
  );
  for (const { resource, id } of known) {
    if (resource === 'publication' || resource === 'review') continue;
    try {
      current.set(id, (await readOne(client, resource, id)) as unknown as Fields);
    } catch (error) {
      if (!(error instanceof CatalogApiError) || error.status !== 404) throw error;
    }
  }
  return current;
}

async function readOne(
  client: CatalogClient,
  resource: 'listing' | 'media' | 'store' | 'variant',
  id: string,
) {
  if (resource === 'store') return client.store.get();
  if (resource === 'media') return client.media.get(id);
  const query = { visibility: 'all' } as const;
  if (resource === 'listing') return client.listings.get(id, query);
  const variant = await client.publications.variant(id, query);
  // As in the history, a variant has the title of its product.
  const { title } = await client.publications.get(variant.publication_id, query);
  return { ...variant, title };
}

type Told = Pick<Change, 'type' | 'changed' | 'title' | 'publication_id'>;

/** Returns the change of a write. A new resource has a second one, with its values. */
function changesOf({ resource, verb, body }: Write, current: Fields | undefined): Told[] {
  const title = (current?.title ?? current?.name ?? body.title ?? body.name) as string | undefined;
  const about = {
    ...(title && { title }),
    ...(resource === 'variant' && { publication_id: (current?.publication_id ?? '') as string }),
  };
  const told = (type: string, changed: Change['changed']): Told => ({
    ...{ type: `${resource}.${type}`, changed, ...about },
  });
  if (verb === 'deleted') return [told(verb, {})];
  const changed = differences(body, current);
  if (verb === 'created') {
    const { title: _, name: __, ...others } = changed;
    return [told(verb, {}), told('updated', others)];
  }
  return Object.keys(changed).length > 0 ? [told(verb, changed)] : [];
}

function differences(body: Fields, current: Fields = {}): Change['changed'] {
  const pairs = Object.entries(body).map(([field, value]) => {
    const before = current[field] ?? null;
    if (field === 'variants') return [field, pairOfVariants(value, before)] as const;
    return [field, { before, after: value ?? null }] as const;
  });
  return Object.fromEntries(pairs.filter(([, { before, after }]) => !isSame(before, after)));
}

type Variant = Fields & { readonly id?: string; readonly option_values?: unknown };

/** Returns the variants that the body names, before and after, and those that it removes. New ones get an id of their own. */
function pairOfVariants(given: unknown, current: unknown): Change['changed'][string] {
  const { data = [], has_more } = (current ?? {}) as {
    readonly data?: Variant[];
    readonly has_more?: boolean;
  };
  const after = ((given ?? []) as readonly Variant[]).map((variant, index) => {
    const known = data.find(({ id, option_values }) =>
      variant.id ? variant.id === id : isSame(option_values, variant.option_values),
    );
    return { ...known, ...variant, id: known?.id ?? `new ${index}` };
  });
  const ids = new Set(after.map(({ id }) => id));
  const before = data.filter(({ id }) => !has_more || ids.has(id!));
  return { before, after };
}
