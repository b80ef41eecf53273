import type { Command } from 'commander';
import { describeRejection } from '../../../shared/api/error-catalogue';
import { type ApiKey, hashKey, isApiKeyText, type KeyLimits } from '../../../shared/catalog/api-key/api-key';
import { keyFields } from '../../../shared/catalog/api-key/key-fields';
import { keyTypeSchema, type Permission, permissionSchema } from '../../../shared/catalog/vocabulary';
import { loadTokenKeys } from '../../../shared/http/token-keys';
import { TokenCodec } from '../../../shared/http/tokens';
import { CatalogError } from '../../../shared/kernel/errors';
import type { ApiKeyId } from '../../../shared/kernel/ids';
import { scanBodies } from '../../../shared/ports/bodies';
import type { Runtime } from '../../boot/runtime';
import {
  type CreatedApiKey,
  createApiKey,
  readApiKey,
  revokeApiKey,
  rotateApiKey,
  setApiKeyLimits,
} from '../../command/api-key';
import { catchUpBeforeRead, waitForWrites } from '../catch-up';
import { confirm, runConfirmed, runSaved } from '../confirm';
import { CliError, EXIT, type Invocation, withRuntime } from '../invocation';
import { keysTable, limitsText, permissionsText } from '../key-fields';
import {
  accountOption,
  choiceOption,
  idArgument,
  idListArgument,
  limitsArgument,
  listArgument,
  subcommand,
  timeArgument,
  wholeNumberArgument,
} from '../options';
import { readLine } from '../stdin';
import { fieldsTable } from '../table';

const MINUTE_MS = 60_000;
const LIMITS_FORM = 'minute/day/burst, such as 600/100000/900';

interface CreateOptions {
  readonly account: string;
  readonly type: ApiKey['type'];
  readonly store?: string[];
  readonly name?: string;
  readonly permission?: string[];
  readonly expires?: string;
  readonly limit?: KeyLimits;
  readonly needsConfirmation?: true;
  readonly priceList?: string;
}

export function keyCommands(program: Command): void {
  const key = program.command('key').description('Manage the API keys of an account');

  subcommand(key, 'create', 'Create an API key; the key is shown only once')
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
    .option('--expires <time>', 'Expiry as ISO 8601 time; default: never', timeArgument('--expires'))
    .option(
      '--limit <limits>',
      `Rate limits of this key: ${LIMITS_FORM}; default: those of the type`,
      limitsArgument('--limit'),
    )
    .option('--needs-confirmation', 'Make its writes proposals, which another key confirms')
    .option('--price-list <name>', 'Name of the price list whose prices the key sees')
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
          ...(options.limit ? { limits: options.limit } : {}),
          ...(options.needsConfirmation ? { needs_confirmation: true } : {}),
          ...(options.priceList ? { price_list: options.priceList } : {}),
        });
        await printKey(invocation, created);
        await waitForWrites(runtime, 'control');
      }),
    );

  subcommand(key, 'list', 'List the API keys of an account; the keys themselves are not stored')
    .addOption(accountOption())
    .action(
      withRuntime<{ account: string }>(async ({ runtime, print }, { account }) => {
        await catchUpBeforeRead(runtime, 'control');
        const found = await scanBodies(runtime.views.control, 'api_keys', { account_id: account });
        const now_ms = runtime.system.now();
        const keys = found.map((body) => keyFields(body, now_ms));
        await print({ keys }, () => keysTable(keys));
      }),
    );

  subcommand(
    key,
    'find',
    'Find the ID of an API key, or of the key behind a token, for example of a leaked one',
  )
    .argument(
      '[key]',
      'The key or token; - or none: reads it from standard input, which no shell history keeps',
    )
    .action(
      withRuntime(async ({ runtime, print }, _options, [argument]) => {
        const found = await findKey(runtime, await keyText(argument));
        const fields = keyFields(found, runtime.system.now());
        await print(fields, () => {
          const { id, type, environment, name, account_id, last_four, status } = fields;
          const { last_used_at, expires_at, revoked_at } = fields;
          const about = { id, type, environment, name, account_id, last_four, status };
          const text = fieldsTable({ ...about, last_used_at, expires_at, revoked_at });
          return status === 'active' ? `${text}\n${adviceText(id)}` : text;
        });
      }),
    );

  subcommand(
    key,
    'limit',
    'Show or change the rate limits of an API key; a change takes effect within 5 seconds',
  )
    .argument('<id>', 'ID of the key (not the key itself)', idArgument('key'))
    .argument(
      '[limits]',
      `New limits: ${LIMITS_FORM}; none: shows the present ones`,
      limitsArgument('limits'),
    )
    .option('--default', 'Remove the limits of this key, so that it has those of its type')
    .action(
      withRuntime<{ default?: true }>(async ({ runtime, context, print }, options, operands) => {
        const [id, limits] = operands as [ApiKeyId, KeyLimits | undefined];
        if (options.default && limits !== undefined)
          throw new CliError('Give either new limits or --default.', EXIT.usage);
        const changed = limits ?? (options.default ? null : undefined);
        if (changed !== undefined) {
          const run = () => setApiKeyLimits(runtime, context, id, changed);
          await runConfirmed(runtime, { noun: 'change of limits', collection: 'api_keys', run });
        }
        const fields = limitFields(runtime, await readApiKey(runtime, id));
        await print(fields, () => {
          const { limits, default_limits, ...rest } = fields;
          const texts = { limits: limitsText(limits), default_limits: limitsText(default_limits) };
          return fieldsTable({ ...rest, ...texts });
        });
      }),
    );

  subcommand(key, 'revoke', 'Revoke an API key; the API refuses its tokens within 5 seconds')
    .argument('<id>', 'ID of the key (not the key itself)', idArgument('key'))
    .action(
      withRuntime(async ({ runtime, context, printFields }, _options, [id]) => {
        const run = () => revokeApiKey(runtime, context, id as ApiKeyId);
        const { value } = await runConfirmed(runtime, { noun: 'revocation', collection: 'api_keys', run });
        await printFields({ id: value.id, status: 'revoked', revoked_at: value.revoked_at });
      }),
    );

  subcommand(
    key,
    'rotate',
    'Create a new key with the same stores, permissions and limits; the old key works for the overlap',
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
        const old_fields = { rotated_from: id, old_key_expires_at: old_valid_until.toISOString() };
        let is_created = false;
        const onCreated = async (created: CreatedApiKey): Promise<void> => {
          is_created = true;
          await printKey(invocation, created, old_fields);
        };
        const run = async () => {
          try {
            return await rotateApiKey(runtime, context, id as ApiKeyId, { old_valid_until }, onCreated);
          } catch (error) {
            throw is_created ? expiryFailed(id as ApiKeyId, error) : error;
          }
        };
        const { old } = await runSaved('new key', run);
        await confirm(runtime, { noun: 'expiry of the old key', collection: 'api_keys' }, old);
      }),
    );
}

