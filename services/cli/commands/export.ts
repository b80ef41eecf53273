import type { Command } from 'commander';
import { exportSchema } from '../../../shared/api/requests/reads';
import { EXPORT_FORMATS, type ExportFormat, exportLines } from '../../query/export-lines';
import { catchUpBeforeRead } from '../catch-up';
import { CliError, EXIT, withRuntime, writeOut } from '../invocation';
import { choiceOption, storeOption } from '../options';
import { requireStore } from './store';

interface ExportOptions {
  readonly store: string;
  readonly format: ExportFormat;
  readonly baseUrl?: string;
  readonly bom?: true;
  readonly escapeFormulas?: true;
}

export function exportCommands(program: Command): void {
  program
    .command('export')
    .description('Write the catalog of a store to standard output, as a file that "catalog import" reads')
    .addOption(choiceOption('--format <format>', 'Format of the output', Object.keys(EXPORT_FORMATS)))
    .addOption(storeOption('ID of the store to export'))
    .option(
      '--base-url <url>',
      'Address where the service serves pictures; default: http://localhost with the port of the service',
    )
    .option('--bom', 'Begin the CSV with a byte order mark, without which Excel does not read it as UTF-8')
    .option(
      '--escape-formulas',
      'Put a quotation mark before texts that a spreadsheet would run as a formula',
    )
    .action(
      withRuntime<ExportOptions>(async ({ runtime }, { store, format, baseUrl, ...csv }) => {
        if ((csv.bom || csv.escapeFormulas) && format === 'jsonl')
          throw new CliError('--bom and --escape-formulas are not for --format jsonl.', EXIT.usage);
        const { id: store_id, environment } = await requireStore(runtime, store);
        const base_url = baseUrl ?? `http://localhost:${runtime.config.PORT}`;
        const { error } = exportSchema.shape.base_url.safeParse(base_url);
        if (error)
          throw new CliError(
            `Invalid --base-url "${base_url}": expected ${error.issues[0]!.message}.`,
            EXIT.usage,
          );
        await catchUpBeforeRead(runtime, environment);
        const exported = { view: runtime.views[environment], store_id, base_url };
        const lines = exportLines(exported, { format, bom: csv.bom, escape_formulas: csv.escapeFormulas });
        for await (const line of lines) await writeOut(line);
      }),
    );
}
