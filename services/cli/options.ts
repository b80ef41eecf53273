import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { z } from 'zod';
import { isCurrency } from '../../shared/catalog/input-rules';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import { type ApiLimits, apiLimits } from '../../shared/kernel/config';
import { parseId } from '../../shared/kernel/ids';
import type { ColumnMapping } from '../import/columns';
import { CliError, EXIT } from './invocation';

/** Adds a command with the option `--json` to a command, such as `create` to `catalog store`. */
export function subcommand(parent: Command, usage: string, description: string): Command {
  return parent
    .command(usage)
    .description(description)
    .option('--json', 'Print the result as one JSON document');
}

/** Returns the required option `--account <id>`. */
export const accountOption = (description = 'ID of the account'): Option =>
  new Option('--account <id>', description).argParser(idArgument('account')).makeOptionMandatory();

/** Returns the required option `--store <id>`. */
export const storeOption = (description = 'ID of the store'): Option =>
  new Option('--store <id>', description).argParser(idArgument('store')).makeOptionMandatory();

/** Returns a required option whose value is one of `choices`. */
export const choiceOption = (flags: string, description: string, choices: readonly string[]): Option =>
  new Option(flags, description).choices(choices).makeOptionMandatory();

/** Returns the option `--realm <realm>`. */
export const realmOption = (description = 'Limit the command to one realm; default: all'): Option =>
  new Option('--realm <realm>', description).choices(REALMS as readonly Realm[]);

export const realmsOf = (options: { realm?: Realm }): readonly Realm[] =>
  options.realm === undefined ? REALMS : [options.realm];

/*
 * Parsers of option values and arguments. They throw `CliError` instead of commander's `InvalidArgumentError`, so that
 * the message names the value without commander's preamble.
 */

/** Returns a parser that accepts a UUID and returns it in lower case. `what` names the resource in the error. */
export function idArgument(what: string): (text: string) => string {
  return (text) => {
    const id = parseId(text);
    if (id === undefined) throw usageError(`Invalid ${what} id: expected a UUID.`);
    return id;
  };
}

/** Returns a parser of a list of ids. `--store A B`, `--store A --store B` and `--store A,B` are equivalent. */
export function idListArgument(what: string): (text: string, previous?: readonly string[]) => string[] {
  const parse = idArgument(what);
  return (text, previous = []) => [...previous, ...listArgument(text).map(parse)];
}

export function listArgument(text: string, previous: readonly string[] = []): string[] {
  const parts = text.split(',').map((part) => part.trim());
  return [...previous, ...parts.filter((part) => part !== '')];
}

/** Returns a parser of a whole number of at most nine digits. `name` is the option. */
export function wholeNumberArgument(name: string): (text: string) => number {
  return (text) => {
    if (!/^\d{1,9}$/.test(text)) throw usageError(`Invalid ${name} "${text}": expected a whole number.`);
    return Number(text);
  };
}

/** Returns a parser of rate limits such as `600/100000/900`, in the form of the settings RATE_LIMIT_PUBLIC and _SECRET. */
export function limitsArgument(name: string): (text: string) => ApiLimits {
  return (text) => {
    const parsed = apiLimits.safeParse(text);
    if (parsed.success) return parsed.data;
    throw usageError(`Invalid ${name} "${text}": expected ${parsed.error.issues[0]!.message}.`);
  };
}

/** Parses a currency code in any case. Returns it in upper case. */
export function currencyArgument(text: string): string {
  const code = text.toUpperCase();
  if (!isCurrency(code))
    throw usageError(`Invalid --currency "${text}": expected an ISO 4217 code such as USD.`);
  return code;
}

/** Reads the columns of an import from a file. */
export function columnsArgument(path: string): ColumnMapping {
  try {
    return z.record(z.string(), z.string().nullable()).parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    throw usageError(`Invalid --columns "${path}": expected a file with a JSON object of names.`);
  }
}

const ISO_TIME = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** Returns a parser of an ISO 8601 date, or of a time with its offset, which returns the time in UTC. `name` is the option. */
export function timeArgument(name: string): (text: string) => string {
  return (text) => {
    const ms = ISO_TIME.safeParse(text).success ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(ms))
      throw usageError(
        `Invalid ${name} "${text}": expected an ISO 8601 time such as 2030-01-31 or 2030-01-31T12:00:00Z.`,
      );
    return new Date(ms).toISOString();
  };
}

const usageError = (message: string): CliError => new CliError(message, EXIT.usage);
