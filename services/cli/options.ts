import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { isCurrency } from '../../shared/catalog/input-rules';
import { REALMS, type Realm } from '../../shared/catalog/realm';
import { parseId } from '../../shared/kernel/ids';

/** A verb of a noun; every one answers programs with `--json`. */
export function verb(noun: Command, usage: string, description: string): Command {
  return noun.command(usage).description(description).option('--json', 'print one JSON document');
}

/** Required, `--account <id>`. */
export const accountOption = (description = 'whose'): Option =>
  new Option('--account <id>', description).argParser(idArgument).makeOptionMandatory();

/** Required, `--store <id>`. */
export const storeOption = (description = 'the store'): Option =>
  new Option('--store <id>', description).argParser(idArgument).makeOptionMandatory();

/** Required, one of `choices`. */
export const choiceOption = (flags: string, description: string, choices: readonly string[]): Option =>
  new Option(flags, description).choices(choices).makeOptionMandatory();

export const realmOption = (): Option =>
  new Option('--realm <realm>', 'one realm only; all by default').choices(REALMS as readonly Realm[]);

export const realmsOf = (options: { realm?: Realm }): readonly Realm[] =>
  options.realm === undefined ? REALMS : [options.realm];

/** An id in lower case, or a usage error. */
export function idArgument(text: string): string {
  const id = parseId(text);
  if (id === undefined) throw new InvalidArgumentError('It is no UUID.');
  return id;
}

/** `--store A B --store C` and `--store A,B` alike. */
export function idListArgument(text: string, before: readonly string[] = []): string[] {
  return [...before, ...listArgument(text).map(idArgument)];
}

export function listArgument(text: string, before: readonly string[] = []): string[] {
  const parts = text.split(',').map((part) => part.trim());
  return [...before, ...parts.filter((part) => part !== '')];
}

export function wholeNumberArgument(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It is no whole number.');
  return Number(text);
}

export function currencyArgument(text: string): string {
  const code = text.toUpperCase();
  if (!isCurrency(code)) throw new InvalidArgumentError('It is no ISO 4217 currency code.');
  return code;
}

const ISO_TIME = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** A date or a time with its zone, as ISO 8601 in UTC. */
export function timeArgument(text: string): string {
  const ms = ISO_TIME.safeParse(text).success ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms))
    throw new InvalidArgumentError('It is no ISO 8601 time such as 2030-01-31 or 2030-01-31T12:00:00Z.');
  return new Date(ms).toISOString();
}
