import { type Command, Option } from 'commander';
import { ENVIRONMENTS, type Environment } from '../../../shared/catalog/realm';
import { type SweptArea, sweepUnusedFiles } from '../../media/stored-files';
import { stopSignal, withRuntime } from '../invocation';
import { subcommand } from '../options';
import { right, table } from '../table';

interface SweepOptions {
  readonly dryRun?: true;
  readonly environment?: Environment;
}

export function mediaCommands(program: Command): void {
  const media = program.command('media').description('Manage uploaded pictures');

  subcommand(media, 'sweep', 'Delete stored files that no media item has used for 24 hours')
    .option('--dry-run', 'Delete nothing; report what would be deleted')
    .addOption(
      new Option('--environment <environment>', 'Limit the sweep to one environment; default: both').choices(
        ENVIRONMENTS,
      ),
    )
    .action(
      withRuntime<SweepOptions>(async ({ runtime, print }, { dryRun, environment }) => {
        const dry_run = dryRun === true;
        const signal = stopSignal();
        const areas: SweptArea[] = [];
        for (const each of environment ? [environment] : ENVIRONMENTS)
          areas.push(...(await sweepUnusedFiles(runtime, each, { dry_run, signal })));
        await print({ dry_run, areas }, () => sweepText(areas, dry_run));
      }),
    );
}

function sweepText(areas: readonly SweptArea[], dry_run: boolean): string {
  const deleted = right(dry_run ? 'would be deleted' : 'deleted');
  return table(
    ['environment', 'files', right('kept'), deleted, right('bytes')],
    areas.map((swept) => [swept.environment, swept.area, swept.kept, swept.deleted, swept.deleted_bytes]),
  );
}
