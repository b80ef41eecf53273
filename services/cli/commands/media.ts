import { type Command, Option } from 'commander';
import { ENVIRONMENTS, type Environment } from '../../../shared/catalog/realm';
import { type SweptArea, sweepUnusedFiles } from '../../media/sweep';
import { verb } from '../options';
import { stopSignal, withSession } from '../session';
import { table } from '../table';

interface SweepOptions {
  readonly dryRun?: true;
  readonly environment?: Environment;
}

export function mediaCommands(program: Command): void {
  const media = program.command('media').description('uploaded pictures');

  verb(media, 'sweep', 'delete files that no media has referred to for a day')
    .option('--dry-run', 'delete nothing; say what would be')
    .addOption(new Option('--environment <environment>', 'one only; both by default').choices(ENVIRONMENTS))
    .action(
      withSession<SweepOptions>(async ({ runtime, print }, { dryRun, environment }) => {
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
  const right = { align: 'right' as const };
  const columns = [
    { title: 'environment' },
    { title: 'files' },
    { title: 'kept', ...right },
    { title: dry_run ? 'would be deleted' : 'deleted', ...right },
    { title: 'bytes', ...right },
  ];
  const rows = areas.map((swept) => [
    swept.environment,
    swept.area,
    String(swept.kept),
    String(swept.deleted),
    String(swept.deleted_bytes),
  ]);
  return table(columns, rows);
}
