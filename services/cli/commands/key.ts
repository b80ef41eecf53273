import type { Command } from 'commander';
import type { ApiKey } from '../../../shared/catalog/api-key/api-key';
import { keyTypeSchema, type Permission, permissionSchema } from '../../../shared/catalog/vocabulary';
import type { ApiKeyId } from '../../../shared/kernel/ids';
import { type CreatedApiKey, createApiKey, revokeApiKey, rotateApiKey } from '../../command/api-key';
import { catchUpBeforeRead, scanBodies, waitForWrites } from '../catch-up';
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
  const key = program.command('key').description('Manage the API keys of an account');

  verb(key, 'create', 'Create an API key; the key is shown only once')
    .addOption(accountOption('ID of the account that owns the key'))
    .addOption(
      choiceOption(
        '--type <type>',
        'A public key reads, a secret key reads and writes',
        keyTypeSchema.options,
      ),
    )
    .requiredOption(
      '--store <ids...>',
      'IDs of the stores that the key gives access to; the first is the default store',
      idListArgument('store'),
    )
    .option('--name <name>', 'Name of the key, such as its purpose')
    .option(
      '--permission <names...>',
      `Permissions; default: all that the type allows, of ${permissionSchema.options.join(', ')}`,
      listArgument,
    )
    .option('--expires <time>', 'Expiry as ISO 8601 time; default: never', timeArgument)
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
        await printKey(invocation, created);
      }),
    );

  verb(key, 'list', 'List the API keys of an account; the keys themselves are not stored')
    .addOption(accountOption())
    .action(
      withRuntime<{ account: string }>(async ({ runtime, print }, { account }) => {
        await catchUpBeforeRead(runtime, 'control');
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

  verb(key, 'revoke', 'Revoke an API key; the API refuses its tokens within 5 seconds')
    .argument('<id>', 'ID of the key (not the key itself)', idArgument('key'))
    .action(
      withRuntime(async ({ runtime, context, printFields }, _options, [id]) => {
        const { value } = await revokeApiKey(runtime, context, id as ApiKeyId);
        await waitForWrites(runtime, 'control');
        await printFields({ id: value.id, status: 'revoked', revoked_at: value.revoked_at });
      }),
    );

  verb(
    key,
    'rotate',
    'Create a new key with the same stores and permissions; the old key works for the overlap',
  )
    .argument('<id>', 'ID of the old key (not the key itself)', idArgument('key'))
    .requiredOption(
      '--overlap <minutes>',
      'Minutes until the old key expires',
      wholeNumberArgument('--overlap'),
    )
    .action(
      withRuntime<{ overlap: number }>(async (invocation, { overlap }, [id]) => {
        const { runtime, context } = invocation;
        const old_valid_until = new Date(runtime.system.now() + overlap * MINUTE_MS);
        const created = await rotateApiKey(runtime, context, id as ApiKeyId, { old_valid_until });
        const old = { rotated_from: id, old_key_expires_at: old_valid_until.toISOString() };
        await printKey(invocation, created, old);
      }),
    );
}

/** Prints a new key. The key is not stored, so it cannot be printed again. */
async function printKey(
  invocation: Invocation,
  created: CreatedApiKey,
  extra_fields: Record<string, string | undefined> = {},
) {
  const { runtime, print } = invocation;
  await waitForWrites(runtime, 'control');
  const { id, ...rest } = resourceOf(created.value, runtime.system.now());
  await print({ id, key: created.key, ...rest, ...extra_fields }, () => {
    const { type, environment, name, expires_at, stores } = rest;
    const fields = { id, key: created.key, type, environment, name, expires_at, stores: stores.join(' ') };
    return `${fieldsTable({ ...fields, ...extra_fields })}\nStore the key now. It is not shown again.\n`;
  });
}

/** Returns the fields of a key to print, without its hash. */
function resourceOf(key: ApiKey, now_ms: number) {
  const { id, type, environment, account_id, stores, permissions, name } = key;
  const { expires_at, revoked_at, last_used_at, created_at } = key;
  const expired = expires_at !== null && Date.parse(expires_at) <= now_ms;
  const status = revoked_at !== null ? 'revoked' : expired ? 'expired' : 'active';
  const times = { expires_at, revoked_at, last_used_at, created_at };
  return { id, type, environment, status, name, account_id, stores, permissions, ...times };
}
