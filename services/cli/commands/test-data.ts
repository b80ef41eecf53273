import type { Command } from 'commander';
import { readLog } from '../../../projections/engine/read-log';
import { decodeEvent } from '../../../shared/catalog/events/codec';
import { parseStreamName, type RecordedEvent, START } from '../../../shared/catalog/events/envelope';
import { CatalogError } from '../../../shared/kernel/errors';
import type { AccountId, ListingId, MediaId, PublicationId } from '../../../shared/kernel/ids';
import type { EventStore } from '../../../shared/ports/event-store';
import { requireAccount } from '../../command/account';
import type { StoreDeps, WriteContext } from '../../command/execute';
import { deleteListing } from '../../command/listing';
import { deleteMedia } from '../../command/media';
import { runPool } from '../../command/pool';
import { deletePublication } from '../../command/publication';
import { waitForWrites } from '../catch-up';
import { CliError, EXIT, type ExitCode, stopSignal, withRuntime } from '../invocation';
import { accountOption, subcommand } from '../options';
import { withProgressBar } from '../progress';

interface ResetOptions {
  readonly account: string;
  readonly yes?: true;
}

export function testDataCommands(program: Command): void {
  const testData = program.command('test-data').description('Manage the data of the test environment');

  subcommand(testData, 'reset', 'Delete the test publications, listings and media of an account')
    .addOption(accountOption())
    .option('--yes', 'Confirm the deletion; without it the command prints the counts and deletes nothing')
    .action(
      withRuntime<ResetOptions>(async ({ runtime, context, printFields }, options): Promise<ExitCode> => {
        const account = await requireAccount(runtime, options.account as AccountId);
        const found = await findTestData(runtime.events.test, account.id);
        const { publications, listings, media } = found;
        if (!options.yes)
          throw new CliError(
            `This deletes ${publications.length} test publications, ${listings.length} test listings and ` +
              `${media.length} test media of ${account.name}. Add --yes to confirm.`,
            EXIT.usage,
          );
        const total = publications.length + listings.length + media.length;
        const signal = stopSignal();
        const deleted = await withProgressBar('deleting', (on_progress) =>
          deleteTestData(runtime, context, found, {
            on_progress: (done) => on_progress(done, total),
            signal,
          }),
        );
        await waitForWrites(runtime, 'test');
        await printFields({ account_id: account.id, ...deleted });
        return signal.aborted ? EXIT.interrupted : EXIT.ok;
      }),
    );
}

const CONCURRENCY = 32;

interface TestData {
  readonly publications: readonly PublicationId[];
  readonly listings: readonly ListingId[];
  readonly media: readonly MediaId[];
}

/** Finds the contents of the account's test stores. Reads the log, because the documents may be behind it. */
async function findTestData(log: EventStore, account_id: AccountId): Promise<TestData> {
  const stores = new Set<string>();
  const publications = new Set<PublicationId>();
  const listings = new Set<ListingId>();
  const media = new Set<MediaId>();
  const to = await log.head();
  for await (const { events } of readLog(log, { after: START, to }))
    for (const event of events) {
      const id = parseStreamName(event.stream)?.id ?? '';
      if (event.type === 'StoreCreated' && isStoreOf(event, account_id)) stores.add(id);
      if (!stores.has(event.metadata.store_id ?? '')) continue;
      if (/^Publication(Created|Restored)$/.test(event.type)) publications.add(id as PublicationId);
      if (event.type === 'PublicationDeleted') publications.delete(id as PublicationId);
      if (/^Listing(Created|Restored)$/.test(event.type)) listings.add(id as ListingId);
      if (event.type === 'ListingDeleted') listings.delete(id as ListingId);
      if (event.type === 'MediaUploaded') media.add(id as MediaId);
      if (event.type === 'MediaDeleted') media.delete(id as MediaId);
    }
  return { publications: [...publications], listings: [...listings], media: [...media] };
}

function isStoreOf(event: RecordedEvent, account_id: AccountId): boolean {
  const decoded = decodeEvent(event);
  return decoded.type === 'StoreCreated' && decoded.data.account_id === account_id;
}

/** Deletes publications before listings, so that no publication refers to a deleted listing. */
async function deleteTestData(
  deps: StoreDeps,
  context: WriteContext,
  found: TestData,
  options: { readonly on_progress: (done: number) => void; readonly signal: AbortSignal },
): Promise<{ publications: number; listings: number; media: number }> {
  let done = 0;
  const deleteAll = async <Id>(
    ids: readonly Id[],
    deleteOne: (id: Id) => Promise<unknown>,
  ): Promise<number> => {
    let deleted = 0;
    const work = async (id: Id): Promise<void> => {
      if (await wasDeleted(deleteOne(id))) deleted++;
      options.on_progress(++done);
    };
    await runPool(ids, CONCURRENCY, work, options.signal);
    return deleted;
  };
  const environment = 'test';
  const publications = await deleteAll(found.publications, (id) =>
    deletePublication(deps, context, { environment, id }),
  );
  const listings = await deleteAll(found.listings, (id) => deleteListing(deps, context, { environment, id }));
  const media = await deleteAll(found.media, (id) => deleteMedia(deps, context, { environment, id }));
  return { publications, listings, media };
}

/** Returns false if another client deleted the resource first. */
async function wasDeleted(deleting: Promise<unknown>): Promise<boolean> {
  try {
    await deleting;
    return true;
  } catch (error) {
    const not_found = ['publication_not_found', 'listing_not_found', 'media_not_found'];
    if (error instanceof CatalogError && not_found.includes(error.condition)) return false;
    throw error;
  }
}
