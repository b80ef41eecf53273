import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { z } from 'zod';
import { retry } from '../../../projections/maintenance/dead-letters';
import { partsOf } from '../../../projections/maintenance/parts';
import { decodeEvent, decodeIfReadable, encodeEvent, isEventOf } from '../../../shared/catalog/events/codec';
import {
  parseStreamName,
  type RecordedEvent,
  type StreamName,
} from '../../../shared/catalog/events/envelope';
import { timestamp } from '../../../shared/kernel/system';
import { correctionOf, hasUnknownOwner } from '../../../shared/ports/corrections';
import { CliError, EXIT, type ExitCode, withRuntime } from '../invocation';
import { subcommand, wholeNumberArgument } from '../options';
import { resultTable } from '../projection-tables';
import { realmOfStream } from '../realms';

/** What a file of `--with` contains. */
const contentSchema = z.strictObject({
  type: z.string(),
  schema_version: z.int().min(1).default(1),
  data: z.record(z.string(), z.json()),
});

type Content = z.infer<typeof contentSchema>;

const NOT_PROJECTED =
  'The correction is in the log. Documents that lack the event need "catalog projections rebuild".\n';

/** Adds `events supersede`: appends an `EventSuperseded`, which replaces an event that cannot be read (`withCorrections`). */
export function supersedeCommand(events: Command): void {
  subcommand(
    events,
    'supersede',
    'Append a correction of an event that cannot be read, and project its stream',
  )
    .argument('<stream>', 'Stream name as "events tail" prints it')
    .argument(
      '<revision>',
      'Revision of the event, as "events show" prints it',
      wholeNumberArgument('revision'),
    )
    .requiredOption(
      '--with <file>',
      'JSON file with what the event should have been: type, schema_version and data',
    )
    .requiredOption('--reason <text>', 'Why; stored in the log')
    .action(
      withRuntime<{ with: string; reason: string }>(
        async ({ runtime, context, print }, options, operands): Promise<ExitCode> => {
          const [stream, revision] = operands as readonly unknown[] as [StreamName, number];
          const realm = realmOfStream(stream);
          if (realm === 'control')
            throw new CliError(
              'Events of accounts and API keys cannot be corrected. Create a new key instead.',
            );
          const log = runtime.events[realm];
          const recorded = await log.readStream(stream);
          const event = unreadableEvent(recorded, stream, revision);
          const content = await readContent(options.with, event);
          const partition_key = partitionKeyOf(recorded);
          const { store_id } = content.data;
          if (store_id !== undefined && store_id !== partition_key)
            throw new CliError(`${options.with}: the store of the stream is ${partition_key}.`);
          const data = { revision, ...content, reason: options.reason };
          const { source, request_id } = context;
          const occurred_at = timestamp(runtime.system.now());
          const last = recorded.at(-1)!.revision;
          const { outcome } = await log.append(stream, last, [
            {
              id: randomUUID(),
              ...encodeEvent({ type: 'EventSuperseded', data }),
              metadata: { occurred_at, partition_key, source, request_id },
            },
          ]);
          if (outcome !== 'appended')
            throw new CliError(`The stream ${stream} was changed meanwhile. Run the command again.`);
          // If the store was unknown, any partition may hold the dead letter. Only a rebuild can project the event.
          const versions = hasUnknownOwner(event) ? [] : await retry(partsOf(runtime, realm), { stream });
          await print({ stream, revision, correction: last + 1, versions }, () =>
            versions.length > 0 ? resultTable(versions) : NOT_PROJECTED,
          );
          return versions.every((version) => version.dead_letter === null) ? EXIT.ok : EXIT.failure;
        },
      ),
    );
}

/** Returns the event of this revision. Throws `CliError` if there is none, or if it needs no correction. */
function unreadableEvent(
  recorded: readonly RecordedEvent[],
  stream: StreamName,
  revision: number,
): RecordedEvent {
  const event = recorded.find((each) => each.revision === revision);
  if (!event) throw new CliError(`The stream ${stream} has no event ${revision}.`);
  if (decodeIfReadable(event))
    throw new CliError(`Event ${revision} of ${stream} can be read. Only events that cannot are corrected.`);
  if (correctionOf(recorded, revision))
    throw new CliError(`Event ${revision} of ${stream} is corrected already. Change the resource instead.`);
  return event;
}

/** Reads the content of an event. Throws `CliError` if an event of this stream cannot have it. */
async function readContent(path: string, { stream }: RecordedEvent): Promise<Content> {
  try {
    const content = contentSchema.parse(JSON.parse(await readFile(path, 'utf8')));
    decodeEvent(content);
    const { category } = parseStreamName(stream)!;
    if (isEventOf(category, content.type)) return content;
    throw new Error(`streams of the kind ${category} have no events of the type ${content.type}`);
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
    throw new CliError(`${path}: ${reason.replaceAll(/\s*\n\s*/g, ' ')}`);
  }
}

/**
 * Returns the partition key of the stream. The metadata of an event that cannot be read may be lost, so the key comes from
 * another event of the stream.
 */
function partitionKeyOf(recorded: readonly RecordedEvent[]): string {
  const key = recorded.find((event) => !hasUnknownOwner(event))?.metadata.partition_key;
  if (key === undefined)
    throw new CliError('No event of the stream names its store, so it cannot be corrected.');
  return key;
}
