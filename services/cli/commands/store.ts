import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { ENVIRONMENTS } from '../../../shared/catalog/realm';
import type { Store } from '../../../shared/catalog/store/store';
import { storeResource } from '../../../shared/catalog/store/store';
import { storeStatusSchema } from '../../../shared/catalog/vocabulary';
import type { AccountId, StoreId } from '../../../shared/kernel/ids';
import { scanBodies } from '../../../shared/ports/bodies';
import type { Runtime } from '../../boot/runtime';
import type { NewStore, StorePatch } from '../../command/store';
import { changeStoreStatus, createStore, describeStore, locateStore } from '../../command/store';
import { catchUpBeforeRead, waitForWrites } from '../catch-up';
import { runConfirmed } from '../confirm';
import { CliError, EXIT, type Invocation, withRuntime } from '../invocation';
import { accountOption, currencyArgument, idArgument, subcommand } from '../options';
import { fieldsTable, recordsTable } from '../table';

interface FieldOptions {
  readonly name?: string;
  readonly description?: string;
  readonly ruc?: string;
  readonly currency?: string;
  readonly currencies?: string[];
  readonly address?: string;
  readonly phone?: string;
  readonly email?: string;
  readonly shipping?: string;
  readonly returns?: string;
  readonly satisfaction?: string;
  readonly hours?: string[];
  readonly locales?: string[];
  readonly newReviews?: 'pending' | 'published' | 'default';
  readonly profile?: string;
}

interface CreateOptions extends FieldOptions {
  readonly account: string;
  readonly name: string;
  readonly test?: true;
}

export function storeCommands(program: Command): void {
  const store = program.command('store').description('Manage stores');

  const create = subcommand(
    store,
    'create',
    'Create a store in the live environment, or with --test in the test environment',
  )
    .addOption(accountOption('ID of the account that owns the store'))
    .requiredOption('--name <name>', 'Name of the store')
    .option('--test', 'Create the store in the test environment; it cannot be moved later');
  fieldOptions(create).action(
    withRuntime<CreateOptions>(async ({ runtime, context, print }, options) => {
      const input = await buildNewStore(options);
      const { value } = await createStore(
        runtime,
        context,
        { account_id: options.account as AccountId },
        input,
      );
      await waitForWrites(runtime, value.environment);
      await printStore(print, value);
    }),
  );

  const update = subcommand(
    store,
    'update',
    'Change the fields of a store that are given; an empty text removes one',
  )
    .argument('<id>', 'ID of the store', idArgument('store'))
    .option('--name <name>', 'Name of the store');
  fieldOptions(update).action(
    withRuntime<FieldOptions>(async ({ runtime, context, print }, options, [id]) => {
      const stored = await requireStore(runtime, id!);
      const { environment } = stored;
      const changes = await buildChanges(options, stored);
      if (Object.keys(changes).length === 0)
        throw new CliError(
          'Nothing to change. Name a field, for example --phone "+51 1 555 0100".',
          EXIT.usage,
        );
      const { value } = await describeStore(runtime, context, { environment, id: id as StoreId }, changes);
      await waitForWrites(runtime, environment);
      await printStore(print, value);
    }),
  );

  subcommand(store, 'list', 'List the stores of all accounts or of one')
    .option('--account <id>', 'List only the stores of this account', idArgument('account'))
    .action(
      withRuntime<{ account?: string }>(async ({ runtime, print }, { account }) => {
        await catchUpBeforeRead(runtime, 'live', 'test');
        const where = account === undefined ? {} : { account_id: account };
        const stores: Record<string, unknown>[] = [];
        for (const environment of ENVIRONMENTS)
          for (const body of await scanBodies(runtime.views[environment], 'stores', where))
            stores.push({ ...body, environment });
        const columns = ['id', 'name', 'environment', 'status', 'created_at'];
        await print({ stores }, () => recordsTable(columns, stores));
      }),
    );

  subcommand(store, 'status', 'Change the status of a store')
    .argument('<id>', 'ID of the store', idArgument('store'))
    .addArgument(program.createArgument('<status>', 'New status').choices(storeStatusSchema.options))
    .action(
      withRuntime(async ({ runtime, context, printFields }, _options, [id, new_status]) => {
        const { environment } = await requireStore(runtime, id!);
        const status = storeStatusSchema.parse(new_status);
        const target = { environment, id: id as StoreId };
        const { value, changed } = await runConfirmed(runtime, {
          noun: 'change of the status',
          realm: environment,
          collection: 'stores',
          run: () => changeStoreStatus(runtime, context, target, status),
        });
        await printFields({ id: value.id, name: value.name, status: value.status, changed });
      }),
    );
}

