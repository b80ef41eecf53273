import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { type Config, parseConfig } from '../../../shared/kernel/config';
import { type CopiedData, copyData, hasLogs, lastBackupFile } from '../../boot/copy-data';
import { CliError, EXIT, type ExitCode, printAnswer, withRuntime } from '../invocation';
import { subcommand } from '../options';
import { rebuildTable } from '../projection-tables';
import { rebuildRealms } from '../realms';
import { fieldsTable } from '../table';

export function backupCommands(program: Command): void {
  subcommand(program, 'backup', 'Copy what cannot be made again from DATA_DIR to a folder; a server may run')
    .argument('<folder>', 'New or empty folder')
    .action(async function back(this: Command, folder: string) {
      const { json = false } = this.optsWithGlobals<{ json?: boolean }>();
      const config = parseConfig(process.env);
      const copied = await copyBetween(config, config.DATA_DIR, folder, 'catalog');
      await writeFile(lastBackupFile(config.DATA_DIR), '').catch((error: Error) => {
        process.stderr.write(`catalog: Warning: the time of the back-up is not recorded: ${error.message}\n`);
      });
      for (const name of ['JWT_KEYS_FILE', 'JWT_SECRET'] as const)
        if (config[name]) process.stderr.write(`catalog: Warning: the back-up does not contain ${name}.\n`);
      const document = { folder, ...copied };
      await printAnswer(json, document, () => copyText(document));
      process.exitCode = exitCodeOf(copied);
    });

  subcommand(
    program,
    'restore',
    'Fill an empty DATA_DIR from the folder of a back-up, and build the documents',
  )
    .argument('<folder>', 'Folder that "catalog backup" filled')
    .action(async function restore(this: Command, folder: string) {
      const config = parseConfig(process.env);
      await assertNoLinks(folder);
      const copied = await copyBetween(config, folder, config.DATA_DIR, 'complete back-up');
      await withRuntime(async ({ runtime, print }) => {
        const { realms, exit_code } = await rebuildRealms(runtime, {}, 'dead_letter');
        const document = { folder: config.DATA_DIR, ...copied };
        await print({ ...document, realms }, () => `${copyText(document)}\n${rebuildTable(realms)}`);
        return exit_code || exitCodeOf(copied);
      }).call(this);
    });
}

/** Throws if the folder contains more than files and folders: a link would copy another file of this machine. */
async function assertNoLinks(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const other = entries.find((entry) => !entry.isFile() && !entry.isDirectory());
  if (other)
    throw new CliError(
      `${join(other.parentPath, other.name)} is no file, but a link or a device. A back-up has only files and folders. Remove it, or make a new back-up.`,
    );
}

async function copyBetween(config: Config, from: string, to: string, what: string): Promise<CopiedData> {
  if (config.EVENTSTORE_URL !== undefined || config.MONGODB_URL !== undefined)
    throw new CliError(
      'This command copies only DATA_DIR, and EVENTSTORE_URL or MONGODB_URL is set. For servers, see docs/operations/backup.md.',
    );
  if (!hasLogs(from)) throw new CliError(`The folder ${from} contains no ${what}.`);
  const path = relative(resolve(from), resolve(to));
  const back = relative(resolve(to), resolve(from));
  if (!path.startsWith('..') || !back.startsWith('..'))
    throw new CliError(`The folder ${to} and the folder ${from} must not be inside each other.`);
  // Only the owner may read the copy: it contains the token keys and data of customers.
  process.umask(0o077);
  await mkdir(to, { recursive: true });
  // The file system of a volume may have a folder of its own.
  if ((await readdir(to)).some((name) => name !== 'lost+found'))
    throw new CliError(
      `The folder ${to} is not empty, and nothing in it is overwritten. Use another folder.`,
    );
  return copyData(from, to);
}

const exitCodeOf = ({ damaged }: CopiedData): ExitCode => (damaged.length > 0 ? EXIT.failure : EXIT.ok);

function copyText({ folder, files, bytes, damaged }: CopiedData & { readonly folder: string }): string {
  const names = damaged.map((path) => `damaged: ${path}\n`);
  return fieldsTable({ folder, 'media files': files, bytes }) + names.join('');
}
