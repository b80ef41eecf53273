import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { ENVIRONMENTS } from '../../../shared/catalog/realm';
import type { Store } from '../../../shared/catalog/store/store';
import { storeResource } from '../../../shared/catalog/store/store';
import { storeStatusSchema } from '../../../shared/catalog/vocabulary';
import type { AccountId, StoreId } from '../../../shared/kernel/ids';
import type { Runtime } from '../../boot/runtime';
import type { NewStore } from '../../command/store';
import { changeStoreStatus, createStore, locateStore } from '../../command/store';
import { CliError, EXIT, withRuntime } from '../invocation';
import { accountOption, idArgument, verb } from '../options';
import { projectBeforeRead, projectWritten, scanBodies } from '../projected';
import { fieldsTable, recordsTable } from '../table';

interface CreateOptions {
  readonly account: string;
  readonly name: string;
  readonly test?: true;
  readonly description?: string;
  readonly ruc?: string;
  readonly address?: string;
  readonly phone?: string;
  readonly email?: string;
  readonly shipping?: string;
  readonly returns?: string;
  readonly satisfaction?: string;
  readonly hours?: string[];
  readonly profile?: string;
}

export function storeCommands(program: Command): void {
  const store = program.command('store').description('stores of an account');

  verb(store, 'create', 'make a store, in the live environment unless --test')
    .addOption(accountOption('whose it is'))
    .requiredOption('--name <name>', 'what it is called')
    .option('--test', 'in the test environment, for good')
    .option('--description <text>')
    .option('--ruc <number>')
    .option('--address <text>')
    .option('--phone <text>')
    .option('--email <address>')
    .option('--shipping <text>', 'shipping policy')
    .option('--returns <text>', 'returns policy')
    .option('--satisfaction <text>', 'satisfaction policy')
    .option('--hours <day=hours...>', 'business hours, such as Monday=9-18')
    .option('--profile <file>', 'a JSON object with any of the fields above as the interface names them')
    .action(
      withRuntime<CreateOptions>(async ({ runtime, context, print }, options) => {
        const input = await newStoreOf(options);
        const { value } = await createStore(
          runtime,
          context,
          { account_id: options.account as AccountId },
          input,
        );
        await projectWritten(runtime, value.environment);
        const { environment, account_id } = value;
        const document = { ...storeResource(value), environment, account_id };
        const { id, name, status } = value;
        await print(document, () => fieldsTable({ id, name, environment, status, account_id }));
      }),
    );

  verb(store, 'list', 'every store, of one account or of all')
    .option('--account <id>', 'of this account only', idArgument)
    .action(
      withRuntime<{ account?: string }>(async ({ runtime, print }, { account }) => {
        await projectBeforeRead(runtime, 'live', 'test');
        const where = account === undefined ? {} : { account_id: account };
        const stores: Record<string, unknown>[] = [];
        for (const environment of ENVIRONMENTS)
          for (const body of await scanBodies(runtime, environment, 'stores', where))
            stores.push({ ...body, environment });
        const columns = ['id', 'name', 'environment', 'status', 'created_at'];
        await print({ stores }, () => recordsTable(columns, stores));
      }),
    );

  verb(store, 'status', 'open or close a store')
    .argument('<id>', 'the store', idArgument)
    .addArgument(program.createArgument('<status>').choices(storeStatusSchema.options))
    .action(
      withRuntime(async ({ runtime, context, printFields }, _options, [id, given]) => {
        const { environment } = await requireStore(runtime, id!);
        const status = storeStatusSchema.parse(given);
        const target = { environment, id: id as StoreId };
        const { value, changed } = await changeStoreStatus(runtime, context, target, status);
        await projectWritten(runtime, environment);
        await printFields({ id: value.id, name: value.name, status: value.status, changed });
      }),
    );
}

/** The store in whichever environment it lives, from its events; a clear line where there is none. */
export async function requireStore(runtime: Runtime, id: string): Promise<Store> {
  const store = await locateStore(runtime, id as StoreId);
  if (!store) throw new CliError(`there is no store ${id}`);
  return store;
}

/** Options win over the profile file, whose text the write side checks like any other. */
async function newStoreOf(options: CreateOptions): Promise<NewStore> {
  const { address, phone, email, shipping, returns, satisfaction } = options;
  const contact = given({ address, phone, email });
  const policies = given({ shipping, returns, satisfaction });
  const businessHours = options.hours?.map(dayOf);
  const { description, ruc, name } = options;
  return {
    ...(options.profile === undefined ? {} : await readProfile(options.profile)),
    ...given({ description, ruc, contact, policies, businessHours }),
    name,
    environment: options.test ? 'test' : 'live',
  };
}

function dayOf(text: string): { day: string; hours: string } {
  const at = text.indexOf('=');
  if (at < 1) throw new CliError(`--hours ${text}: such as Monday=9-18`, EXIT.usage);
  return { day: text.slice(0, at), hours: text.slice(at + 1) };
}

/** Without what is not there; undefined where nothing is. */
function given<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } | undefined {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return entries.length === 0
    ? undefined
    : (Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> });
}

async function readProfile(path: string): Promise<object> {
  try {
    const profile: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (typeof profile === 'object' && profile !== null && !Array.isArray(profile)) return profile;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code) throw new CliError(`--profile ${path}: cannot be read`);
  }
  throw new CliError(`--profile ${path}: must hold one JSON object`);
}
