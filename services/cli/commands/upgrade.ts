import type { Command } from 'commander';
import { readLog } from '../../../projections/engine/read-log';
import { isKnownToEarlierRelease } from '../../../shared/catalog/events/earlier-release';
import { START } from '../../../shared/catalog/events/envelope';
import { REALMS, type Realm } from '../../../shared/catalog/realm';
import type { EventStore } from '../../../shared/ports/event-store';
import { EXIT, type ExitCode, withRuntime } from '../invocation';
import { subcommand } from '../options';
import { recordsTable } from '../table';

export function upgradeCommand(program: Command): void {
  subcommand(
    program,
    'upgrade',
    'Say whether the earlier release can run on this catalog again; exit code 1 if it cannot',
  )
    .requiredOption('--check', 'Look for events that the earlier release cannot read')
    .action(
      withRuntime(async ({ runtime, print }): Promise<ExitCode> => {
        const found = REALMS.map((realm) => unknownTypes(realm, runtime.events[realm]));
        const unknown = (await Promise.all(found)).flat();
        const can_go_back = unknown.length === 0;
        await print({ can_go_back, unknown }, () =>
          can_go_back
            ? 'The earlier release can read all events of this catalog. It uses its own documents.\n'
            : 'The earlier release cannot read these events. Do not go back to it.\n' +
              recordsTable(['realm', 'type', 'events', 'first_at'], unknown),
        );
        return can_go_back ? EXIT.ok : EXIT.failure;
      }),
    );
}

/** Returns the event types of a log that the earlier release cannot read, in the order of their first events. */
async function unknownTypes(realm: Realm, log: EventStore) {
  const found = new Map<string, { events: number; first_at: string }>();
  for await (const { events } of readLog(log, { after: START, to: await log.head() }))
    for (const { type, metadata } of events) {
      if (isKnownToEarlierRelease(type)) continue;
      const { events: before, first_at } = found.get(type) ?? { events: 0, first_at: metadata.occurred_at };
      found.set(type, { events: before + 1, first_at });
    }
  return [...found].map(([type, counted]) => ({ realm, type, ...counted }));
}
