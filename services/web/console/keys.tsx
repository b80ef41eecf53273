import { randomUUID } from 'node:crypto';
import { scanBodies } from '../../../projections/maintenance/bodies';
import { type ApiKey, keyStatus } from '../../../shared/catalog/api-key/api-key';
import type { Realm } from '../../../shared/catalog/realm';
import { type KeyType, permissionsOf } from '../../../shared/catalog/vocabulary';
import type { Principal } from '../../../shared/http/request';
import type { ApiKeyId } from '../../../shared/kernel/ids';
import type { ActiveView } from '../../../shared/ports/document-reader';
import {
  type CreatedApiKey,
  createApiKey,
  findApiKey,
  readApiKey,
  revokeApiKey,
  rotateApiKey,
} from '../../command/api-key';
import type { ControlDeps, WriteContext } from '../../command/execute';
import { InvalidText } from './fields';
import { messagePage, type PageAnswer } from './frame';
import { Button, NewSecret, Select, Submit, secondOf, WideTable } from './parts';
import { type Page, unlessInvalid, type Visit } from './visit';

export interface KeyDeps extends ControlDeps {
  readonly views: Readonly<Record<Realm, ActiveView>>;
}

/** How long the old key works after a rotation. */
const OVERLAP_MS = 24 * 3_600_000;
const KEYS_MAX = 100;
const HOME = '/console/keys';
const TYPES: Readonly<Record<KeyType, string>> = {
  public: 'Public: reads what shoppers may see',
  secret: 'Secret: reads and writes everything of the store',
};

/**
 * The pages for the keys of the store: the list, its form for a new key, and the form that changes a key. Only a key
 * without any restriction may manage keys, because the new ones have none. It manages the keys whose stores are all among
 * its own.
 */
export function keyPages(deps: KeyDeps): Readonly<Record<'list' | 'create' | 'change', Page>> {
  const keysOf = async (principal: Principal, created?: CreatedApiKey): Promise<ApiKey[]> => {
    const found = await scanBodies(deps, 'control', 'api_keys', { account_id: principal.account_id });
    const own = found.filter((key) => isWithin(key, principal)).map(({ id }) => id);
    // The documents may be a moment old.
    const ids = new Set(created ? [...own, created.id] : own);
    return Promise.all([...ids].map((id) => readApiKey(deps, id)));
  };
  const list = async ({ principal }: Visit, created?: CreatedApiKey): Promise<PageAnswer> => ({
    title: 'Keys',
    body: (
      <Keys
        keys={await keysOf(principal, created)}
        now_ms={deps.system.now()}
        own_id={principal.api_key_id}
        secret={created?.key}
      />
    ),
  });
  const guarded =
    (page: Page): Page =>
    async (visit) => {
      const { permissions, limits, expires_at } = await readApiKey(deps, visit.principal.api_key_id);
      const may_all = permissionsOf('secret').every((each) => permissions.includes(each));
      return may_all && limits === undefined && expires_at === null ? page(visit) : NOT_ALLOWED;
    };
  return {
    list: guarded((visit) => list(visit)),
    create: guarded(
      unlessInvalid(
        (visit) => list(visit),
        async (visit) => {
          const { account_id, stores } = visit.principal;
          const now_ms = deps.system.now();
          const active = (await keysOf(visit.principal)).filter((key) => keyStatus(key, now_ms) === 'active');
          if (active.length >= KEYS_MAX)
            throw new InvalidText('name', `The store has ${KEYS_MAX} keys. Revoke one first.`);
          const type: KeyType = visit.form.get('type') === 'secret' ? 'secret' : 'public';
          const input = { account_id, name: visit.form.get('name') ?? '', type, stores: [stores[0]!] };
          return list(visit, await createApiKey(deps, contextOf(visit.principal), input));
        },
      ),
    ),
    change: guarded(async (visit) => {
      const { principal, id, form } = visit;
      const key = await findApiKey(deps, id as ApiKeyId);
      if (!key || !isWithin(key, principal)) return NOT_FOUND;
      const action = form.get('action') === 'rotate' ? 'rotate' : 'revoke';
      if (keyStatus(key, deps.system.now()) !== 'active')
        return { location: HOME, saved: `${key.name} does not work any more.` };
      if (action === 'revoke' && key.id === principal.api_key_id)
        return { location: HOME, saved: 'This is the key of your session. Replace it instead.' };
      // If the form is sent again, as by a reload of the answer, the page asks again: the expiry of the old key has changed.
      if (form.get('confirmed') !== expiryOf(key))
        return { title: 'Keys', body: <Confirm apiKey={key} action={action} /> };
      if (action === 'rotate') return list(visit, await rotate(deps, contextOf(principal), key));
      await revokeApiKey(deps, contextOf(principal), key.id);
      return { location: HOME, saved: `Revoked ${key.name}.` };
    }),
  };
}