/** Reads a store of either environment from its events. Throws `CliError` if it does not exist. */
export async function requireStore(runtime: Runtime, id: string): Promise<Store> {
  const store = await locateStore(runtime, id as StoreId);
  if (!store) throw new CliError(`Store ${id} does not exist. List the stores with "catalog store list".`);
  return store;
}

/** Adds the options of the fields of a store, except its name. */
function fieldOptions(command: Command): Command {
  return command
    .option('--description <text>', 'Description of the store')
    .option('--ruc <number>', 'Tax number (RUC)')
    .option(
      '--currency <code>',
      'Currency of new products in the console and of imported prices without one, as ISO 4217 code',
      (text) => (text === '' ? text : currencyArgument(text)),
    )
    .option('--locales <tag...>', 'Languages of the store, such as es de pt-BR; the first is the default')
    .option(
      '--currencies <code...>',
      'Currencies of the store, such as PEN USD; the first is that of its prices',
    )
    .option('--address <text>', 'Postal address')
    .option('--phone <text>', 'Phone number')
    .option('--email <address>', 'E-mail address')
    .option('--shipping <text>', 'Shipping policy')
    .option('--returns <text>', 'Returns policy')
    .option('--satisfaction <text>', 'Satisfaction policy')
    .option('--hours <day=hours...>', 'Business hours, such as Monday=9-18 Sunday=closed')
    .addOption(
      new Option('--new-reviews <status>', 'Status of new reviews; default: published').choices([
        'pending',
        'published',
        'default',
      ]),
    )
    .option(
      '--profile <file>',
      'JSON file with the fields of a store (docs/interface/stores.md#store); options override its fields',
    );
}

async function printStore(print: Invocation['print'], store: Store): Promise<void> {
  const { id, name, environment, status, account_id } = store;
  await print({ ...storeResource(store), environment, account_id }, () =>
    fieldsTable({ id, name, environment, status, account_id }),
  );
}

/** Combines the profile file with the options, which override it. The command services validate the result. */
async function buildNewStore(options: CreateOptions): Promise<NewStore> {
  const changes = await buildChanges(options, {});
  return { ...changes, name: options.name, environment: options.test ? 'test' : 'live' };
}

/**
 * Combines the profile file with the options, which override it. Options of `contact` and `policies` leave the other
 * values of `stored` as they are. An empty text removes a value.
 */
async function buildChanges(
  options: FieldOptions,
  stored: Partial<Pick<Store, 'contact' | 'policies'>>,
): Promise<StorePatch> {
  const { name, description, ruc, currency, address, phone, email, shipping, returns, satisfaction } =
    options;
  const profile: StorePatch = options.profile === undefined ? {} : await readProfile(options.profile);
  const before = { ...stored, ...profile };
  return {
    ...profile,
    ...definedFields({
      name,
      description: description === '' ? null : description,
      ruc: ruc === '' ? null : ruc,
      currency: currency === '' ? null : currency,
      currencies: options.currencies?.map((code) => code.toUpperCase()),
      contact: merged(before.contact, { address, phone, email }),
      policies: merged(before.policies, { shipping, returns, satisfaction }),
      businessHours: options.hours?.map(parseDay),
      locales: options.locales,
      new_review_status: options.newReviews === 'default' ? null : options.newReviews,
    }),
  };
}

/** Returns undefined if no text is given, and null if no value is left. */
function merged<Name extends string>(
  before: { readonly [_ in Name]?: string | undefined } | null | undefined,
  texts: { readonly [_ in Name]: string | undefined },
): Partial<Record<Name, string>> | null | undefined {
  const given = definedFields(texts);
  if (Object.keys(given).length === 0) return undefined;
  const left = Object.entries<unknown>({ ...before, ...given }).filter(([, text]) => text !== '');
  return left.length === 0 ? null : (Object.fromEntries(left) as Partial<Record<Name, string>>);
}

function parseDay(text: string): { day: string; hours: string } {
  const equals = text.indexOf('=');
  if (equals < 1)
    throw new CliError(`Invalid --hours "${text}": expected <day>=<hours>, such as Monday=9-18.`, EXIT.usage);
  return { day: text.slice(0, equals), hours: text.slice(equals + 1) };
}

/** Returns the fields that are not undefined. */
function definedFields<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

async function readProfile(path: string): Promise<object> {
  try {
    const profile: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (typeof profile === 'object' && profile !== null && !Array.isArray(profile)) return profile;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code) throw new CliError(`Cannot read the profile ${path} (${code}).`);
  }
  throw new CliError(`Invalid profile ${path}: expected a JSON object.`);
}
