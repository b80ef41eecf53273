import type { Command } from 'commander';
import type { ApiKey } from '../../../shared/catalog/api-key/api-key';
import { keyTypeSchema, type Permission, permissionSchema } from '../../../shared/catalog/vocabulary';
import type { ApiKeyId } from '../../../shared/kernel/ids';
import { type CreatedApiKey, createApiKey, revokeApiKey, rotateApiKey } from '../../command/api-key';
import { type Invocation, withRuntime } from '../invocation';
import {
  accountOption,
  choiceOption,
  idArgument,
  idListArgument,
  listArgument,
  timeArgument,
  verb,
  wholeNumberArgument,
} from '../options';
import { projectBeforeRead, projectWritten, scanBodies } from '../projected';
import { fieldsTable, recordsTable } from '../table';

const MINUTE_MS = 60_000;

interface CreateOptions {
  readonly account: string;
  readonly type: ApiKey['type'];
  readonly store?: string[];
  readonly name?: string;
  readonly permission?: string[];
  readonly expires?: string;
}

export function keyCommands(program: Command): void {
  const key = program.command('key').description('API keys of an account');

  verb(key, 'create', 'make a key; it is shown this once')
    .addOption(accountOption('whose it is'))
    .addOption(choiceOption('--type <type>', 'public reads, secret writes as well', keyTypeSchema.options))
    .requiredOption('--store <ids...>', 'stores that it reaches; the first is the default', idListArgument)
    .option('--name <name>', 'what it is for')
    .option(
      '--permission <names...>',
      `fewer than its type has: ${permissionSchema.options.join(', ')}`,
      listArgument,
    )
    .option('--expires <time>', 'ISO 8601; never by default', timeArgument)
    .action(
      withRuntime<CreateOptions>(async (invocation, options) => {
        const { runtime, context } = invocation;
        const created = await createApiKey(runtime, context, {
          account_id: options.account,
          name: options.name ?? `${options.type} key`,
          type: options.type,
          stores: options.store ?? [],
          ...(options.permission ? { permissions: options.permission as Permission[] } : {}),
          ...(options.expires ? { expires_at: options.expires } : {}),
        });
        await showOnce(invocation, created);
      }),
    );

  verb(key, 'list', 'the keys of an account, without the keys themselves')
    .addOption(accountOption())
    .action(
      withRuntime<{ account: string }>(async ({ runtime, print }, { account }) => {
        await projectBeforeRead(runtime, 'control');
        const found = await scanBodies(runtime, 'control', 'api_keys', { account_id: account });
        const now_ms = runtime.system.now();
        const keys = found.map((body) => resourceOf(body as unknown as ApiKey, now_ms));
        const columns = [
          'id',
          'type',
          'environment',
          'status',
          'name',
          'last_used_at',
          'expires_at',
        ] as const;
        await print({ keys }, () => recordsTable(columns, keys));
      }),
    );

  verb(key, 'revoke', 'end a key; its tokens are refused within seconds')
    .argument('<id>', 'the id of the key, not the key', idArgument)
    .action(
      withRuntime(async ({ runtime, context, printFields }, _options, [id]) => {
        const { value } = await revokeApiKey(runtime, context, id as ApiKeyId);
        await projectWritten(runtime, 'control');
        await printFields({ id: value.id, status: 'revoked', revoked_at: value.revoked_at });
      }),
    );

  verb(key, 'rotate', 'make a new key with the same grants; the old one works on for a while')
    .argument('<id>', 'the id of the old key', idArgument)
    .requiredOption('--overlap <minutes>', 'how long the old key works on', wholeNumberArgument)
    .action(
      withRuntime<{ overlap: number }>(async (invocation, { overlap }, [id]) => {
        const { runtime, context } = invocation;
        const old_valid_until = new Date(runtime.system.now() + overlap * MINUTE_MS);
        const created = await rotateApiKey(runtime, context, id as ApiKeyId, { old_valid_until });
        const old = { rotated_from: id, old_key_expires_at: old_valid_until.toISOString() };
        await showOnce(invocation, created, old);
      }),
    );
}

/** The only place where a key is printed. */
async function showOnce(
  invocation: Invocation,
  created: CreatedApiKey,
  more: Record<string, string | undefined> = {},
) {
  const { runtime, print } = invocation;
  await projectWritten(runtime, 'control');
  const { id, ...rest } = resourceOf(created.value, runtime.system.now());
  await print({ id, key: created.key, ...rest, ...more }, () => {
    const { type, environment, name, expires_at, stores } = rest;
    const told = { type, environment, name, expires_at, stores: stores.join(' ') };
    const shown = { id, key: created.key, ...told, ...more };
    return `${fieldsTable(shown)}\nKeep the key now: it is not shown again.\n`;
  });
}

/** A key without what would tell the key. */
function resourceOf(key: ApiKey, now_ms: number) {
  const { id, type, environment, account_id, stores, permissions, name } = key;
  const { expires_at, revoked_at, last_used_at, created_at } = key;
  const expired = expires_at !== null && Date.parse(expires_at) <= now_ms;
  const status = revoked_at !== null ? 'revoked' : expired ? 'expired' : 'active';
  const times = { expires_at, revoked_at, last_used_at, created_at };
  return { id, type, environment, status, name, account_id, stores, permissions, ...times };
}