/** Returns the error of a rotation that has created and printed the new key, but failed to set the expiry of the old one. */
function expiryFailed(old_id: ApiKeyId, error: unknown): CliError {
  const reason = error instanceof CatalogError ? describeRejection(error) : String(error);
  return new CliError(
    'The new key is created and printed, but it is not certain that the old key expires. Do not run key rotate again, ' +
      'because it creates a further key. When the new key is in use, end the old one: ' +
      `catalog key revoke ${old_id}. Cause: ${reason}`,
  );
}

/** Prints a new key. Must be called as soon as it is saved: the key is not stored, so it cannot be printed later. */
async function printKey(
  { runtime, print }: Invocation,
  created: CreatedApiKey,
  extra_fields: Record<string, string | undefined> = {},
) {
  const { id, ...rest } = keyFields(created.value, runtime.system.now());
  await print({ id, key: created.key, ...rest, ...extra_fields }, () => {
    const { type, environment, name, expires_at } = rest;
    const stores = rest.stores.join(' ');
    const grants = { stores, permissions: permissionsText(rest), limits: limitsText(rest.limits) };
    const fields = { id, key: created.key, type, environment, name, expires_at, ...grants };
    return `${fieldsTable({ ...fields, ...extra_fields })}\nStore the key now. It is not shown again.\n`;
  });
}

/** Returns the limits of a key, and those that a key of its type has by the settings of this process. */
function limitFields({ config }: Runtime, { id, name, type, limits: own }: ApiKey) {
  const limits: KeyLimits | null = own ?? null;
  const default_limits: KeyLimits = type === 'public' ? config.RATE_LIMIT_PUBLIC : config.RATE_LIMIT_SECRET;
  return { id, name, type, limits, default_limits };
}

// --- key find ---

const adviceText = (id: string): string =>
  `Revoke it now:       catalog key revoke ${id}\n` +
  `Or replace it first: catalog key rotate ${id} --overlap MINUTES\n`;

/** Returns the key or token to look for: the argument, or a line of standard input if it is `-` or missing. */
async function keyText(argument: string | undefined): Promise<string> {
  if (argument !== undefined && argument !== '-') return argument;
  const line = await readLine('Paste the API key or token and press Enter: ');
  if (line === undefined) throw new CliError('Expected an API key or a token on standard input.', EXIT.usage);
  return line;
}

/** Finds the key that the text is, or that the token was issued for. No message repeats the text, which is a secret. */
async function findKey(runtime: Runtime, text: string): Promise<ApiKey> {
  if (!isApiKeyText(text)) return readApiKey(runtime, await keyIdOfToken(runtime, text));
  await catchUpBeforeRead(runtime, 'control');
  const [found] = await scanBodies(runtime.views.control, 'api_keys', { key_hash: hashKey(text) });
  if (found === undefined) throw new CliError('No API key of this service matches.');
  return found;
}

/** Returns the id of the token's key. Also accepts an expired token, but none that this service has not signed. */
async function keyIdOfToken({ config }: Runtime, text: string): Promise<ApiKeyId> {
  if (text.split('.').length !== 3)
    throw new CliError(
      'This is neither an API key nor a token. A key is pk_live_, sk_live_, pk_test_ or sk_test_ and 43 characters.',
      EXIT.usage,
    );
  const ring = await loadTokenKeys(config);
  // With the clock at 0, no token has expired.
  const system = { now: () => 0, random: () => new Uint8Array() };
  try {
    return new TokenCodec({ ring, issuer: config.JWT_ISSUER, system }).verify(text).api_key_id;
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    throw new CliError('The token was not issued by this service, or its signing key was removed.');
  }
}