/** Replaces a key. Returns the new key also if the old one then gets no expiry, because the new one can be shown only now. */
async function rotate(deps: KeyDeps, context: WriteContext, key: ApiKey): Promise<CreatedApiKey> {
  const old_valid_until = new Date(deps.system.now() + OVERLAP_MS);
  const expires_at = key.expires_at === null ? {} : { expires_at: new Date(key.expires_at) };
  let created: CreatedApiKey | undefined;
  const onCreated = async (next: CreatedApiKey): Promise<void> => {
    created = next;
  };
  try {
    await rotateApiKey(deps, context, key.id, { old_valid_until, ...expires_at }, onCreated);
  } catch (error) {
    if (!created) throw error;
  }
  return created!;
}

const contextOf = ({ account_id, api_key_id }: Principal): WriteContext => ({
  source: 'api',
  request_id: randomUUID(),
  account_id,
  api_key_id,
});

const expiryOf = ({ expires_at }: ApiKey): string => expires_at ?? 'never';

const isWithin = (key: ApiKey, { account_id, stores }: Principal): boolean =>
  key.account_id === account_id && key.stores.length > 0 && key.stores.every((id) => stores.includes(id));

const NOT_FOUND = messagePage('Keys', 404, {
  heading: 'Not found',
  hint: 'The store has no such key.',
  back: [HOME, 'Keys'],
});
const NOT_ALLOWED = messagePage('Keys', 403, {
  heading: 'Not allowed',
  hint: 'Sign in with a secret key that has all permissions, no limits of its own and no expiry.',
});

interface KeysProps {
  readonly keys: readonly ApiKey[];
  readonly now_ms: number;
  /** The key that has signed in. */
  readonly own_id: string;
  readonly secret: string | undefined;
}

function Keys({ keys, now_ms, own_id, secret }: KeysProps) {
  return (
    <>
      <h1>Keys</h1>
      {secret && <NewSecret heading="New key" note="Copy it now: it is not shown again." secret={secret} />}
      <WideTable
        class="rows"
        columns={['Name', 'Key', 'Status', 'Last used', 'Expires', { label: 'Change', is_hidden: true }]}
        rows={keys.map((key) => [
          key.name,
          `${key.type} …${key.last_four ?? ''}`,
          keyStatus(key, now_ms),
          key.last_used_at && secondOf(key.last_used_at),
          key.expires_at && secondOf(key.expires_at),
          keyStatus(key, now_ms) === 'active' && (
            <div class="tags">
              <Change id={key.id} action="rotate" name={key.name} />
              {key.id !== own_id && <Change id={key.id} action="revoke" name={key.name} />}
            </div>
          ),
        ])}
      />
      <form class="panel" method="post" action={HOME}>
        <h2>New key</h2>
        <div class="fields">
          <label>
            <span>
              Name <small>such as its purpose</small>
            </span>
            <input name="name" required />
          </label>
          <label>
            <span>Type</span>
            <Select name="type" options={Object.entries(TYPES)} />
          </label>
        </div>
        <Submit label="Create" />
      </form>
    </>
  );
}

const ACTIONS = {
  rotate: {
    label: 'Replace',
    hint: 'You get a new key with the same rights. The old one works for another day.',
  },
  revoke: { label: 'Revoke', hint: 'Programs with this key stop working at once. This cannot be undone.' },
} as const;

function Confirm({ apiKey, action }: { apiKey: ApiKey; action: keyof typeof ACTIONS }) {
  const { id, name } = apiKey;
  const { label, hint } = ACTIONS[action];
  const values = { action, confirmed: expiryOf(apiKey) };
  return (
    <div class="panel narrow">
      <h1>{`${label} ${name}?`}</h1>
      <p>{hint}</p>
      <div class="tags">
        <Button action={`/console/key/${id}`} label={label} values={values} is_main />
        <a href={HOME}>Cancel</a>
      </div>
    </div>
  );
}

const Change = ({ id, action, name }: { id: string; action: keyof typeof ACTIONS; name: string }) => (
  <Button action={`/console/key/${id}`} values={{ action }} label={ACTIONS[action].label} name={name} />
);
